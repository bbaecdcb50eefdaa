// Watches a process and all its descendants on Linux: peak of their resident memory together, and their CPU time.
// A private Redis leaves the tree (it is detached), so its pid is found by its parent's folder in the command line.
// A thread of its own looks (process-tree-thread.ts): what is measured meanwhile in this one must not wait for it.

import { Worker } from 'node:worker_threads';

export interface TreeUsage {
  /** Highest sum of resident memory seen, bytes. */
  readonly peakBytes: number;
  /** User and system time of all processes together, milliseconds. */
  readonly cpuMs: number;
}

export interface Watched {
  readonly rootPid: number;
  /** A text in the command line of detached members; empty: there are none. */
  readonly marker: string;
  readonly intervalMs: number;
  /** Where the thread writes what it has seen: peakBytes, cpuMs. */
  readonly seen: Float64Array;
}

interface TreeWatch {
  /** What the thread has seen so far; nothing before its first look. */
  seen(): TreeUsage;
  stop(): TreeUsage;
}

/** Samples every `intervalMs` until `stop` is called. `marker` is a text in the command line of detached members. */
export function watchTree(rootPid: number, marker: string, intervalMs = 20): TreeWatch {
  const seen = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
  const workerData: Watched = { rootPid, marker, intervalMs, seen };
  const thread = new Worker(new URL('./process-tree-thread.ts', import.meta.url), { workerData });
  const usage = (): TreeUsage => ({ peakBytes: seen[0] as number, cpuMs: seen[1] as number });
  return {
    seen: usage,
    stop() {
      void thread.terminate();
      return usage();
    },
  };
}
