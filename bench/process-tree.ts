// Watches a process and all its descendants on Linux: peak of their resident memory together, and their CPU time.
// A private Redis leaves the tree (it is detached), so its pid is found by its parent's folder in the command line.

import { readdirSync, readFileSync } from 'node:fs';

export interface TreeUsage {
  /** Highest sum of resident memory seen, bytes. */
  readonly peakBytes: number;
  /** User and system time of all processes together, milliseconds. */
  readonly cpuMs: number;
}

const TICK_MS = 10;
const PAGE_BYTES = 4096;

interface Seen {
  readonly ppid: number;
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** Samples every `intervalMs` until `stop` is called. `marker` is a text in the command line of detached members. */
export function watchTree(rootPid: number, marker: string, intervalMs = 10): { stop(): TreeUsage } {
  const cpu = new Map<number, number>();
  let peakBytes = 0;
  const sample = () => {
    const members = treeOf(rootPid, marker);
    let sum = 0;
    for (const [pid, seen] of members) {
      cpu.set(pid, Math.max(cpu.get(pid) ?? 0, seen.cpuMs));
      sum += seen.rssBytes;
    }
    peakBytes = Math.max(peakBytes, sum);
  };
  sample();
  const timer = setInterval(sample, intervalMs);
  return {
    stop() {
      clearInterval(timer);
      const cpuMs = [...cpu.values()].reduce((sum, ms) => sum + ms, 0);
      return { peakBytes, cpuMs };
    },
  };
}

function treeOf(rootPid: number, marker: string): Map<number, Seen> {
  const all = new Map<number, Seen>();
  const marked = new Set<number>([rootPid]);
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const seen = readProcess(pid);
    if (!seen) continue;
    all.set(pid, seen);
    if (marker !== '' && commandLine(pid).includes(marker)) marked.add(pid);
  }
  const members = new Map<number, Seen>();
  for (const [pid, seen] of all) if (descendsFrom(pid, marked, all)) members.set(pid, seen);
  return members;
}

function descendsFrom(pid: number, roots: ReadonlySet<number>, all: ReadonlyMap<number, Seen>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 1; at = all.get(at)?.ppid) {
    if (roots.has(at)) return true;
  }
  return false;
}

function readProcess(pid: number): Seen | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { ppid: Number(fields[1]), cpuMs: ticks * TICK_MS, rssBytes: Number(fields[21]) * PAGE_BYTES };
  } catch {
    return null;
  }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
