// Runs subagents of other Odins in this process, as many at a time as it was told, for the projects it was given and no others (SAFETY 6).
// Like batch/runner.ts: jobs wake it, claims decide, and what a dead process of this machine held waits again at once.

import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ulid } from '../../../shared/ids.ts';
import { Fenced } from '../../../shared/ports.ts';
import type { ModelPair, PermissionPolicy } from '../../api.ts';
import type { Access } from '../../batch/jobs.ts';
import { createSlots } from '../../batch/slots.ts';
import { BEAT_MS, beat, leave } from '../../batch/workers.ts';
import type { JobProcessor, JobQueue } from '../../jobs/job-queue.ts';
import type { Log } from '../../log.ts';
import { openHeavyPool } from '../../pool.ts';
import { isAlive, selfIdentity, selfPlace } from '../../process-identity.ts';
import type { RedisHandle } from '../../redis.ts';
import { AFTER_ALL, type AgentJob, accessOfMode, orderHash, type RemoteEnd, type RemoteOrder } from './order.ts';
import { addAgentJob, openAgentQueue } from './queue.ts';
import { copiesOf, runOrder } from './run-order.ts';
import { openRemoteStore } from './store.ts';
import { isKeptCopy, removeCopy } from './working-copy.ts';

export interface AgentRunnerOptions {
  readonly home: string;
  readonly handle: RedisHandle;
  readonly key: Buffer;
  /** A project as orders name it -> its root on this machine. */
  readonly projects: ReadonlyMap<string, string>;
  /** read: agents that write are left to others. */
  readonly access: Access;
  readonly permission: PermissionPolicy;
  readonly models: ModelPair;
  readonly concurrency: number;
  readonly version: string;
  readonly log: Log;
  notice(line: string): void;
}

export interface AgentRunner {
  readonly id: string;
  load(): { readonly running: number; readonly done: number };
  /** Takes no new agents, waits for those that run, at most so long, and puts the others back. Returns how many those were. */
  drain(graceMs: number): Promise<number>;
  /** While it drains: no more waiting. */
  hurry(): void;
}

const RECONCILE_MS = 15_000;

export async function startAgentRunner(options: AgentRunnerOptions): Promise<AgentRunner> {
  const { home, handle, key, projects, concurrency, log, models, permission, notice } = options;
  const id = ulid();
  const since = Date.now();
  const store = openRemoteStore(handle.client, key);
  const pool = openHeavyPool();
  const slots = createSlots(concurrency);
  const leaving = new AbortController();
  const rushed = Promise.withResolvers<void>();
  const running = new Set<string>();
  const over = new Set<string>();
  let idle = Promise.withResolvers<void>();
  let done = 0;
  let draining = false;
  idle.resolve();

  const worker = `${hostname()} ${id.slice(-6)}`;
  const deps = { home, handle, pool, models, permission, store, worker, log, notice };
  const place = `${selfPlace()}:${home}`;

  const info = () => ({
    ...{ id, host: hostname(), ...selfIdentity(), version: options.version, roles: ['agents'] },
    ...{
      roots: [...projects.keys()],
      access: options.access,
      concurrency,
      running: running.size,
      done,
      draining,
      since,
    },
  });

  const refuse = (job: string, why: string): 'done' => {
    log('a job was refused', { id: job, why });
    return 'done';
  };

  /** A job's order, when it is what was signed and this process may run it. */
  const orderOf = async ({ rid, hash }: AgentJob, name: string, access: Access): Promise<RemoteOrder | string> => {
    const order = await store.find(rid);
    if (!order) return 'there is no such agent.';
    if (orderHash(order) !== hash) return 'the order is not the one that was signed.';
    if (order.root !== name || accessOfMode(order.mode) !== access)
      return 'it came through a queue that is not its own.';
    return order;
  };

  const processor =
    (name: string, root: string, access: Access): JobProcessor<AgentJob> =>
    async (job, lock) => {
      const signal = AbortSignal.any([lock, leaving.signal]);
      const free = await slots.take(signal);
      if (free === null || draining) {
        free?.();
        return 'back';
      }
      try {
        return await runJob({ name, root, access }, job, signal);
      } finally {
        free();
      }
    };

  const runJob = async (
    { name, root, access }: { readonly name: string; readonly root: string; readonly access: Access },
    { id: job, token, data }: Parameters<JobProcessor<AgentJob>>[0],
    signal: AbortSignal,
  ): Promise<'done' | 'back'> => {
    const { rid } = data;
    const order = await orderOf(data, name, access);
    if (typeof order === 'string') return refuse(job, order);
    if (over.has(rid)) return refuse(job, 'its agent has ended: it was used before.');
    if (running.has(rid)) return refuse(job, 'its agent runs here already: it was used before.');
    const run = { worker: id, host: selfPlace(), ...selfIdentity(), job, token };
    const claim = await store.claim(rid, run, place, ulid());
    if (claim.status === 'unknown' || claim.status === 'ended') {
      return refuse(job, `its agent is ${claim.status}: it was used before.`);
    }
    const { epoch, attempt, session } = claim;
    if (claim.status === 'crashes') {
      const answer = 'Its worker died several times while it worked.';
      await store.say(rid, { epoch, attempt, n: AFTER_ALL }, crashed(answer));
      return 'done';
    }
    if (running.size === 0) idle = Promise.withResolvers<void>();
    running.add(rid);
    try {
      await runOrder(deps, { order, root, epoch, attempt, session, signal });
      over.add(rid);
      done += 1;
      return 'done';
    } catch (error) {
      if (error instanceof Fenced && !signal.aborted) return refuse(job, 'somebody else has taken the agent over.');
      if (lockLost(signal)) return 'done';
      if (signal.aborted) {
        await store.release(rid, epoch);
        return 'back';
      }
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log('an agent failed', { rid, error: text });
      await store.say(rid, { epoch, attempt, n: AFTER_ALL }, crashed(`Odin itself failed: ${text.split('\n', 1)[0]}`));
      return 'done';
    } finally {
      running.delete(rid);
      if (running.size === 0) idle.resolve();
    }
  };

  const lockLost = (signal: AbortSignal): boolean => signal.reason instanceof Fenced && !leaving.signal.aborted;

  const queues = new Map<string, JobQueue<AgentJob>>();
  const queueOf = ({ root, mode }: RemoteOrder) => queues.get(`${accessOfMode(mode)} ${root}`);

  /** What dead processes of this machine held waits again; what has no job gets one. */
  const sweep = async (hasTime: boolean): Promise<void> => {
    for (const [rid, run] of await store.runs()) {
      const isDead = run !== null && run.host === selfPlace() && !isAlive(run);
      if (!isDead && (run !== null || !hasTime)) continue;
      const order = await store.find(rid);
      const queue = order && queueOf(order);
      if (!order || !queue) continue;
      if (isDead) await queue.putBack(run.job, run.token);
      else await addAgentJob(queue, order);
    }
  };

  /** Copies of agents that Redis does not know any more. */
  const clear = async (): Promise<void> => {
    const folder = copiesOf(home, handle);
    const names = await readdir(folder).catch((): string[] => []);
    const open = await store.runs();
    for (const name of names) {
      if (isKeptCopy(name)) continue;
      const rid = name.replace(/\.\d+(\.new|\.tree)?$/, '');
      if (!open.has(rid) && !running.has(rid)) await removeCopy(join(folder, name));
    }
  };

  const every = (ms: number, what: string, work: () => Promise<unknown>) => {
    let busy = false;
    return setInterval(() => {
      if (busy) return;
      busy = true;
      work()
        .catch((error: unknown) => log(what, { error: String(error) }))
        .finally(() => {
          busy = false;
        });
    }, ms);
  };

  await beat(handle.client, info());
  const accesses: readonly Access[] = options.access === 'edit' ? ['edit', 'read'] : ['read'];
  for (const [name, root] of projects) {
    for (const access of accesses) {
      const queue = await openAgentQueue(handle, { root: name, access, key, log });
      queues.set(`${access} ${name}`, queue);
      queue.work(processor(name, root, access), concurrency);
    }
  }
  const timers = [
    every(BEAT_MS, 'no sign of life was given', () => beat(handle.client, info())),
    every(BEAT_MS, 'the sweep failed', () => sweep(false)),
    every(RECONCILE_MS, 'missing jobs were not added', () => sweep(true)),
  ];
  const first = async () => {
    await sweep(true);
    await clear();
  };
  void first().catch((error: unknown) => log('leftovers were not cleared', { error: String(error) }));

  return {
    id,
    load: () => ({ running: running.size, done }),
    hurry: () => rushed.resolve(),
    async drain(graceMs) {
      draining = true;
      await beat(handle.client, info()).catch(() => {});
      await Promise.all([...queues.values()].map((queue) => queue.pause()));
      const limit = AbortSignal.timeout(graceMs);
      const late = new Promise<void>((resolve) => limit.addEventListener('abort', () => resolve(), { once: true }));
      await Promise.race([idle.promise, rushed.promise, ...(graceMs > 0 ? [late] : [Promise.resolve()])]);
      const left = running.size;
      leaving.abort(new Fenced('This worker leaves.'));
      for (const timer of timers) clearInterval(timer);
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      await pool.close();
      await leave(handle.client, id).catch(() => {});
      return left;
    },
  };
}

const crashed = (answer: string): RemoteEnd => ({
  ...{ k: 'end', end: 'crashed', limit: null, answer: `[${answer}]`, steps: 0, patch: null, unable: false },
  failure: { kind: 'failed', code: 'agent_crashed', message: answer },
});
