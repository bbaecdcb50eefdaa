// A queue of signed jobs in BullMQ (SAFETY 6, DURABILITY 10). A job is a wake-up: whether there is anything to do is for whoever claims what
// it names. Jobs that are not ours are refused and told of; the lock of one that runs is watched as in ../queue.ts.

import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Queue, Worker } from 'bullmq';
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

/** open: it waits or runs. ended: it was there and is over. */
export type JobState = (typeof STATES)[number];
const STATES = ['absent', 'open', 'ended'] as const;

export interface JobQueue<T> {
  /** Adds those that are not there yet. */
  add(jobs: readonly NewJob[]): Promise<void>;
  statesOf(ids: readonly string[]): Promise<readonly JobState[]>;
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
  /** How long a job's lock may go without a renewal before it counts as lost. */
  readonly fenceMs?: number;
}

interface Running {
  readonly abort: AbortController;
  readonly job: Job;
  readonly token: string;
  /** When the processor has let go of it. */
  readonly over: Promise<void>;
  renewedAt: number;
}

const LOCK_MS = 10_000;
const STALLED_INTERVAL_MS = 5_000;
const SELF_FENCE_MS = 0.7 * LOCK_MS;
const WATCH_MS = 500;
/** Of the time that a lock may go without a renewal: after so much of it this process renews by itself. */
const OWN_RENEWAL = 0.8;
const CHUNK = 500;
const KEPT_JOBS = 1_000;
const EXPIRES_AFTER_MS = 7 * 24 * 3_600_000;

export async function openJobQueue<T>(handle: RedisHandle, options: JobQueueOptions<T>): Promise<JobQueue<T>> {
  const { name, key, schema, onError, onRefused, fenceMs = SELF_FENCE_MS } = options;
  const bullmq = await import('bullmq');
  const connection = handle.client;
  const kept = { removeOnComplete: { count: KEPT_JOBS }, removeOnFail: { count: KEPT_JOBS } };
  const queue: Queue<SignedJob> = new bullmq.Queue(name, {
    connection,
    prefix: PREFIX,
    defaultJobOptions: { attempts: 1, sizeLimit: MAX_JOB_BYTES, ...kept },
  });
  queue.on('error', onError);
  const running = new Map<string, Running>();
  let worker: Worker<SignedJob> | null = null;
  let watch: NodeJS.Timeout | null = null;
  let closing = false;

  /** The job waits again, if it is still the token's. It fails when it is somebody else's by now, which is as well. */
  const waitAgain = async (job: Job, token: string): Promise<void> => {
    await job.moveToWait(token).then(wake, () => {});
  };

  /** BullMQ wakes nobody for a job with a priority that goes back, so that it would wait until a worker looks by itself. */
  const wake = async (): Promise<void> => {
    await handle.client.zadd(queue.toKey('marker'), 0, '0');
  };

  const back = async (job: Job, token: string): Promise<never> => {
    await waitAgain(job, token);
    throw new bullmq.WaitingError();
  };

  const run = async (processor: JobProcessor<T>, job: Job<SignedJob>, token: string, signal: AbortSignal) => {
    const id = job.id ?? '';
    if (closing) return back(job, token);
    const opened = openJob(key, { queue: name, jobId: id }, job.data, schema, Date.now());
    if (!opened.ok) return onRefused(id, opened.failure.message);
    const former = running.get(id);
    if (former) {
      // It comes again only after its lock was lost: what runs ends, and then the job waits for whoever comes.
      former.abort.abort(new Fenced(`Job ${id} has come again.`));
      await former.over;
      return back(job, token);
    }
    const over = Promise.withResolvers<void>();
    const own: Running = { abort: new AbortController(), job, token, over: over.promise, renewedAt: performance.now() };
    running.set(id, own);
    const lost = () => own.abort.abort(new Fenced(`The lock of job ${id} is lost.`));
    signal.addEventListener('abort', lost, { once: true });
    const end = await processor({ id, token, data: opened.value }, own.abort.signal).finally(() => {
      signal.removeEventListener('abort', lost);
      // Before it can come again.
      running.delete(id);
      over.resolve();
    });
    if (end === 'back') await back(job, token);
  };

  const watchLocks = (): void => {
    const now = performance.now();
    for (const own of running.values()) {
      const quietMs = now - own.renewedAt;
      if (quietMs > fenceMs) own.abort.abort(new Fenced(`The lock of job ${own.job.id} could not be renewed.`));
      // BullMQ renews no more what one of its loops takes up while another is still about to put it back.
      else if (quietMs > OWN_RENEWAL * fenceMs) void renew(own).catch(onError);
    }
  };

  const renew = async (own: Running): Promise<void> => {
    const sentAt = performance.now();
    if ((await own.job.extendLock(own.token, LOCK_MS)) === 1) own.renewedAt = Math.max(own.renewedAt, sentAt);
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

    async statesOf(ids) {
      if (ids.length === 0) return [];
      const ends = [queue.toKey('completed'), queue.toKey('failed')];
      const states = await handle.client.ojobs(ends, [queue.toKey(''), ...ids]);
      return states.map((state) => STATES[state] ?? 'absent');
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
      watch = setInterval(watchLocks, Math.min(fenceMs, WATCH_MS)).unref();
      worker = started;
    },

    async putBack(id, token) {
      const job = await queue.getJob(id);
      if (job) await waitAgain(job, token);
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
