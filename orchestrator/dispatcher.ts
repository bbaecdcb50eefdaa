// Sees to it that wake-ups become turns in the process that owns the workspace (SPEC O6, C2). BullMQ sequences them, with one
// exception: until it is loaded, a session's next message runs at once and its job follows, so that a short run starts fast and what
// a dead process has left goes on at once. Both ways lead to the same claim, so it does not matter which comes first.

import type { TurnJob, TurnQueue } from './queue.ts';
import type { SessionRunner } from './session-runner.ts';
import type { Turn } from './turn-ticket.ts';

export interface Dispatcher {
  /** A session's next message is there. */
  wake(turn: Turn): void;
  /** Opens the queue and takes work from it, from dead processes too. */
  start(): Promise<void>;
  /** Wakes every session that waits for nobody, as happens by itself every two seconds. */
  sweep(): Promise<void>;
  /** Puts back what runs, so that another process can go on with it. */
  close(): Promise<void>;
}

const SWEEP_MS = 2_000;
/** What runs at a time without the queue; more than that waits for one of them, or for the queue. */
const MOST_AT_ONCE = 32;

export function createDispatcher(deps: {
  readonly runner: Pick<SessionRunner, 'run' | 'abandonAll'>;
  /** Whether a session's next message runs here too, or waits for another process. */
  readonly chain: boolean;
  openQueue(): Promise<TurnQueue>;
  /** What sessions have to do next. */
  waiting(): Promise<readonly Turn[]>;
  /** Tells other processes which job belongs to a message that began without one. */
  nameJob(job: TurnJob): Promise<void>;
  log(message: string, detail: Record<string, unknown>): void;
}): Dispatcher {
  const direct = new Map<string, { readonly turn: Turn; readonly done: Promise<void> }>();
  /** What is to run when one of those has ended. */
  const crowd = new Map<string, Turn>();
  const leaving = new AbortController();
  let queue: TurnQueue | null = null;
  let starting: Promise<void> | null = null;
  let sweeping: NodeJS.Timeout | null = null;

  const wake = (turn: Turn): void => {
    if (leaving.signal.aborted || direct.has(keyOf(turn))) return;
    if (queue) return void enqueue(queue, turn);
    if (direct.size >= MOST_AT_ONCE) crowd.set(keyOf(turn), turn);
    else begin(turn);
  };

  /** What cannot be added now, the sweep adds. */
  const enqueue = (to: TurnQueue, turn: Turn): Promise<void> =>
    to.add(turn).catch((error: unknown) => note('a wake-up was not queued', error));

  const begin = (turn: Turn): void => {
    const done = deps.runner.run(turn, null, leaving.signal).then(
      (next) => ended(turn, next),
      (error: unknown) => {
        ended(turn, null);
        note('a turn ended early', error);
      },
    );
    direct.set(keyOf(turn), { turn, done });
  };

  const ended = (turn: Turn, next: Turn | null): void => {
    direct.delete(keyOf(turn));
    if (leaving.signal.aborted) return;
    const follows = deps.chain ? next : null;
    if (queue) {
      if (follows) wake(follows);
      return;
    }
    // Behind those that wait already, as in the queue.
    if (follows) crowd.set(keyOf(follows), follows);
    const [first] = crowd.values();
    if (!first) return;
    crowd.delete(keyOf(first));
    begin(first);
  };

  const note = (message: string, error: unknown) =>
    deps.log(message, { error: error instanceof Error ? error.message : String(error) });

  const start = async (): Promise<void> => {
    for (const turn of (await deps.waiting()).slice(0, MOST_AT_ONCE)) wake(turn);
    const opened = await deps.openQueue();
    if (leaving.signal.aborted) return opened.close();
    queue = opened;
    opened.work(async (job, signal) => {
      // The job of a message that runs here already: it ends with it.
      const own = direct.get(keyOf(job));
      if (own) {
        await deps.nameJob(job);
        return own.done.then(() => null);
      }
      return deps.runner.run(job, job.job, signal);
    });
    const known = [...[...direct.values()].map(({ turn }) => turn), ...crowd.values()];
    crowd.clear();
    // Before anything is waited for: close() must find it, and a Redis that refuses writes now must not end it.
    sweeping = setInterval(() => void sweep(), SWEEP_MS).unref();
    await Promise.all(known.map((turn) => enqueue(opened, turn)));
    await sweep();
  };

  const sweep = async (): Promise<void> => {
    await queue?.sweep().catch((error: unknown) => note('the sweep failed', error));
  };

  return {
    wake,
    start() {
      starting ??= start();
      return starting;
    },
    sweep,
    async close() {
      leaving.abort();
      if (sweeping) clearInterval(sweeping);
      deps.runner.abandonAll();
      await Promise.all([...direct.values()].map(({ done }) => done));
      await starting?.catch(() => {});
      await queue?.close();
    },
  };
}

const keyOf = ({ sid, seq }: Turn): string => `${sid}_${seq}`;
