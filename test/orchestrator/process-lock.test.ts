import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { identityOf, isAlive, selfIdentity } from '../../orchestrator/process-identity.ts';
import { lock, tryLock } from '../../orchestrator/process-lock.ts';
import { tryFileLock } from '../../orchestrator/process-lock-file.ts';
import { ulid } from '../../shared/ids.ts';
import { startLineChild } from '../support/redis-lines.ts';

test('A lock has one holder; releasing it lets the next one in at once', async () => {
  const name = ulid();
  const first = await tryLock(name);
  expect(first).not.toBeNull();
  expect(await tryLock(name)).toBeNull();
  const waiting = lock(name);
  first?.release();
  const second = await waiting;
  expect(await tryLock(name)).toBeNull();
  second.release();
  (await tryLock(name))?.release();
});

test('Eight waiters get a lock one after the other, never two at once', async () => {
  const name = ulid();
  let holders = 0;
  const counts = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const held = await lock(name);
      holders += 1;
      await new Promise(setImmediate);
      const seen = holders;
      holders -= 1;
      held.release();
      return seen;
    }),
  );
  expect(counts).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
});

test('Waiting for a lock stops when its signal aborts', async () => {
  const name = ulid();
  const held = await tryLock(name);
  const abort = new AbortController();
  const waiting = lock(name, abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  held?.release();
});

test('C4: the kernel frees the lock of a process that was killed', async () => {
  const name = ulid();
  const child = startLineChild('redis-lock-child', [name]);
  expect(await child.line()).toBe('locked');
  expect(await tryLock(name)).toBeNull();
  const waiting = lock(name);
  child.process.kill('SIGKILL');
  (await waiting).release();
  await child.exited;
});

test('A process is told from another one that got its pid later', async () => {
  const self = selfIdentity();
  expect(isAlive(self)).toBe(true);
  expect(isAlive({ ...self, startTime: '1@00000000' })).toBe(false);
  const child = startLineChild('redis-lock-child', [ulid()]);
  await child.line();
  const identity = identityOf(child.process.pid ?? 0);
  expect(identity !== null && isAlive(identity)).toBe(true);
  child.process.kill('SIGKILL');
  await child.exited;
  expect(identity !== null && isAlive(identity)).toBe(false);
});

test('The lock file of systems without abstract sockets is taken over from the dead and from nobody else', () => {
  const dir = mkdtempSync(join(tmpdir(), 'odin-lock-'));
  try {
    const path = join(dir, 'a.lock');
    const first = tryFileLock(path);
    expect(first).not.toBeNull();
    expect(tryFileLock(path)).toBeNull();
    first?.release();
    writeFileSync(path, JSON.stringify({ pid: process.pid, startTime: 'another life' }));
    const second = tryFileLock(path);
    expect(second).not.toBeNull();
    second?.release();
    writeFileSync(path, 'half a fi');
    tryFileLock(path)?.release();
    expect(tryFileLock(path)).not.toBeNull();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
