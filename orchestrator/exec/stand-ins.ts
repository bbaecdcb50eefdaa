// Empty folders that stand in for what a command may not make (guard-control.ts): made while one needs them, counted by path, removed after
// the last. One that is removed is unmounted everywhere; one that is renamed stays mounted where it is. So what a sandbox needs that
// waits for its command (warm-sandbox.ts) is parked out of the project meanwhile, and comes back with the command.

import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs';

/** Those of this process, and how many commands need them. */
const inUse = new Map<string, number>();
/** Where the one of a path goes instead of being removed. */
const parking = new Map<string, string>();
const parked = new Map<string, string>();

export const standsIn = (path: string): boolean => inUse.has(path);

export function standIn(path: string): void {
  try {
    // Also when it is known: another process may have taken it away.
    if (!takeBack(path)) mkdirSync(path, { mode: 0o755 });
  } catch {
    // Made meanwhile, or not ours to make: what is there is mounted read-only.
    if (!inUse.has(path)) return;
  }
  inUse.set(path, (inUse.get(path) ?? 0) + 1);
}

export function leave(path: string): void {
  const left = (inUse.get(path) ?? 1) - 1;
  if (left > 0) {
    inUse.set(path, left);
    return;
  }
  inUse.delete(path);
  const to = parking.get(path);
  parking.delete(path);
  if (to === undefined || !move(path, to)) removeEmpty(path);
}

/** One that a process has made which is dead: what needs it there needs it still. */
export function holdStandIn(path: string): void {
  inUse.set(path, (inUse.get(path) ?? 0) + 1);
}

/** One that nobody here has counted. */
export function removeUnused(path: string): void {
  if (!inUse.has(path)) removeEmpty(path);
}

/** Leaves it; after the last it goes to `to`, on the same file system, until it is needed again. */
export function park(path: string, to: string): void {
  unpark(path);
  parking.set(path, to);
  leave(path);
}

/** Nobody waits for it any more. */
export function unpark(path: string): void {
  parking.delete(path);
  const at = parked.get(path);
  parked.delete(path);
  if (at !== undefined) removeEmpty(at);
}

export function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    // `.git` may be a file.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

function takeBack(path: string): boolean {
  const at = parked.get(path);
  if (at === undefined || isThere(path)) return false;
  parked.delete(path);
  try {
    renameSync(at, path);
    return true;
  } catch {
    return false;
  }
}

function move(path: string, to: string): boolean {
  try {
    if (readdirSync(path).length > 0) return false;
    renameSync(path, to);
    // The user's, in the same moment.
    if (readdirSync(to).length > 0) renameSync(to, path);
    else parked.set(path, to);
    return true;
  } catch {
    return false;
  }
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Gone, or something else stands there now.
  }
}
