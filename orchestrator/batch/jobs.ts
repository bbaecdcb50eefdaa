// Which of a batch's tasks have a job, and that those do which can run (DURABILITY 10). It looks at what Redis knows and adds what is
// missing, so it may be done by anybody who has the key, at any time, and twice.

import * as z from 'zod';
import { type JobQueue, type NewJob, openJobQueue } from '../jobs/job-queue.ts';
import type { Access } from '../jobs/workers.ts';
import { batchQueue } from '../keys.ts';
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
    const ids = wanted.slice(at, at + CHUNK);
    const [tasks, marks, results] = await Promise.all([
      store.tasksOf(bid, ids),
      store.marks(bid, ids),
      store.results(bid, ids),
    ]);
    const jobs = new Map<JobQueue<BatchJob>, NewJob[]>();
    for (const [i, task] of tasks.entries()) {
      const mark = marks[i];
      if (task === null || task === undefined || mark === undefined || results[i]) continue;
      if (!(await canRun(store, queueOf, bid, task))) continue;
      const queue = await queueOf(task.root, accessOf(task));
      let { job } = mark;
      if (!fresh) {
        const state = await queue.stateOf(jobOf(bid, task, mark.gen, job).id);
        if (state === 'waits' || state === 'runs') continue;
        if (state === 'ended') {
          // It may have ended since the results were read, as jobs should.
          if ((await store.results(bid, [task.id]))[0]) continue;
          job = await store.nextJob(bid, task.id, job);
        }
      }
      jobs.set(queue, [...(jobs.get(queue) ?? []), jobOf(bid, task, mark.gen, job)]);
    }
    for (const [queue, added] of jobs) await queue.add(added);
  }
}

const CHUNK = 500;

/** Whether all that it waits for is completed. When one of them has ended otherwise, the task ends here. */
async function canRun(store: BatchStore, queueOf: QueueOf, bid: string, task: Task): Promise<boolean> {
  if (task.needs.length === 0) return true;
  const results = await store.results(bid, task.needs);
  const bad = results.find((result) => result !== null && result.status !== 'completed');
  if (bad) {
    const why = `It waits for "${bad.id}", which ended as ${bad.status}.`;
    const verdict = await store.skip(bid, task, 'skipped', 'dependency', why);
    if (verdict === 'ok' || verdict === 'last') await followOn(store, queueOf, bid, task.id);
    return false;
  }
  return results.every((result) => result !== null);
}

/** An item has its result: those that waited for it alone can run. */
export async function followOn(store: BatchStore, queueOf: QueueOf, bid: string, item: string): Promise<void> {
  const items = await store.dependents(bid, item);
  if (items.length > 0) await addJobs(store, queueOf, bid, { items });
}
