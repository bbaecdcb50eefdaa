// The lock where there are no abstract sockets: a file that names its holder. Weaker than the kernel's in two ways: a holder
// that died is noticed only by the next one who asks, and taking over its file is three steps, so that three processes
// that find the same dead holder in the same instant may end up with two locks. Waiters ask every 25 ms.

import { closeSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256, ulid } from '../shared/ids.ts';
import { isAlive, type ProcessIdentity, selfIdentity } from './process-identity.ts';

export interface Lock {
  /** Frees the lock at once; whoever waits for it is woken. */
  release(): void;
}

export const lockFilePath = (name: string): string =>
  join(tmpdir(), `odin-locks-${userInfo().uid}`, `${sha256(name).slice(0, 32)}.lock`);

/** Takes the lock file, or null while its holder lives. */
export function tryFileLock(path: string): Lock | null {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const mine = JSON.stringify({ ...selfIdentity(), nonce: ulid() });
  for (let attempt = 0; attempt < 3; attempt++) {
    if (createNew(path, mine)) return { release: () => removeIf(path, mine) };
    const holder = read(path);
    if (holder === null) continue;
    if (isHeld(holder)) return null;
    moveAway(path, holder);
  }
  return null;
}

function createNew(path: string, content: string): boolean {
  // Written aside and linked, so that nobody ever reads a half-written holder.
  const draft = `${path}.${ulid()}`;
  const fd = openSync(draft, 'wx', 0o600);
  try {
    writeSync(fd, content);
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    closeSync(fd);
    rmSync(draft, { force: true });
  }
}

function isHeld(holder: string): boolean {
  try {
    return isAlive(JSON.parse(holder) as ProcessIdentity);
  } catch {
    return false;
  }
}

function moveAway(path: string, dead: string): void {
  const aside = `${path}.${ulid()}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  // What was moved may be a live one that another process has put there since: it goes back.
  if (read(aside) !== dead) {
    try {
      linkSync(aside, path);
    } catch {}
  }
  rmSync(aside, { force: true });
}

function removeIf(path: string, content: string): void {
  if (read(path) === content) rmSync(path, { force: true });
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
