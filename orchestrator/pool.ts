// The heavy thread pool (SPEC C3, DURABILITY 13): one-shot tasks that would block the main thread. The only importer of
// piscina. Threads start with the first task and go when idle. Waiting is done here and not in Piscina's queue: with abort
// signals that queue has no limit, and nothing starts what waits behind a task that was aborted.

import { availableParallelism } from 'node:os';
import { MessageChannel } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { HeavyKind, HeavyTasks } from '../shared/heavy-task.ts';
import { cancelled, fail, type Outcome } from '../shared/outcome.ts';

export interface HeavyPool {
  /** Runs one task in a thread. When the signal aborts, the task is asked to stop, and after a grace its thread is ended. */
  run<K extends HeavyKind>(
    kind: K,
    input: HeavyTasks[K]['input'],
    signal: AbortSignal,
  ): Promise<Outcome<HeavyTasks[K]['output']>>;
  /** Stops what runs and ends the threads. */
  close(): Promise<void>;
}

const MAX_THREADS = Math.min(2, availableParallelism());
const MAX_WAITING = 64;
const IDLE_MS = 20_000;
/** A task kills its child processes within this time; one that does not is busy and loses its thread. */
const GRACE_MS = 250;

const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? '../workers/heavy.ts' : './workers/heavy.js',
  import.meta.url,
);

/** Opens the pool; nothing is loaded before the first task. `workerUrl` is the thread's entry, from source or from the bundle. */
export function openHeavyPool(workerUrl: URL = WORKER_URL): HeavyPool {
  const slots = openSlots(MAX_THREADS, MAX_WAITING);
  const closing = new AbortController();
  let threads: Promise<Piscina> | undefined;

  const open = async (): Promise<Piscina> => {
    const { Piscina } = await import('piscina');
    const piscina = new Piscina({
      filename: workerUrl.href,
      minThreads: 0,
      maxThreads: MAX_THREADS,
      maxQueue: MAX_WAITING,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      env: threadEnv(),
    });
    // A thread that cannot start takes no tasks and Piscina never settles them: end them all, and begin anew with the next.
    piscina.on('error', (error: Error) => {
      broken = error.message;
      threads = undefined;
      void piscina.destroy();
    });
    return piscina;
  };
  let broken = '';

  const runInThread = async <K extends HeavyKind>(kind: K, input: HeavyTasks[K]['input'], signal: AbortSignal) => {
    const { port1, port2 } = new MessageChannel();
    const end = new AbortController();
    let grace: NodeJS.Timeout | undefined;
    const cancel = () => {
      port1.postMessage('cancel');
      grace = setTimeout(() => end.abort(), GRACE_MS);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      threads ??= open();
      const piscina = await threads;
      // An abort before the task is in its thread is nobody's to receive.
      if (signal.aborted) return cancelled();
      const request = { kind, input, cancel: port2 };
      const json: unknown = await piscina.run(request, { transferList: [port2], signal: end.signal });
      return signal.aborted ? cancelled() : (JSON.parse(json as string) as Outcome<HeavyTasks[K]['output']>);
    } catch (error) {
      if (signal.aborted) return cancelled();
      const why = broken || (error as Error).message;
      broken = '';
      return fail(
        'failed',
        'thread_failed',
        `The thread for ${kind} broke: ${why}. Try again; if it stays so, narrow the request.`,
      );
    } finally {
      signal.removeEventListener('abort', cancel);
      clearTimeout(grace);
      port1.close();
    }
  };

  return {
    async run(kind, input, given) {
      const signal = AbortSignal.any([given, closing.signal]);
      const slot = await slots.take(signal);
      if (slot === 'cancelled') return cancelled();
      if (slot === 'full') {
        return fail('transient', 'pool_busy', `${MAX_WAITING} searches wait already. Send fewer calls at once.`);
      }
      try {
        return await runInThread(kind, input, signal);
      } finally {
        slots.give();
      }
    },
    async close() {
      closing.abort();
      await slots.idle();
      const piscina = await threads?.catch(() => undefined);
      threads = undefined;
      await piscina?.destroy();
    },
  };
}

/** What ripgrep and Node need to find a person's settings; no keys, since pages from the web are handled in these threads. */
function threadEnv(): Record<string, string> {
  const names = ['HOME', 'USERPROFILE', 'XDG_CONFIG_HOME', 'SystemRoot', 'TMPDIR', 'TZ', 'NODE_COMPILE_CACHE'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

interface Slots {
  take(signal: AbortSignal): Promise<'taken' | 'full' | 'cancelled'>;
  give(): void;
  /** Resolves when no slot is taken. */
  idle(): Promise<void>;
}

/** So many at once, first come first served, a finite number waiting. */
function openSlots(size: number, maxWaiting: number): Slots {
  const waiting = new Set<() => void>();
  const idle = new Set<() => void>();
  let taken = 0;
  return {
    async take(signal) {
      if (signal.aborted) return 'cancelled';
      if (taken < size) {
        taken++;
        return 'taken';
      }
      if (waiting.size >= maxWaiting) return 'full';
      return new Promise((resolve) => {
        const start = () => {
          signal.removeEventListener('abort', leave);
          resolve('taken');
        };
        const leave = () => {
          waiting.delete(start);
          resolve('cancelled');
        };
        signal.addEventListener('abort', leave, { once: true });
        waiting.add(start);
      });
    },
    give() {
      const [next] = waiting;
      if (next) {
        waiting.delete(next);
        return next();
      }
      taken--;
      if (taken === 0) for (const resolve of idle) resolve();
    },
    idle: () => (taken === 0 ? Promise.resolve() : new Promise((resolve) => idle.add(resolve))),
  };
}
