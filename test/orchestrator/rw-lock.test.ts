import { expect, test } from '@jest/globals';
import { createRwLock } from '../../orchestrator/rw-lock.ts';

/** Work that goes on until it is told to end, and a log of what runs. */
function worker(log: string[]) {
  const ends = new Map<string, () => void>();
  return {
    ends,
    work: (name: string) => async () => {
      log.push(`+${name}`);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      log.push(`-${name}`);
    },
  };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('O7: readers share, a writer excludes, and a waiting writer holds back later readers', async () => {
  const lock = createRwLock();
  const log: string[] = [];
  const { ends, work } = worker(log);
  const all = [
    lock.with('f', 'read', work('r1')),
    lock.with('f', 'read', work('r2')),
    lock.with('f', 'write', work('w1')),
    lock.with('f', 'read', work('r3')),
    lock.with('f', 'read', work('r4')),
    lock.with('f', 'write', work('w2')),
  ];
  await settle();
  expect(log).toEqual(['+r1', '+r2']);
  ends.get('r1')?.();
  await settle();
  expect(log).toEqual(['+r1', '+r2', '-r1']);
  ends.get('r2')?.();
  await settle();
  expect(log.slice(3)).toEqual(['-r2', '+w1']);
  ends.get('w1')?.();
  await settle();
  expect(log.slice(5)).toEqual(['-w1', '+r3', '+r4']);
  ends.get('r4')?.();
  ends.get('r3')?.();
  await settle();
  ends.get('w2')?.();
  await Promise.all(all);
  expect(log.slice(8)).toEqual(['-r4', '-r3', '+w2', '-w2']);
  expect(lock.size).toBe(0);
});

test('O7: paths do not wait for each other', async () => {
  const lock = createRwLock();
  const log: string[] = [];
  const { ends, work } = worker(log);
  const all = [lock.with('a', 'write', work('a')), lock.with('b', 'write', work('b'))];
  await settle();
  expect(log).toEqual(['+a', '+b']);
  for (const end of ends.values()) end();
  await Promise.all(all);
});

test('O7: an aborted wait runs nothing and lets in who stood behind it', async () => {
  const lock = createRwLock();
  const log: string[] = [];
  const { ends, work } = worker(log);
  const stop = new AbortController();
  const first = lock.with('f', 'read', work('r1'));
  const writer = lock.with('f', 'write', work('w'), stop.signal);
  const second = lock.with('f', 'read', work('r2'));
  await settle();
  expect(log).toEqual(['+r1']);
  stop.abort(new Error('enough'));
  await expect(writer).rejects.toThrow('enough');
  await settle();
  expect(log).toEqual(['+r1', '+r2']);
  for (const end of ends.values()) end();
  await Promise.all([first, second]);
  expect(lock.size).toBe(0);
  await expect(lock.with('f', 'read', work('r3'), stop.signal)).rejects.toThrow('enough');
});

test('O7: work that throws gives the lock back', async () => {
  const lock = createRwLock();
  await expect(
    lock.with('f', 'write', async () => {
      throw new Error('broken');
    }),
  ).rejects.toThrow('broken');
  expect(await lock.with('f', 'write', async () => 'in')).toBe('in');
  expect(lock.size).toBe(0);
});
