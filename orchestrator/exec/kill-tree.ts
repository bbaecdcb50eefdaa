// Ends a command with everything it started: its process group, and processes that left the group (setsid), which are known
// by their cgroup where there is one, else by the mark in their environment. A sandbox dies as a whole with its group.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { MARK } from './command-env.ts';
import { freezeCgroup, pidsInCgroup } from './limits.ts';

/** Less than the tool machine's grace, so that a stopped command still says how it ended. */
const TERM_MS = 1_500;
const POLL_MS = 20;
/** Dying takes a moment, and more of it the more there are. */
const KILL_MS = 1_000;

export interface Tree {
  /** Leader of the process group: the shim. */
  readonly group: number;
  /** Value of the mark. */
  readonly mark: string;
  readonly cgroup: string | null;
  /** It is in that cgroup for certain, so that an empty one proves that nothing of it runs any more. */
  readonly joined: boolean;
  /** In a sandbox, where all of it ends with the first. */
  readonly confined: boolean;
}

/** SIGTERM, a while to leave, SIGKILL. Resolves when nothing of it runs any more. */
export async function killTree(tree: Tree): Promise<void> {
  signalTree(tree, 'SIGTERM');
  for (const end = performance.now() + TERM_MS; performance.now() < end; ) {
    if (members(tree).length === 0 && !groupRuns(tree.group)) return;
    await delay(POLL_MS);
  }
  await killStragglers(tree);
}

async function killStragglers(tree: Tree): Promise<void> {
  if (tree.cgroup === null) stopAll(tree);
  else freezeCgroup(tree.cgroup);
  for (const end = performance.now() + KILL_MS; performance.now() < end; ) {
    signalTree(tree, 'SIGKILL');
    if (members(tree).length === 0) return;
    await delay(POLL_MS);
  }
}

/** A process may fork while the list is read, and one that dies makes room for others: all are held before the first is killed. */
function stopAll(tree: Tree): void {
  const held = new Set<number>();
  for (let round = 0; round < 50; round++) {
    const fresh = members(tree).filter((pid) => !held.has(pid));
    if (fresh.length === 0) return;
    for (const pid of fresh) signal(pid, 'SIGSTOP');
    for (const pid of fresh) held.add(pid);
  }
}

/** What is left in the group of a command that has ended. */
export function killGroup(group: number): void {
  signal(-group, 'SIGKILL');
}

/** What is left of a command that has ended, wherever it went. */
export function killRest(tree: Tree): void {
  killGroup(tree.group);
  if (tree.confined) return;
  const left = tree.cgroup !== null && tree.joined ? pidsInCgroup(tree.cgroup) : members(tree);
  for (const pid of left) signal(pid, 'SIGKILL');
}

function signalTree(tree: Tree, name: NodeJS.Signals): void {
  signal(-tree.group, name);
  for (const pid of members(tree)) signal(pid, name);
}

/** An empty cgroup may be one that the command never joined. */
function members({ mark, cgroup }: Tree): readonly number[] {
  const pids = cgroup === null ? [] : pidsInCgroup(cgroup);
  return pids.length > 0 ? pids : marked(mark);
}

/** Zombies do not count: where nobody waits for orphans they stay. */
function groupRuns(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  return pids().some((pid) => {
    const stat = readProc(pid, 'stat');
    const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(pgrp) === group && state !== 'Z' && state !== 'X';
  });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already.
  }
}

/** Processes with the mark. Only Linux shows environments cheaply; elsewhere the group is all that is known. */
function marked(mark: string): readonly number[] {
  if (process.platform !== 'linux') return [];
  const entry = `${MARK}=${mark}`;
  return pids().filter((pid) => readProc(pid, 'environ').split('\0').includes(entry));
}

const pids = (): readonly number[] => readdirSync('/proc').map(Number).filter(Number.isInteger);

/** '' when the process is gone or somebody else's. */
function readProc(pid: number, file: 'stat' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
