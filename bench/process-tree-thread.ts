// The thread of process-tree.ts. A sample reads the processes that are watched, and of all others only those that are new: to look at
// every process of the machine at each look takes more than what is measured.

import { readdirSync, readFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import type { Watched } from './process-tree.ts';

const TICK_MS = 10;
const PAGE_BYTES = 4096;
/** A process that has just been forked still has its parent's command line. */
const LOOKS = 3;

interface Known {
  readonly start: string;
  readonly isMember: boolean;
  readonly looks: number;
}

interface Usage {
  readonly start: string;
  readonly ppid: number;
  readonly cpuMs: number;
  readonly rssBytes: number;
}

const { rootPid, marker, intervalMs, seen } = workerData as Watched;
const known = new Map<number, Known>();
/** By process id and start, since ids are used again. */
const cpu = new Map<string, number>();

function sample(): void {
  let bytes = 0;
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const there = new Set(pids);
  for (const pid of known.keys()) if (!there.has(pid)) known.delete(pid);
  // In the order of their ids parents mostly come first; a child that does not is found with the next look.
  for (const pid of pids.sort((a, b) => a - b)) {
    const before = known.get(pid);
    if (before && !before.isMember && before.looks === LOOKS) continue;
    const usage = readUsage(pid);
    if (!usage) continue;
    const { start } = usage;
    const { isMember, looks } = before?.start === start ? before : { isMember: false, looks: 0 };
    const joins = isMember || pid === rootPid || known.get(usage.ppid)?.isMember === true || isMarked(pid);
    known.set(pid, { start, isMember: joins, looks: looks + 1 });
    if (!joins) continue;
    const name = `${pid} ${start}`;
    cpu.set(name, Math.max(cpu.get(name) ?? 0, usage.cpuMs));
    bytes += usage.rssBytes;
  }
  seen[0] = Math.max(seen[0] ?? 0, bytes);
  seen[1] = [...cpu.values()].reduce((sum, ms) => sum + ms, 0);
}

function readUsage(pid: number): Usage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return {
      start: fields[19] ?? '',
      ppid: Number(fields[1]),
      cpuMs: ticks * TICK_MS,
      rssBytes: Number(fields[21]) * PAGE_BYTES,
    };
  } catch {
    return null;
  }
}

function isMarked(pid: number): boolean {
  try {
    return marker !== '' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(marker);
  } catch {
    return false;
  }
}

sample();
setInterval(sample, intervalMs);
