// When a message is processed and by which process: BullMQ (SPEC C2). The only file that loads it, and only when it is used.
// A job is a wake-up and carries no meaning (DURABILITY 0): losing, doubling or reordering one changes nothing, since the claim
// decides what runs. So jobs are added without ceremony, and sweep() adds again what is missing.

import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Queue, Worker } from 'bullmq';
import * as z from 'zod';
import { killPoint } from '../shared/kill-point.ts';
import { MODES } from '../shared/modes.ts';
import { Fenced } from '../shared/ports.ts';
import type { Owner } from './journal.ts';
import { keys, PREFIX, turnsQueue } from './keys.ts';
import { isAlive, selfIdentity } from './process-identity.ts';
import type { RedisHandle } from './redis.ts';
import type { Turn } from './turn-ticket.ts';
import { waitingTurns } from './waiting-turns.ts';

/** A turn with its job, for the claim. */
export interface TurnJob extends Turn {
  readonly job: { readonly id: string; readonly token: string };
}

/**
 * Runs one turn. Returns the next one of its session, from the journal's finish(), or null when there is none or nothing was to
 * be done. When the signal aborts it stops and rejects with the signal's reason, a Fenced; any other rejection is a bug's.
 */
export type TurnProcessor = (turn: TurnJob, signal: AbortSignal) => Promise<Turn | null>;

export interface TurnQueue {
  add(turn: Turn): Promise<void>;
  /** Begins to run turns, up to 32 at a time. The signal aborts with Fenced when another process may have taken the turn over. */
  work(processor: TurnProcessor): void;
  /** Puts back what dead processes of this host held, and wakes every session that waits for nobody. Call it at start and every second or two. */
  sweep(): Promise<void>;
  /** Aborts what runs here and puts it back, so that whoever works next goes on with it. */
  close(): Promise<void>;
}

const LOCK_MS = 10_000;
const STALLED_INTERVAL_MS = 5000;
/** A turn whose lock was not renewed for this long stops itself: after LOCK_MS somebody else may have it. */
const SELF_FENCE_MS = 0.7 * LOCK_MS;
const CONCURRENCY = 32;
const KEPT_JOBS = 1000;
const MOST_JOB_BYTES = 256;

const jobSchema = z.strictObject({ sid: z.string(), seq: z.int().positive(), mode: z.enum(MODES) });

type TurnData = z.infer<typeof jobSchema>;

interface Running {
  readonly abort: AbortController;
  readonly jobId: string;
  renewedAt: number;
}

export async function openTurnQueue(
  handle: RedisHandle,
  ws: string,
  onError: (error: Error) => void,
): Promise<TurnQueue> {
  const bullmq = await import('bullmq');
  const connection = handle.client;
  const queue: Queue<TurnData> = new bullmq.Queue(turnsQueue(ws), {
    connection,
    prefix: PREFIX,
    defaultJobOptions: {
      attempts: 1,
      // Ids only: whoever looks at the queue sees no words of the user.
      sizeLimit: MOST_JOB_BYTES,
      removeOnComplete: { count: KEPT_JOBS },
      removeOnFail: { count: KEPT_JOBS },
    },
  });
  queue.on('error', onError);
  const running = new Map<string, Running>();
  let worker: Worker<TurnData> | null = null;
  let watch: NodeJS.Timeout | null = null;
  let closing = false;

  const add = async ({ sid, seq, mode, gen }: Turn): Promise<void> => {
    await queue.add('turn', { sid, seq, mode }, { jobId: jobIdOf(sid, seq, gen) });
  };

  const putBack = async (job: Job<TurnData>, token: string): Promise<never> => {
    await job.moveToWait(token);
    throw new bullmq.WaitingError();
  };

  const run = async (processor: TurnProcessor, job: Job<TurnData>, token: string, signal: AbortSignal) => {
    const parsed = jobSchema.safeParse(job.data);
    // Not one of ours, whoever wrote it (SAFETY 6). One that is well made needs no signature: it wakes what the inbox has, no more.
    if (!parsed.success) return onError(new Error(`Job ${job.id} was refused: it is not of the form of a turn's.`));
    // A second wake-up for what runs here already.
    if (running.has(turnKey(parsed.data))) return;
    // A worker that closes may still fetch one, such as the one it has just put back.
    if (closing) return putBack(job, token);
    const { sid, seq, mode } = parsed.data;
    const jobId = job.id ?? '';
    const own: Running = { abort: new AbortController(), jobId, renewedAt: performance.now() };
    running.set(turnKey(parsed.data), own);
    const lost = (): void => own.abort.abort(new Fenced(`The lock of job ${jobId} is lost.`));
    signal.addEventListener('abort', lost, { once: true });
    const gen = Number(jobId.slice(jobId.lastIndexOf('_') + 1)) || 0;
    try {
      const next = await processor({ sid, seq, mode, gen, job: { id: jobId, token } }, own.abort.signal);
      killPoint('queue:promoting');
      // Not waited for: it leaves with the end of this job, and the sweep finds what was lost.
      if (next !== null) add(next).catch(onError);
    } catch (error) {
      if (!(error instanceof Fenced)) throw error;
      // Somebody else has the session, or the next sweep wakes it: nothing failed. On closing it waits for whoever comes.
      if (closing) await putBack(job, token);
    } finally {
      signal.removeEventListener('abort', lost);
      running.delete(turnKey(parsed.data));
    }
  };

  const selfFence = (): void => {
    for (const turn of running.values()) {
      if (performance.now() - turn.renewedAt > SELF_FENCE_MS) {
        turn.abort.abort(new Fenced(`The lock of job ${turn.jobId} could not be renewed.`));
      }
    }
  };

  return {
    add,

    work(processor) {
      // Three parameters, or BullMQ gives no signal.
      const process = (job: Job<TurnData>, token: string | undefined, signal: AbortSignal | undefined) =>
        run(processor, job, token ?? '', signal ?? new AbortController().signal);
      const started: Worker<TurnData> = new bullmq.Worker(turnsQueue(ws), process, {
        connection,
        prefix: PREFIX,
        concurrency: CONCURRENCY,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_INTERVAL_MS,
        // Which message kills processes is not BullMQ's to judge: its count condemns innocents that ran beside it.
        maxStalledCount: 1_000_000,
        removeOnComplete: { count: KEPT_JOBS },
        removeOnFail: { count: KEPT_JOBS },
      });
      started.on('error', onError);
      started.on('failed', (_job, error) => onError(error));
      started.on('lockRenewalFailed', (ids) => {
        for (const id of ids) started.cancelJob(id, 'lock lost');
      });
      started.on('locksRenewed', ({ jobIds }) => {
        for (const turn of running.values()) if (jobIds.includes(turn.jobId)) turn.renewedAt = performance.now();
      });
      watch = setInterval(selfFence, 500).unref();
      worker = started;
    },

    async sweep() {
      await putBackDeadOwners(handle, ws, queue);
      await wakeSessions(handle, ws, queue, running, add);
    },

    async close() {
      closing = true;
      for (const turn of running.values()) turn.abort.abort(new Fenced('Odin is closing.'));
      // With Redis away it would wait for ever; the job then goes back by sweep() or by its lock.
      await Promise.race([worker?.close(), delay(5000, undefined, { ref: false })]);
      if (watch !== null) clearInterval(watch);
      await queue.close();
    },
  };
}

const turnKey = ({ sid, seq }: { readonly sid: string; readonly seq: number }): string => `${sid}_${seq}`;

const jobIdOf = (sid: string, seq: number, gen: number): string => `${sid}_${seq}_${gen}`;

/** A job whose process is dead waits again at once, not only when its lock has run out. */
async function putBackDeadOwners(handle: RedisHandle, ws: string, queue: Queue<TurnData>): Promise<void> {
  const owners = Object.values(await handle.client.hgetall(keys.owners(hostname()))).map(
    (text) => JSON.parse(text) as Owner,
  );
  const self = selfIdentity();
  const isSelf = ({ pid, startTime }: Owner) => pid === self.pid && startTime === self.startTime;
  const dead = owners.filter((owner) => owner.ws === ws && owner.jobId !== '' && !isSelf(owner) && !isAlive(owner));
  await Promise.all(
    dead.map(async (owner) => {
      const job: Job<TurnData> | undefined = await queue.getJob(owner.jobId);
      // It fails when the job is not that process' any more, which is as well.
      await job?.moveToWait(owner.token).catch(() => {});
    }),
  );
}

async function wakeSessions(
  handle: RedisHandle,
  ws: string,
  queue: Queue<TurnData>,
  running: ReadonlyMap<string, Running>,
  add: (turn: Turn) => Promise<void>,
): Promise<void> {
  const redis = handle.client;
  const wake = async (turn: Turn): Promise<void> => {
    const { sid, seq, gen } = turn;
    if (running.has(turnKey(turn))) return;
    // Most have a job that waits its turn, and there may be thousands: two of its fields say so.
    const [name, finishedOn] = await redis.hmget(queue.toKey(jobIdOf(sid, seq, gen)), 'name', 'finishedOn');
    if (running.has(turnKey(turn))) return;
    if (name === null) await add(turn);
    else if (finishedOn !== null) {
      const revived = await redis.orevive([keys.session(sid).meta], [seq, gen]);
      if (revived !== -1) await add({ ...turn, gen: revived });
    }
  };
  await Promise.all((await waitingTurns(redis, ws)).map(wake));
}

/** A queue for whoever looks into it and works on none of it. */
export async function openQueue(handle: RedisHandle, name: string): Promise<Queue> {
  const { Queue: BullQueue } = await import('bullmq');
  const queue = new BullQueue(name, { connection: handle.client, prefix: PREFIX });
  queue.on('error', () => {});
  return queue;
}
