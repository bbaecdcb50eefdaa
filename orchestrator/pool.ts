// The thread pools (SPEC C3, DURABILITY 13): one-shot tasks that would block the main thread, pages of the web, whose threads may do
// nothing but compute, and the loops of subagents, many in one thread. The only importer of piscina. Threads start with the first task
// and go when idle. For one-shot tasks waiting is done here and not in Piscina's queue: with abort signals that queue has no limit, and
// nothing starts what waits behind a task that was aborted.

import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { AgentTask } from '../shared/agent-frames.ts';
import type { HeavyKind, HeavyTasks } from '../shared/heavy-task.ts';
import { cancelled, fail, type Outcome } from '../shared/outcome.ts';
import { PATIENCE, workedMs } from './thread-work.ts';

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

/** Threads for the loops of subagents. */
export interface AgentThreads {
  /** Runs a loop; it talks over `port`. Resolves when it has ended, rejects when its thread is gone. */
  run(task: AgentTask, port: MessagePort): Promise<void>;
  /** Whether a thread was ended because it took no turns any more. */
  wasSilent(thread: number): boolean;
  /** Ends the threads and what runs in them. */
  close(): Promise<void>;
}

const MAX_WAITING = 64;
const IDLE_MS = 20_000;

const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? '../workers/heavy.ts' : './workers/heavy.js',
  import.meta.url,
);

interface Threads {
  readonly count: number;
  /** A task kills its child processes within this time; one that does not is busy and loses its thread. */
  readonly graceMs: number;
  /** A task loses its thread when that has worked on it for so long, and so long after it was sent when it never begins. */
  readonly limits: { readonly workMs: number; readonly startMs: number } | null;
  readonly options: Partial<ConstructorParameters<typeof Piscina>[0]>;
}

const SEARCHING: Threads = {
  count: Math.min(2, availableParallelism()),
  graceMs: 250,
  limits: null,
  options: {},
};

/** SAFETY 5: a page is written by anybody. Its thread reads files (its own code), and neither writes, nor starts anything. */
const READING_PAGES: Threads = {
  count: 1,
  graceMs: 0,
  limits: { workMs: 5_000, startMs: 20_000 },
  options: {
    env: {},
    execArgv: ['--permission', '--allow-fs-read=*'],
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
  },
};

/** Opens the pool; nothing is loaded before the first task. `workerUrl` is the thread's entry, from source or from the bundle. */
export const openHeavyPool = (workerUrl: URL = WORKER_URL): HeavyPool => openPool(workerUrl, SEARCHING);

/** The pool for pages of the web alone: one thread with little memory and little time. */
export const openPagePool = (workerUrl: URL = WORKER_URL): HeavyPool => openPool(workerUrl, READING_PAGES);

function openPool(workerUrl: URL, { count, graceMs, limits, options }: Threads): HeavyPool {
  const slots = openSlots(count, MAX_WAITING);
  const closing = new AbortController();
  let threads: Promise<Piscina> | undefined;

  const open = async (): Promise<Piscina> => {
    const { Piscina } = await import('piscina');
    const piscina = new Piscina({
      filename: workerUrl.href,
      minThreads: 0,
      maxThreads: count,
      maxQueue: MAX_WAITING,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      env: threadEnv(),
      ...options,
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
    let limit: NodeJS.Timeout | undefined;
    const cancel = () => {
      port1.postMessage('cancel');
      grace = setTimeout(() => end.abort(), graceMs);
    };
    let settled = false;
    // The word that the work has begun may come after the work is done.
    const within = (ms: number, over: () => void) => {
      clearTimeout(limit);
      if (!settled) limit = setTimeout(over, ms);
    };
    const limitWork = async (ms: number) => {
      const begunAt = performance.now();
      within(ms, () => end.abort());
      const worker = (await threads)?.threads[0];
      const before = worker ? await workedMs(worker) : null;
      const look = async () => {
        // One that is held up in a call of the system does not say how long it has worked.
        within(begunAt + PATIENCE * ms - performance.now(), () => end.abort());
        const now = worker ? await workedMs(worker) : null;
        const left = before === null || now === null ? 0 : ms - (now - before);
        if (left <= 0 || performance.now() - begunAt > PATIENCE * ms) end.abort();
        else within(Math.max(left, CHECK_MS), () => void look());
      };
      within(ms, () => void look());
    };
    signal.addEventListener('abort', cancel, { once: true });
    if (limits) port1.on('message', () => void limitWork(limits.workMs)).unref();
    try {
      threads ??= open();
      const piscina = await threads;
      // An abort before the task is in its thread is nobody's to receive.
      if (signal.aborted) return cancelled();
      const request = { kind, input, cancel: port2 };
      if (limits) within(limits.startMs, () => end.abort());
      const json: unknown = await piscina.run(request, { transferList: [port2], signal: end.signal });
      return signal.aborted ? cancelled() : (JSON.parse(json as string) as Outcome<HeavyTasks[K]['output']>);
    } catch (error) {
      if (signal.aborted) return cancelled();
      if (end.signal.aborted)
        return fail('failed', 'thread_time', `The thread for ${kind} took too long and was ended.`);
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') {
        return fail('failed', 'thread_memory', `The thread for ${kind} took too much memory and was ended.`);
      }
      const why = broken || (error as Error).message;
      broken = '';
      return fail(
        'failed',
        'thread_failed',
        `The thread for ${kind} broke: ${why}. Try again; if it stays so, narrow the request.`,
      );
    } finally {
      settled = true;
      signal.removeEventListener('abort', cancel);
      clearTimeout(grace);
      clearTimeout(limit);
      port1.close();
    }
  };

  return {
    async run(kind, input, given) {
      const signal = AbortSignal.any([given, closing.signal]);
      const slot = await slots.take(signal);
      if (slot === 'cancelled') return cancelled();
      if (slot === 'full') {
        return fail('transient', 'pool_busy', `${MAX_WAITING} tasks wait already. Send fewer calls at once.`);
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

const AGENTS_URL = new URL(
  import.meta.url.endsWith('.ts') ? '../workers/agents.ts' : './workers/agents.js',
  import.meta.url,
);

/** One thread carries hundreds of loops that wait for their models; a second one is for machines with cores to spare. */
const AGENT_THREADS = availableParallelism() >= 4 ? 2 : 1;
const AGENTS_A_THREAD = 2_000;
const AGENTS_YOUNG_MB = 12;
/** An agent whose thread was lost so often shares none any more: a bad one must not take its neighbours along. */
const SHARED_LIVES = 2;
const ALONE_THREADS = 2;
type AgentPlace = 'shared' | 'alone';
const CHECK_MS = 500;
/** A thread that took no turn for so long loops, or is stopped: its loops go on in another. */
const SILENT_MS = 5_000;
/** Until its first turn; on a busy machine a thread takes many times as long to start. */
const START_MS = 30_000;
const AGENT_MEMORY_MB = 1_024;

/** A thread at work, since its last new turn. */
interface SeenThread {
  readonly beats: number;
  checks: number;
  /** How long it had worked in all its life when it first said so, and by now; null: it has said nothing. */
  worked: { readonly from: number; readonly to: number } | null;
}

export interface AgentThreadOptions {
  readonly workerUrl?: URL;
  readonly silentMs?: number;
  readonly memoryMb?: number;
}

/**
 * Opens the threads of subagents; nothing is loaded before the first. SAFETY 2.6: they may read files (their own code) and talk to the
 * models' servers; they write nothing, start nothing, and know no environment.
 */
export function openAgentThreads({
  workerUrl = AGENTS_URL,
  silentMs = SILENT_MS,
  memoryMb = AGENT_MEMORY_MB,
}: AgentThreadOptions = {}): AgentThreads {
  const pulse = new Int32Array(new SharedArrayBuffer(64 * Int32Array.BYTES_PER_ELEMENT));
  const seen = new Map<number, SeenThread>();
  const silent = new Set<number>();
  const pools = new Map<AgentPlace, Promise<Piscina>>();
  const alone = openSlots(ALONE_THREADS, AGENTS_A_THREAD);
  const closing = new AbortController();
  let running = 0;
  let timer: NodeJS.Timeout | undefined;

  const open = async (place: AgentPlace): Promise<Piscina> => {
    const { Piscina } = await import('piscina');
    const piscina = new Piscina({
      filename: workerUrl.href,
      minThreads: 0,
      maxThreads: place === 'alone' ? ALONE_THREADS : AGENT_THREADS,
      concurrentTasksPerWorker: place === 'alone' ? 1 : AGENTS_A_THREAD,
      maxQueue: AGENTS_A_THREAD,
      // Longer than other threads: one takes 0.2 s to start, and more agents often follow.
      idleTimeout: 60_000,
      atomics: 'disabled',
      env: {},
      execArgv: ['--permission', '--allow-fs-read=*'],
      // Young objects in small steps, as cli/lean-process.ts: agents wait far more than they work.
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: AGENTS_YOUNG_MB },
    });
    // A thread that fails at its start is never replaced by Piscina: begin anew with the next.
    piscina.on('error', () => {
      pools.delete(place);
      void piscina.destroy();
    });
    return piscina;
  };

  /** By turns of this check, not by the clock, and by its own work: where the whole process or the thread waited, it is not to blame. */
  const check = async (): Promise<void> => {
    const opened = await Promise.all(
      [...pools].map(async ([place, pool]) => ({ place, piscina: await pool.catch(() => null) })),
    );
    const workers = opened.flatMap(({ place, piscina }) =>
      (piscina?.threads ?? []).map((worker) => ({ place, piscina, worker })),
    );
    for (const { place, piscina, worker } of workers) {
      const { threadId } = worker;
      const beats = Atomics.load(pulse, threadId % pulse.length);
      const known = seen.get(threadId);
      if (known?.beats !== beats) {
        seen.set(threadId, { beats, checks: 0, worked: null });
        continue;
      }
      if (silent.has(threadId)) continue;
      known.checks += 1;
      // Not waited for: one that is held up in a call of the system never answers, and counts as one that the machine keeps waiting.
      void workedMs(worker).then((ms) => {
        if (ms !== null) known.worked = { from: known.worked?.from ?? ms, to: ms };
      });
      const { checks, worked } = known;
      const patienceMs = beats === 0 ? Math.max(START_MS, silentMs) : silentMs;
      if (checks * CHECK_MS < patienceMs) continue;
      const isKeptWaiting = worked === null || worked.to - worked.from < patienceMs / 2;
      if (isKeptWaiting && checks * CHECK_MS < PATIENCE * patienceMs) continue;
      silent.add(threadId);
      void worker.terminate();
      if (beats > 0 && worked !== null) continue;
      // Piscina never settles what waits for a thread that is ended before it began, nor what is in one that cannot end yet: begin anew.
      pools.delete(place);
      void piscina?.destroy();
    }
  };

  return {
    async run(task, port) {
      running += 1;
      timer ??= setInterval(() => void check(), CHECK_MS).unref();
      const place: AgentPlace = task.inc > SHARED_LIVES ? 'alone' : 'shared';
      // Piscina does not start a thread for those that wait in its queue when theirs is lost: none waits there.
      const slot = place === 'alone' ? await alone.take(closing.signal) : null;
      try {
        if (place === 'alone' && slot !== 'taken') throw new Error('no thread is left for it');
        const pool = pools.get(place) ?? open(place);
        pools.set(place, pool);
        const piscina = await pool;
        await piscina.run({ task, port, pulse }, { transferList: [port] });
      } finally {
        if (slot === 'taken') alone.give();
        running -= 1;
        if (running === 0) {
          clearInterval(timer);
          timer = undefined;
          seen.clear();
        }
      }
    },
    wasSilent: (thread) => silent.has(thread),
    async close() {
      closing.abort();
      clearInterval(timer);
      const opened = [...pools.values()];
      pools.clear();
      await Promise.all(opened.map(async (pool) => (await pool.catch(() => null))?.destroy()));
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
