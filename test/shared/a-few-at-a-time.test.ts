import { expect, test } from '@jest/globals';
import { aFewAtATime } from '../../shared/a-few-at-a-time.ts';
import { until } from '../support/until.ts';

test('only so many are under way, the next begins when one has ended, and the results are in the order of the items', async () => {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const all = aFewAtATime(2, [0, 1, 2, 3], async (item) => {
    begun.push(item);
    await new Promise<void>((resolve) => ends.set(item, resolve));
    return item * 10;
  });
  expect(begun).toEqual([0, 1]);
  ends.get(1)?.();
  await until(() => begun.length > 2);
  expect(begun).toEqual([0, 1, 2]);
  ends.get(2)?.();
  await until(() => begun.length > 3);
  ends.get(3)?.();
  ends.get(0)?.();
  expect(await all).toEqual([0, 10, 20, 30]);
  expect(await aFewAtATime(2, [], async () => 1)).toEqual([]);
});

test('after one has failed no other begins', async () => {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const all = aFewAtATime(2, [0, 1, 2, 3], async (item) => {
    begun.push(item);
    if (item === 0) throw new Error('the first');
    await new Promise<void>((resolve) => ends.set(item, resolve));
  });
  await expect(all).rejects.toThrow('the first');
  ends.get(1)?.();
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([0, 1]);
});
