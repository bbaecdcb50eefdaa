// Ends a command with everything it started: its process group, and processes that left the group (setsid), which are known
// by the mark in their environment. A sandbox dies as a whole with its group; by the mark it is known when that is over.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { MARK } from './command-env.ts';

/** Less than the tool machine's grace, so that a stopped command still says how it ended. */
const TERM_MS = 1_500;
const POLL_MS = 20;

export interface Tree {
  /** Leader of the process group: the shim. */
  readonly group: number;
  /** Value of the mark. */
  readonly mark: string;
}

/** SIGTERM, a while to leave, SIGKILL. Resolves when nothing of it runs any more. */
export async function killTree(tree: Tree): Promise<void> {
  signalTree(tree, 'SIGTERM');
  for (let waited = 0; waited < TERM_MS; waited += POLL_MS) {
    if (!groupRuns(tree.group) && marked(tree.mark).length === 0) return;
    await delay(POLL_MS);
  }
  killStragglers(tree);
}

function killStragglers(tree: Tree): void {
  // A process may fork while the list is read: again, until nothing is found.
  for (let round = 0; round < 5; round++) {
    signalTree(tree, 'SIGKILL');
    if (marked(tree.mark).length === 0) return;
  }
}

/** What is left in the group of a command that has ended. */
export function killGroup(group: number): void {
  signal(-group, 'SIGKILL');
}

function signalTree({ group, mark }: Tree, name: NodeJS.Signals): void {
  signal(-group, name);
  for (const pid of marked(mark)) signal(pid, name);
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
