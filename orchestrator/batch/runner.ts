// Runs tasks of batches in this process, as many at a time as it was told, for the projects it was given and no others (SAFETY 6): in
// `odin worker`, and in `odin batch submit` itself. What a task may do comes from this process' own settings, never from a job.

import { ulid } from '../../shared/ids.ts';
import { Fenced } from '../../shared/ports.ts';
import { createJobHost, type JobHostOptions, type JobRunner, type JobSource } from '../jobs/job-host.ts';
import type { TakenJob } from '../jobs/job-queue.ts';
import { workspaceId } from '../keys.ts';
import { openHeavyPool } from '../pool.ts';
import { isAlive, selfIdentity, selfPlace } from '../process-identity.ts';
import { type Allowance, openAllowance } from './allowance.ts';
import { repositoryOf } from './git.ts';
import { accessOf, addMissingJobs, type BatchJob, followOn, openBatchQueues } from './jobs.ts';
import { clearLeftovers } from './leftovers.ts';
import { openPatchShell } from './patch-shell.ts';
import { runTask, type TaskEnd } from './run-task.ts';
import { type BatchStatus, type BatchStore, type ItemRun, openBatchStore, taskHash } from './store.ts';
import type { Task } from './task.ts';
import { openWorkingCopies, removeShared, taskFolder } from './working-copy.ts';

export interface RunnerOptions extends JobHostOptions {
  readonly roles: readonly string[];
}

const SWEEP_MS = 2_000;
/** Of these sweeps one looks at every batch. */
const WIDE_SWEEP = 5;
const CANCEL_POLL_MS = 1_000;
const RECONCILE_MS = 15_000;
const LEFTOVERS_MS = 60_000;
const TAKEN_OVER = 'somebody else has taken the task over.';

interface Running {
  readonly bid: string;
  /** It has no result yet. */
  isOpen: boolean;
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

export async function startBatchRunner(options: RunnerOptions): Promise<JobRunner> {
  const { home, handle, key, concurrency, log } = options;
  const host = createJobHost(options, options.roles);
  const { id, refuse } = host;
  const store = openBatchStore(handle.client);
  const { queueOf, close: closeQueues } = openBatchQueues(handle, { key, log });
  const pool = openHeavyPool();
  const patches = openPatchShell();
  const running = new Set<Running>();
  const repositories = new Map<string, Promise<string | null>>();
  const allowances = new Map<string, Allowance>();
  const abouts = new Map<string, Promise<About>>();
  /** Batches that ended here. */
  const over = new Set<string>();
  const cleaning = new Set<Promise<void>>();
  let sweeps = 0;

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

  /** A job's task, when it is what was signed and this process may run it. */
  const taskOf = async (
    { bid, item, hash }: BatchJob,
    name: string,
    access: JobSource['access'],
  ): Promise<Task | string> => {
    const [task] = await store.tasksOf(bid, [item]);
    if (!task) return 'there is no such task.';
    if (taskHash(task) !== hash) return 'the task is not the one that was signed.';
    if (task.root !== name || accessOf(task) !== access) return 'it came through a queue that is not its own.';
    return task;
  };

  const runJob = async (
    { name, root, access }: JobSource,
    { id: jobId, token, data }: TakenJob<BatchJob>,
    signal: AbortSignal,
  ): Promise<'done' | 'back'> => {
    // What is not cleaned up yet does not pile up.
    if (cleaning.size > 2 * concurrency) await Promise.race(cleaning);
    if (signal.aborted) return 'back';
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
    const own: Running = { bid, isOpen: true, cancelled: new AbortController() };
    over.delete(bid);
    const ended = host.begin();
    running.add(own);
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
      own.isOpen = false;
      if (verdict === 'fenced') return refuse(jobId, TAKEN_OVER);
      host.count();
      cleanUp(bid, end, verdict === 'last');
      if ((await aboutOf(bid)).hasDependents) await followOn(store, queueOf, bid, item);
      return 'done';
    } catch (error) {
      if (!signal.aborted && error instanceof Fenced) return refuse(jobId, TAKEN_OVER);
      if (!signal.aborted) throw error;
      await store.release(bid, item, claim.epoch);
      return 'back';
    } finally {
      running.delete(own);
      // It has its result, or goes back, whatever becomes of the rest of a budget.
      await giveBack(bid).catch((error: unknown) => log('a budget was not given back', { bid, error: String(error) }));
      ended();
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

  const countOf = (bid: string): number => {
    let count = 0;
    for (const one of running) if (one.bid === bid && one.isOpen) count += 1;
    return count;
  };

  const giveBack = async (bid: string): Promise<void> => {
    if ([...running].some((one) => one.bid === bid)) return;
    const allowance = allowances.get(bid);
    allowances.delete(bid);
    await allowance?.close();
  };

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
    const alive = new Map<string, boolean>();
    const isDead = (run: ItemRun): boolean => {
      if (run.worker === id || run.host !== selfPlace()) return false;
      const lives = alive.get(run.worker) ?? isAlive(run);
      alive.set(run.worker, lives);
      return !lives;
    };
    const isWide = sweeps++ % WIDE_SWEEP === 0;
    for (const { bid, running: some } of await openBatches()) {
      if (some === 0) continue;
      // As many as run here: nobody else has any who could be dead. What ends here at this moment may be counted, hence the wide ones.
      if (!isWide && some <= countOf(bid)) continue;
      const runs = [...(await store.runs(bid))].filter(([, run]) => isDead(run));
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
    for (const { bid } of await openBatches()) await addMissingJobs(store, queueOf, bid, options.projects.keys());
  };

  const pollCancels = async () => {
    for (const bid of new Set([...running].map((one) => one.bid))) {
      if (!(await store.isCancelled(bid))) continue;
      for (const one of running) if (one.bid === bid) one.cancelled.abort();
    }
  };

  /** `self`: the worker that is cleaning up nothing, this one at its beginning and its end. */
  const clearAll = (self: string) => clearLeftovers({ home, handle, store, self });

  const drain = (graceMs: number): Promise<number> =>
    host.leave(graceMs, async () => {
      await closeQueues();
      await Promise.all(cleaning);
      await clearAll(id).catch(() => {});
      await Promise.all([pool.close(), patches.close()]);
    });

  try {
    await host.appear();
    await sweep();
    await host.take(queueOf, runJob);
  } catch (error) {
    // One that did not come to its beginning must not go on saying that it lives.
    await drain(0).catch(() => {});
    throw error;
  }
  host.every(SWEEP_MS, 'the sweep failed', sweep);
  host.every(CANCEL_POLL_MS, 'cancels were not looked for', pollCancels);
  host.every(RECONCILE_MS, 'missing jobs were not added', reconcile);
  host.every(LEFTOVERS_MS, 'leftovers were not cleared', () => clearAll(''));
  void clearAll(id).catch((error: unknown) => log('leftovers were not cleared', { error: String(error) }));
  void reconcile().catch((error: unknown) => log('missing jobs were not added', { error: String(error) }));

  return { id, load: host.load, hurry: host.hurry, drain };
}
