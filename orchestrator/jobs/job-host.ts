// A process that runs jobs of one kind (SPEC O25): its queues, one for each project and access that it takes, how many run at a time, its
// signs of life and its rounds, and how it leaves. What a job is, and what is to be done for it, is for batch/runner.ts and
// agents/remote/runner.ts.

import { hostname } from 'node:os';
import { ulid } from '../../shared/ids.ts';
import { Fenced } from '../../shared/ports.ts';
import type { ModelPair, PermissionPolicy } from '../api.ts';
import type { Log } from '../log.ts';
import { selfIdentity } from '../process-identity.ts';
import type { RedisHandle } from '../redis.ts';
import type { JobQueue, TakenJob } from './job-queue.ts';
import { createSlots } from './slots.ts';
import { type Access, BEAT_MS, beat, leave } from './workers.ts';

/** What such a process is given, of whatever kind its jobs are. */
export interface JobHostOptions {
  readonly home: string;
  readonly handle: RedisHandle;
  readonly key: Buffer;
  /** A project as jobs name it -> its root on this machine. */
  readonly projects: ReadonlyMap<string, string>;
  /** read: what writes is left to others. */
  readonly access: Access;
  readonly permission: PermissionPolicy;
  readonly models: ModelPair;
  readonly concurrency: number;
  readonly version: string;
  readonly log: Log;
  notice(line: string): void;
}

/** What whoever started such a process does with it. */
export interface JobRunner {
  readonly id: string;
  load(): { readonly running: number; readonly done: number };
  /** Takes nothing new, waits for what runs, at most so long, and puts the rest back. Returns how much that was. */
  drain(graceMs: number): Promise<number>;
  /** While it drains: no more waiting. */
  hurry(): void;
}

/** Where a job came from. */
export interface JobSource {
  readonly name: string;
  readonly root: string;
  readonly access: Access;
}

export interface JobHost {
  readonly id: string;
  load(): { readonly running: number; readonly done: number };
  hurry(): void;
  /** A job begins to run here. Call what it returns when it no longer does. */
  begin(): () => void;
  /** One more has come to its end here. */
  count(): void;
  refuse(job: string, why: string): 'done';
  /** Says that it lives, from here on. */
  appear(): Promise<void>;
  /** Takes jobs, each once there is room for it. The signal aborts when the job may be another's, or this process leaves. */
  take<T>(
    openQueue: (name: string, access: Access) => Promise<JobQueue<T>>,
    run: (source: JobSource, job: TakenJob<T>, signal: AbortSignal) => Promise<'done' | 'back'>,
  ): Promise<void>;
  /** Does it again and again, one at a time, until this process leaves. */
  every(ms: number, what: string, work: () => Promise<unknown>): void;
  /** As JobRunner.drain; `close` closes the queues and what else is open, which puts back what still runs. */
  leave(graceMs: number, close: () => Promise<unknown>): Promise<number>;
}

export function createJobHost(
  { handle, projects, access, concurrency, version, log }: JobHostOptions,
  roles: readonly string[],
): JobHost {
  const id = ulid();
  const since = Date.now();
  const slots = createSlots(concurrency);
  const leaving = new AbortController();
  const rushed = Promise.withResolvers<void>();
  const queues: Pick<JobQueue<unknown>, 'pause'>[] = [];
  const timers: NodeJS.Timeout[] = [];
  let idle = Promise.withResolvers<void>();
  let [running, done] = [0, 0];
  let draining = false;
  idle.resolve();

  const live = () =>
    beat(handle.client, {
      ...{ id, host: hostname(), ...selfIdentity(), version, roles: [...roles], roots: [...projects.keys()] },
      ...{ access, concurrency, running, done, draining, since },
    });

  const every = (ms: number, what: string, work: () => Promise<unknown>): void => {
    let busy = false;
    const round = () => {
      if (busy) return;
      busy = true;
      work()
        .catch((error: unknown) => log(what, { error: String(error) }))
        .finally(() => {
          busy = false;
        });
    };
    timers.push(setInterval(round, ms));
  };

  return {
    id,
    every,
    load: () => ({ running, done }),
    hurry: () => rushed.resolve(),
    begin() {
      if (running === 0) idle = Promise.withResolvers<void>();
      running += 1;
      return () => {
        running -= 1;
        if (running === 0) idle.resolve();
      };
    },
    count() {
      done += 1;
    },
    refuse(job, why) {
      log('a job was refused', { id: job, why });
      return 'done';
    },

    async appear() {
      await live();
      every(BEAT_MS, 'no sign of life was given', live);
    },

    async take(openQueue, run) {
      const accesses: readonly Access[] = access === 'edit' ? ['edit', 'read'] : ['read'];
      const opened = [...projects].flatMap(([name, root]) =>
        accesses.map(async (one) => {
          const queue = await openQueue(name, one);
          queues.push(queue);
          queue.work(async (job, lock) => {
            const { signal, release } = firstOf(lock, leaving.signal);
            const free = await slots.take(signal);
            try {
              return free === null || draining ? 'back' : await run({ name, root, access: one }, job, signal);
            } finally {
              free?.();
              release();
            }
          }, concurrency);
        }),
      );
      await Promise.all(opened);
    },

    async leave(graceMs, close) {
      draining = true;
      await live().catch(() => {});
      await Promise.all(queues.map((queue) => queue.pause()));
      const limit = AbortSignal.timeout(graceMs);
      const late = new Promise<void>((resolve) => limit.addEventListener('abort', () => resolve(), { once: true }));
      await Promise.race([idle.promise, rushed.promise, ...(graceMs > 0 ? [late] : [Promise.resolve()])]);
      const left = running;
      leaving.abort(new Fenced('This worker leaves.'));
      for (const timer of timers) clearInterval(timer);
      await close();
      await leave(handle.client, id).catch(() => {});
      return left;
    },
  };
}

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
