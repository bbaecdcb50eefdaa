// A queue of signed jobs in BullMQ (SAFETY 6, DURABILITY 10). A job is a wake-up: whether there is anything to do is for whoever claims what
// it names. Jobs that are not ours are refused and told of; the lock of one that runs is watched as in ../queue.ts.

import { setTimeout as delay } from 'node:timers/promises';
import type { Job, JobState, Queue, Worker } from 'bullmq';
import type * as z from 'zod';
import type { JsonObject } from '../../shared/json.ts';
import { Fenced } from '../../shared/ports.ts';
import { PREFIX } from '../keys.ts';
import type { RedisHandle } from '../redis.ts';
import { MAX_JOB_BYTES, openJob, type SignedJob, signJob } from './sign-job.ts';

export interface NewJob {
  readonly id: string;
  readonly data: JsonObject;
  /** 1 goes first. */
  readonly priority: number;
}

export interface TakenJob<T> {
  readonly id: string;
  readonly token: string;
  readonly data: T;
}

/** done: the job is over. back: it waits again, for whoever comes. */
export type JobProcessor<T> = (job: TakenJob<T>, signal: AbortSignal) => Promise<'done' | 'back'>;

export interface JobQueue<T> {
  /** Adds those that are not there yet. */
  add(jobs: readonly NewJob[]): Promise<void>;
  /** ended: it was there and is over. */
  stateOf(id: string): Promise<'absent' | 'waits' | 'runs' | 'ended'>;
  /** Begins to run jobs. The signal aborts with Fenced when somebody else may have the job. */
  work(processor: JobProcessor<T>, concurrency: number): void;
  /** A job whose process is dead waits again. */
  putBack(id: string, token: string): Promise<void>;
  /** Takes no more jobs. */
  pause(): Promise<void>;
  /** Aborts what runs, with the reason, and leaves. */
  close(): Promise<void>;
}

export interface JobQueueOptions<T> {
  readonly name: string;
  readonly key: Buffer;
  readonly schema: z.ZodType<T>;
  onError(error: Error): void;
  /** Why a job was not taken. */
  onRefused(id: string, why: string): void;
}

const LOCK_MS = 10_000;
const STALLED_INTERVAL_MS = 5_000;
const SELF_FENCE_MS = 0.7 * LOCK_MS;
const CHUNK = 500;
const KEPT_JOBS = 1_000;
const EXPIRES_AFTER_MS = 7 * 24 * 3_600_000;

export async function openJobQueue<T>(handle: RedisHandle, options: JobQueueOptions<T>): Promise<JobQueue<T>> {
  const { name, key, schema, onError, onRefused } = options;
  const bullmq = await import('bullmq');
  const connection = handle.client;
  const kept = { removeOnComplete: { count: KEPT_JOBS }, removeOnFail: { count: KEPT_JOBS } };
  const queue: Queue<SignedJob> = new bullmq.Queue(name, {
    connection,
    prefix: PREFIX,
    defaultJobOptions: { attempts: 1, sizeLimit: MAX_JOB_BYTES, ...kept },
  });
  queue.on('error', onError);
  const running = new Map<string, { readonly abort: AbortController; renewedAt: number }>();
  let worker: Worker<SignedJob> | null = null;
  let watch: NodeJS.Timeout | null = null;
  let closing = false;

  const back = async (job: Job, token: string): Promise<never> => {
    await job.moveToWait(token);
    throw new bullmq.WaitingError();
  };

  const run = async (processor: JobProcessor<T>, job: Job<SignedJob>, token: string, signal: AbortSignal) => {
    const id = job.id ?? '';
    if (closing) return back(job, token);
    const opened = openJob(key, { queue: name, jobId: id }, job.data, schema, Date.now());
    if (!opened.ok) return onRefused(id, opened.failure.message);
    if (running.has(id)) return;
    const abort = new AbortController();
    running.set(id, { abort, renewedAt: performance.now() });
    const lost = () => abort.abort(new Fenced(`The lock of job ${id} is lost.`));
    signal.addEventListener('abort', lost, { once: true });
    try {
      const end = await processor({ id, token, data: opened.value }, abort.signal);
      if (end === 'back' && !(abort.signal.aborted && !closing)) await back(job, token);
    } finally {
      signal.removeEventListener('abort', lost);
      running.delete(id);
    }
  };

  return {
    async add(jobs) {
      for (let at = 0; at < jobs.length; at += CHUNK) {
        const expiresAt = Date.now() + EXPIRES_AFTER_MS;
        const chunk = jobs.slice(at, at + CHUNK).map(({ id, data, priority }) => ({
          name: 'task',
          data: signJob(key, { queue: name, jobId: id }, data, expiresAt),
          opts: { jobId: id, priority },
        }));
        await queue.addBulk(chunk);
      }
    },

    async stateOf(id) {
      const job = await queue.getJob(id);
      if (!job) return 'absent';
      const state: JobState | 'unknown' = await job.getState();
      if (state === 'completed' || state === 'failed') return 'ended';
      return state === 'active' ? 'runs' : state === 'unknown' ? 'absent' : 'waits';
    },

    work(processor, concurrency) {
      // Three parameters, or BullMQ gives no signal.
      const process = (job: Job<SignedJob>, token: string | undefined, signal: AbortSignal | undefined) =>
        run(processor, job, token ?? '', signal ?? new AbortController().signal);
      const started: Worker<SignedJob> = new bullmq.Worker(name, process, {
        connection,
        prefix: PREFIX,
        concurrency,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_INTERVAL_MS,
        maxStalledCount: 1_000_000,
        ...kept,
      });
      started.on('error', onError);
      started.on('failed', (_job, error) => onError(error));
      started.on('lockRenewalFailed', (ids) => {
        for (const id of ids) started.cancelJob(id, 'lock lost');
      });
      started.on('locksRenewed', ({ jobIds }) => {
        for (const id of jobIds) {
          const own = running.get(id);
          if (own) own.renewedAt = performance.now();
        }
      });
      watch = setInterval(() => {
        for (const [id, { abort, renewedAt }] of running) {
          if (performance.now() - renewedAt <= SELF_FENCE_MS) continue;
          abort.abort(new Fenced(`The lock of job ${id} could not be renewed.`));
        }
      }, 500).unref();
      worker = started;
    },

    async putBack(id, token) {
      const job = await queue.getJob(id);
      // It fails when the job is not that process' any more, which is as well.
      await job?.moveToWait(token).catch(() => {});
    },

    async pause() {
      await worker?.pause(true);
    },

    async close() {
      closing = true;
      for (const { abort } of running.values()) abort.abort(new Fenced('Odin is closing.'));
      // With Redis away it would wait for ever; the jobs then go back by their locks.
      await Promise.race([worker?.close(), delay(5_000, undefined, { ref: false })]);
      if (watch !== null) clearInterval(watch);
      await queue.close();
    },
  };
}
