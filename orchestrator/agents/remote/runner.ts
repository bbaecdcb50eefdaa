// Runs subagents of other Odins in this process, as many at a time as it was told, for the projects it was given and no others (SAFETY 6).
// Like batch/runner.ts: jobs wake it, claims decide, and what a dead process of this machine held waits again at once.

import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ulid } from '../../../shared/ids.ts';
import { Fenced } from '../../../shared/ports.ts';
import { createJobHost, type JobHostOptions, type JobRunner, type JobSource } from '../../jobs/job-host.ts';
import type { JobQueue, TakenJob } from '../../jobs/job-queue.ts';
import type { Access } from '../../jobs/workers.ts';
import { openHeavyPool } from '../../pool.ts';
import { isAlive, selfIdentity, selfPlace } from '../../process-identity.ts';
import { AFTER_ALL, type AgentJob, accessOfMode, orderHash, type RemoteEnd, type RemoteOrder } from './order.ts';
import { addAgentJob, openAgentQueue } from './queue.ts';
import { copiesOf, runOrder } from './run-order.ts';
import { openRemoteStore } from './store.ts';
import { isKeptCopy, removeCopy } from './working-copy.ts';

const SWEEP_MS = 2_000;
const RECONCILE_MS = 15_000;

export async function startAgentRunner(options: JobHostOptions): Promise<JobRunner> {
  const { home, handle, key, log, models, permission, notice } = options;
  const host = createJobHost(options, ['agents']);
  const { id, refuse } = host;
  const store = openRemoteStore(handle.client, key);
  const pool = openHeavyPool();
  const running = new Set<string>();
  const over = new Set<string>();

  const worker = `${hostname()} ${id.slice(-6)}`;
  const deps = { home, handle, pool, models, permission, store, worker, log, notice };
  const place = `${selfPlace()}:${home}`;

  /** A job's order, when it is what was signed and this process may run it. */
  const orderOf = async ({ rid, hash }: AgentJob, name: string, access: Access): Promise<RemoteOrder | string> => {
    const order = await store.find(rid);
    if (!order) return 'there is no such agent.';
    if (orderHash(order) !== hash) return 'the order is not the one that was signed.';
    if (order.root !== name || accessOfMode(order.mode) !== access)
      return 'it came through a queue that is not its own.';
    return order;
  };

  const runJob = async (
    { name, root, access }: JobSource,
    taken: TakenJob<AgentJob>,
    signal: AbortSignal,
  ): Promise<'done' | 'back'> => {
    const { id: job, data } = taken;
    const { rid } = data;
    const order = await orderOf(data, name, access);
    if (typeof order === 'string') return refuse(job, order);
    if (over.has(rid)) return refuse(job, 'its agent has ended: it was used before.');
    if (running.has(rid)) return refuse(job, 'its agent runs here already: it was used before.');
    running.add(rid);
    return await runAgent(order, root, taken, signal).finally(() => running.delete(rid));
  };

  const runAgent = async (
    order: RemoteOrder,
    root: string,
    { id: job, token, data: { rid } }: TakenJob<AgentJob>,
    signal: AbortSignal,
  ): Promise<'done' | 'back'> => {
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
    const ended = host.begin();
    try {
      await runOrder(deps, { order, root, epoch, attempt, session, signal });
      over.add(rid);
      host.count();
      return 'done';
    } catch (error) {
      if (error instanceof Fenced && !signal.aborted) return refuse(job, 'somebody else has taken the agent over.');
      if (signal.aborted) {
        await store.release(rid, epoch);
        return 'back';
      }
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log('an agent failed', { rid, error: text });
      await store.say(rid, { epoch, attempt, n: AFTER_ALL }, crashed(`Odin itself failed: ${text.split('\n', 1)[0]}`));
      return 'done';
    } finally {
      ended();
    }
  };

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

  const drain = (graceMs: number): Promise<number> =>
    host.leave(graceMs, async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      await pool.close();
    });

  try {
    await host.appear();
    await host.take(async (root, access) => {
      const queue = await openAgentQueue(handle, { root, access, key, log });
      queues.set(`${access} ${root}`, queue);
      return queue;
    }, runJob);
  } catch (error) {
    // As in batch/runner.ts.
    await drain(0).catch(() => {});
    throw error;
  }
  host.every(SWEEP_MS, 'the sweep failed', () => sweep(false));
  host.every(RECONCILE_MS, 'missing jobs were not added', () => sweep(true));
  const first = async () => {
    await sweep(true);
    await clear();
  };
  void first().catch((error: unknown) => log('leftovers were not cleared', { error: String(error) }));

  return { id, load: host.load, hurry: host.hurry, drain };
}

const crashed = (answer: string): RemoteEnd => ({
  ...{ k: 'end', end: 'crashed', limit: null, answer: `[${answer}]`, steps: 0, patch: null, unable: false },
  failure: { kind: 'failed', code: 'agent_crashed', message: answer },
});
