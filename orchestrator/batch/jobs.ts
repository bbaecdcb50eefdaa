// Which of a batch's tasks have a job, and that those do which can run (DURABILITY 10). It looks at what Redis knows and adds what is
// missing, so it may be done by anybody who has the key, at any time, and twice.

import * as z from 'zod';
import { type JobQueue, type NewJob, openJobQueue } from '../jobs/job-queue.ts';
import type { Access } from '../jobs/workers.ts';
import { batchQueue, PREFIX } from '../keys.ts';
import type { Log } from '../log.ts';
import type { RedisHandle } from '../redis.ts';
import { type BatchStore, taskHash } from './store.ts';
import type { Task } from './task.ts';

/** Ids only; `hash` is that of the task, which is thereby signed too. */
export const batchJobSchema = z.strictObject({
  bid: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  item: z.string().min(1).max(64),
  gen: z.int().min(0),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

export type BatchJob = z.infer<typeof batchJobSchema>;

/** Whether a task writes decides its queue. */
export const accessOf = ({ mode }: Task): Access => (mode === 'edit' ? 'edit' : 'read');

export type QueueOf = (root: string, access: Access) => Promise<JobQueue<BatchJob>>;

/** Queues as they are needed, each opened once. */
export function openBatchQueues(
  handle: RedisHandle,
  options: { readonly key: Buffer; readonly log: Log },
): { readonly queueOf: QueueOf; close(): Promise<void> } {
  const open = new Map<string, Promise<JobQueue<BatchJob>>>();
  return {
    queueOf(root, access) {
      const name = batchQueue(root, access);
      const queue = open.get(name) ?? openBatchQueue(handle, { name, ...options });
      open.set(name, queue);
      return queue;
    },
    async close() {
      await Promise.all([...open.values()].map(async (queue) => (await queue).close()));
    },
  };
}

const openBatchQueue = (
  handle: RedisHandle,
  { name, key, log }: { readonly name: string; readonly key: Buffer; readonly log: Log },
): Promise<JobQueue<BatchJob>> =>
  openJobQueue(handle, {
    name,
    key,
    schema: batchJobSchema,
    onError: (error) => log('the batch queue reports', { error: error.message }),
    onRefused: (id, why) => log('a job was refused', { id, why }),
  });

/** BullMQ takes 1 for the first; what is written by people goes up with importance. */
const priorityOf = ({ priority }: Task): number => 1_001 - priority;

/** Its id is known to obmissing too. */
const jobOf = (bid: string, task: Task, gen: number, job: number): NewJob => ({
  id: `${bid}_${task.id}_${gen}_${job}`,
  data: { bid, item: task.id, gen, hash: taskHash(task) },
  priority: priorityOf(task),
});

/**
 * Adds a job for each of these items (all that are not done when none are named) that can run and has none; ends those that wait for one
 * that was not completed. `fresh`: none of them has ever had one, so nobody needs to look.
 */
export async function addJobs(
  store: BatchStore,
  queueOf: QueueOf,
  bid: string,
  { items, fresh = false }: { readonly items?: readonly string[]; readonly fresh?: boolean } = {},
): Promise<void> {
  const wanted = items ?? (await store.todo(bid));
  for (let at = 0; at < wanted.length; at += CHUNK) {
    await addSome(store, queueOf, bid, wanted.slice(at, at + CHUNK), fresh);
  }
}

/** As addJobs, for those that have no job in the queues of these projects: of thousands of others nobody reads the tasks. */
export async function addMissingJobs(
  store: BatchStore,
  queueOf: QueueOf,
  bid: string,
  projects: Iterable<string>,
): Promise<void> {
  const queues = [...projects].flatMap((root) =>
    (['edit', 'read'] as const).map((access) => `${PREFIX}:${batchQueue(root, access)}:`),
  );
  await addJobs(store, queueOf, bid, { items: await store.missing(bid, queues) });
}

const CHUNK = 500;

interface Open {
  readonly task: Task;
  readonly gen: number;
  readonly job: number;
}

async function addSome(
  store: BatchStore,
  queueOf: QueueOf,
  bid: string,
  ids: readonly string[],
  fresh: boolean,
): Promise<void> {
  const [tasks, marks, results] = await Promise.all([
    store.tasksOf(bid, ids),
    store.marks(bid, ids),
    store.results(bid, ids),
  ]);
  const open = tasks.flatMap((task, i): readonly Open[] => {
    const mark = marks[i];
    return task && mark && !results[i] ? [{ task, ...mark }] : [];
  });
  const jobs = new Map<JobQueue<BatchJob>, Open[]>();
  for (const one of await thatCanRun(store, queueOf, bid, open)) {
    const queue = await queueOf(one.task.root, accessOf(one.task));
    const some = jobs.get(queue) ?? [];
    some.push(one);
    jobs.set(queue, some);
  }
  for (const [queue, some] of jobs) {
    const without = fresh ? some : await withoutJob(store, queue, bid, some);
    await queue.add(without.map(({ task, gen, job }) => jobOf(bid, task, gen, job)));
  }
}

/** Those whose job is not there. One whose job is over without a result gets another. */
async function withoutJob(
  store: BatchStore,
  queue: JobQueue<BatchJob>,
  bid: string,
  open: readonly Open[],
): Promise<readonly Open[]> {
  const states = await queue.statesOf(open.map(({ task, gen, job }) => jobOf(bid, task, gen, job).id));
  const ended = open.filter((_, i) => states[i] === 'ended');
  // It may have ended since the results were read, as jobs should.
  const results = await store.results(
    bid,
    ended.map(({ task }) => task.id),
  );
  const again = ended
    .filter((_, i) => !results[i])
    .map(async (one) => ({ ...one, job: await store.nextJob(bid, one.task.id, one.job) }));
  return [...open.filter((_, i) => states[i] === 'absent'), ...(await Promise.all(again))];
}

/** Those whose needs are all completed. One that needs what has ended otherwise ends here. */
async function thatCanRun(
  store: BatchStore,
  queueOf: QueueOf,
  bid: string,
  open: readonly Open[],
): Promise<readonly Open[]> {
  const needs = [...new Set(open.flatMap(({ task }) => task.needs))];
  const found = await store.results(bid, needs);
  const results = new Map(needs.map((need, i) => [need, found[i] ?? null]));
  const able: Open[] = [];
  for (const one of open) {
    const own = one.task.needs.map((need) => results.get(need) ?? null);
    const bad = own.find((result) => result !== null && result.status !== 'completed');
    if (bad) {
      const why = `It waits for "${bad.id}", which ended as ${bad.status}.`;
      const verdict = await store.skip(bid, one.task, 'skipped', 'dependency', why);
      if (verdict === 'ok' || verdict === 'last') await followOn(store, queueOf, bid, one.task.id);
    } else if (own.every((result) => result !== null)) able.push(one);
  }
  return able;
}

/** An item has its result: those that waited for it alone can run. */
export async function followOn(store: BatchStore, queueOf: QueueOf, bid: string, item: string): Promise<void> {
  const items = await store.dependents(bid, item);
  if (items.length > 0) await addJobs(store, queueOf, bid, { items });
}
