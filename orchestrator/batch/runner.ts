// Runs tasks of batches in this process, as many at a time as it was told, for the projects it was given and no others (SAFETY 6): in
// `odin worker`, and in `odin batch submit` itself. What a task may do comes from this process' own settings, never from a job.

import { hostname } from 'node:os';
import { ulid } from '../../shared/ids.ts';
import { Fenced } from '../../shared/ports.ts';
import type { ModelPair, PermissionPolicy } from '../api.ts';
import type { JobProcessor } from '../jobs/job-queue.ts';
import { workspaceId } from '../keys.ts';
import type { Log } from '../log.ts';
import { openHeavyPool } from '../pool.ts';
import { isAlive, selfIdentity, selfPlace } from '../process-identity.ts';
import type { RedisHandle } from '../redis.ts';
import { type Allowance, openAllowance } from './allowance.ts';
import { repositoryOf } from './git.ts';
import { type Access, accessOf, addJobs, type BatchJob, followOn, openBatchQueues } from './jobs.ts';
import { clearLeftovers } from './leftovers.ts';
import { openPatchShell } from './patch-shell.ts';
import { runTask, type TaskEnd } from './run-task.ts';
import { createSlots } from './slots.ts';
import { type BatchStatus, type BatchStore, type ItemRun, openBatchStore, taskHash } from './store.ts';
import type { Task } from './task.ts';
import { BEAT_MS, beat, leave } from './workers.ts';
import { openWorkingCopies, removeShared, taskFolder } from './working-copy.ts';

export interface RunnerOptions {
  readonly home: string;
  readonly handle: RedisHandle;
  readonly key: Buffer;
  /** A project as jobs name it -> its root on this machine. */
  readonly projects: ReadonlyMap<string, string>;
  /** read: tasks that write are left to others. */
  readonly access: Access;
  readonly permission: PermissionPolicy;
  readonly models: ModelPair;
  readonly concurrency: number;
  readonly version: string;
  readonly roles: readonly string[];
  readonly log: Log;
  notice(line: string): void;
  /** A task has begun or ended here. */
  onChange?(): void;
}

export interface BatchRunner {
  readonly id: string;
  load(): { readonly running: number; readonly done: number };
  /** Takes no new tasks, waits for those that run, at most so long, and puts the others back. Returns how many those were. */
  drain(graceMs: number): Promise<number>;
  /** While it drains: no more waiting. */
  hurry(): void;
}

const CANCEL_POLL_MS = 1_000;
const RECONCILE_MS = 15_000;
const LEFTOVERS_MS = 60_000;
const TAKEN_OVER = 'somebody else has taken the task over.';

interface Running {
  readonly bid: string;
  readonly cancelled: AbortController;
}

interface About {
  readonly caps: BatchStatus['caps'];
  readonly hasDependents: boolean;
}

const readAbout = async (store: BatchStore, bid: string): Promise<About> => {
  const [status, hasDependents] = await Promise.all([store.status(bid), store.hasDependents(bid)]);
  return { caps: status?.caps ?? {}, hasDependents };
};

/** Aborts with the first of them, until it is released; what AbortSignal.any makes is kept for as long as anything listens to it. */
function firstOf(...signals: readonly AbortSignal[]): { readonly signal: AbortSignal; release(): void } {
  const first = new AbortController();
  const abort = () => first.abort(signals.find(({ aborted }) => aborted)?.reason);
  for (const signal of signals) signal.addEventListener('abort', abort, { once: true });
  if (signals.some(({ aborted }) => aborted)) abort();
  const release = () => {
    for (const signal of signals) signal.removeEventListener('abort', abort);
  };
  return { signal: first.signal, release };
}

export async function startBatchRunner(options: RunnerOptions): Promise<BatchRunner> {
  const { home, handle, key, projects, concurrency, log } = options;
  const id = ulid();
  const since = Date.now();
  const store = openBatchStore(handle.client);
  const { queueOf, close: closeQueues } = openBatchQueues(handle, { key, log });
  const pool = openHeavyPool();
  const patches = openPatchShell();
  const slots = createSlots(concurrency);
  const leaving = new AbortController();
  const rushed = Promise.withResolvers<void>();
  const running = new Map<string, Running>();
  const repositories = new Map<string, Promise<string | null>>();
  const allowances = new Map<string, Allowance>();
  const abouts = new Map<string, Promise<About>>();
  /** Batches that ended here. */
  const over = new Set<string>();
  const cleaning = new Set<Promise<void>>();
  let idle = Promise.withResolvers<void>();
  let done = 0;
  let draining = false;
  idle.resolve();

  const deps = {
    ...{ home, handle, pool, store, patches, log, worker: id, models: options.models, permission: options.permission },
    notice: options.notice,
    copies: openWorkingCopies(home),
    repositoryOf(root: string) {
      const known = repositories.get(root) ?? repositoryOf(root);
      repositories.set(root, known);
      return known;
    },
  };

  const info = () => ({
    ...{ id, host: hostname(), ...selfIdentity(), version: options.version, roles: [...options.roles] },
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

  /** A job's task, when it is what was signed and this process may run it. */
  const taskOf = async ({ bid, item, hash }: BatchJob, name: string, access: Access): Promise<Task | string> => {
    const [task] = await store.tasksOf(bid, [item]);
    if (!task) return 'there is no such task.';
    if (taskHash(task) !== hash) return 'the task is not the one that was signed.';
    if (task.root !== name || accessOf(task) !== access) return 'it came through a queue that is not its own.';
    return task;
  };

  const processor =
    (name: string, root: string, access: Access): JobProcessor<BatchJob> =>
    async (job, lock) => {
      const { signal, release } = firstOf(lock, leaving.signal);
      try {
        const free = await slots.take(signal);
        // What is not cleaned up yet does not pile up.
        if (cleaning.size > 2 * concurrency) await Promise.race(cleaning);
        if (free === null || draining) {
          free?.();
          return 'back';
        }
        try {
          return await runJob({ name, root, access }, job, signal);
        } finally {
          free();
        }
      } finally {
        release();
      }
    };

  const runJob = async (
    { name, root, access }: { readonly name: string; readonly root: string; readonly access: Access },
    { id: jobId, token, data }: Parameters<JobProcessor<BatchJob>>[0],
    signal: AbortSignal,
  ): Promise<'done' | 'back'> => {
    const { bid, item, gen } = data;
    const task = await taskOf(data, name, access);
    if (typeof task === 'string') return refuse(jobId, task);
    const run: ItemRun = { worker: id, host: selfPlace(), ...selfIdentity(), job: jobId, token, at: Date.now() };
    const folder = taskFolder(home, bid, item, gen);
    const ws = workspaceId(folder, handle.scope);
    const claim = await store.claim(bid, item, gen, run, { ws, fresh: ulid() });
    if (claim.status === 'cancelled' || claim.status === 'budget') {
      const isBudget = claim.status === 'budget';
      const why = isBudget
        ? 'The batch had spent its budget before it began.'
        : 'The batch was cancelled before it began.';
      await store.skip(bid, task, isBudget ? 'limit' : 'cancelled', claim.status, why);
      await followOn(store, queueOf, bid, item);
      return 'done';
    }
    if (claim.status !== 'ok') return refuse(jobId, `its task is ${claim.status}: it was used before.`);
    const own: Running = { bid, cancelled: new AbortController() };
    over.delete(bid);
    if (running.size === 0) idle = Promise.withResolvers<void>();
    running.set(jobId, own);
    options.onChange?.();
    try {
      const scope = (await allowanceOf(bid))?.scope ?? null;
      const order = { bid, gen, task, folder, ws, claim, root, scope, signal, cancelled: own.cancelled.signal };
      const end = await runTask(deps, order).catch((error: unknown) => {
        if (signal.aborted || error instanceof Fenced) throw error;
        log('a task failed', {
          bid,
          item,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
        return crashed(task, error);
      });
      const verdict = await store.finish(bid, end.result, claim.epoch, end.patch);
      if (verdict === 'fenced') return refuse(jobId, TAKEN_OVER);
      done += 1;
      cleanUp(bid, end, verdict === 'last');
      if ((await aboutOf(bid)).hasDependents) await followOn(store, queueOf, bid, item);
      return 'done';
    } catch (error) {
      if (!signal.aborted && error instanceof Fenced) return refuse(jobId, TAKEN_OVER);
      if (!signal.aborted) throw error;
      if (lockLost(signal)) return 'done';
      await store.release(bid, item, claim.epoch);
      return 'back';
    } finally {
      running.delete(jobId);
      await giveBack(bid);
      if (running.size === 0) idle.resolve();
      options.onChange?.();
    }
  };

  /** Nobody waits for it but who leaves. */
  const cleanUp = (bid: string, end: TaskEnd, isLast: boolean): void => {
    const work = async () => {
      if (isLast) over.add(bid);
      await end.cleanUp();
      if (over.has(bid)) await removeShared(home, bid);
    };
    const cleaned = work()
      .catch((error: unknown) => log('a task was not cleaned up', { bid, item: end.result.id, error: String(error) }))
      .finally(() => cleaning.delete(cleaned));
    cleaning.add(cleaned);
  };

  /** What never changes of a batch. */
  const aboutOf = (bid: string): Promise<About> => {
    const known = abouts.get(bid) ?? readAbout(store, bid);
    abouts.set(bid, known);
    known.catch(() => abouts.delete(bid));
    return known;
  };

  /** Of a batch that has a budget; all its tasks here share it. It is given back when none runs. */
  const allowanceOf = async (bid: string): Promise<Allowance | null> => {
    const { caps } = await aboutOf(bid);
    if (caps.usd === undefined && caps.tokens === undefined) return null;
    const known = allowances.get(bid);
    if (known) return known;
    const opened = openAllowance(handle.client, bid, caps, (error) =>
      log('no budget was given', { bid, error: String(error) }),
    );
    allowances.set(bid, opened);
    return opened;
  };

  const giveBack = async (bid: string): Promise<void> => {
    if ([...running.values()].some((one) => one.bid === bid)) return;
    const allowance = allowances.get(bid);
    allowances.delete(bid);
    await allowance?.close();
  };

  const lockLost = (signal: AbortSignal): boolean => signal.reason instanceof Fenced && !leaving.signal.aborted;

  const crashed = (task: Task, error: unknown) => ({
    result: {
      ...{
        id: task.id,
        line: task.line,
        status: 'failed' as const,
        reason: 'internal_error',
        files: [],
        base: task.base,
      },
      answer: `[Odin itself failed: ${error instanceof Error ? error.message : String(error)}]`,
      ...{ costUsd: null, tokens: 0, steps: 0, session: null, worker: id, startedAt: null, endedAt: Date.now() },
    },
    patch: '',
    cleanUp: async () => {},
  });

  const openBatches = async () => (await store.list()).filter(({ endedAt }) => endedAt === null);

  /** What dead processes of this machine held waits again at once, not only when their locks have run out. */
  const sweep = async () => {
    for (const { bid, running: some } of await openBatches()) {
      if (some === 0) continue;
      const runs = [...(await store.runs(bid))].filter(([, run]) => run.host === selfPlace() && !isAlive(run));
      const tasks = await store.tasksOf(
        bid,
        runs.map(([item]) => item),
      );
      for (const [i, [, run]] of runs.entries()) {
        const task = tasks[i];
        if (task) await (await queueOf(task.root, accessOf(task))).putBack(run.job, run.token);
      }
    }
  };

  const reconcile = async () => {
    for (const { bid } of await openBatches()) await addJobs(store, queueOf, bid);
  };

  const pollCancels = async () => {
    for (const bid of new Set([...running.values()].map((one) => one.bid))) {
      if (!(await store.isCancelled(bid))) continue;
      for (const one of running.values()) if (one.bid === bid) one.cancelled.abort();
    }
  };

  /** `self`: the worker that is cleaning up nothing, this one at its beginning and its end. */
  const clearAll = (self: string) => clearLeftovers({ home, handle, store, self });

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
  await sweep();
  const accesses: readonly Access[] = options.access === 'edit' ? ['edit', 'read'] : ['read'];
  const queues = await Promise.all(
    [...projects].flatMap(([name, root]) =>
      accesses.map(async (access) => {
        const queue = await queueOf(name, access);
        queue.work(processor(name, root, access), concurrency);
        return queue;
      }),
    ),
  );
  const timers = [
    every(BEAT_MS, 'no sign of life was given', () => beat(handle.client, info())),
    every(BEAT_MS, 'the sweep failed', sweep),
    every(CANCEL_POLL_MS, 'cancels were not looked for', pollCancels),
    every(RECONCILE_MS, 'missing jobs were not added', reconcile),
    every(LEFTOVERS_MS, 'leftovers were not cleared', () => clearAll('')),
  ];
  void clearAll(id).catch((error: unknown) => log('leftovers were not cleared', { error: String(error) }));
  void reconcile().catch((error: unknown) => log('missing jobs were not added', { error: String(error) }));

  return {
    id,
    load: () => ({ running: running.size, done }),
    hurry: () => rushed.resolve(),
    async drain(graceMs) {
      draining = true;
      await beat(handle.client, info()).catch(() => {});
      await Promise.all(queues.map((queue) => queue.pause()));
      const limit = AbortSignal.timeout(graceMs);
      const late = new Promise<void>((resolve) => limit.addEventListener('abort', () => resolve(), { once: true }));
      await Promise.race([idle.promise, rushed.promise, ...(graceMs > 0 ? [late] : [Promise.resolve()])]);
      const left = running.size;
      leaving.abort(new Fenced('This worker leaves.'));
      for (const timer of timers) clearInterval(timer);
      await closeQueues();
      await Promise.all(cleaning);
      await clearAll(id).catch(() => {});
      await Promise.all([pool.close(), patches.close()]);
      await leave(handle.client, id).catch(() => {});
      return left;
    },
  };
}
