// The line of `odin batch` while a batch runs, under a clock of the test's own.

import { expect, test } from '@jest/globals';
import { createProgress } from '../../cli/batch-progress.ts';
import type { BatchStatus } from '../../orchestrator/batch/store.ts';

const statusOf = (completed: number): BatchStatus => ({
  ...{ bid: 'nightly', name: 'tasks.jsonl', root: '/project', total: 100, running: 4, cancelled: false },
  ...{ createdAt: 0, endedAt: null, costUsd: 0.5, tokens: 1_000, caps: {} },
  counts: { completed, failed: 0, limit: 0, cancelled: 0, skipped: 0 },
});

test('O25: the progress of a batch says how fast it is and how long it takes, over the last minute', () => {
  let now = 0;
  const lines: string[] = [];
  const progress = createProgress({ write: (text) => lines.push(text) }, () => now);
  for (const [at, done] of [
    [0, 0],
    [10_000, 20],
    [100_000, 25],
    [110_000, 45],
  ] as const) {
    now = at;
    progress.show(statusOf(done));
  }
  expect(lines).toEqual([
    'nightly: 0 of 100 done · 4 running\n',
    'nightly: 20 of 100 done · 4 running · 2.0/s · 40s left · $0.50\n',
    'nightly: 25 of 100 done · 4 running · $0.50\n',
    'nightly: 45 of 100 done · 4 running · 2.0/s · 28s left · $0.50\n',
  ]);
});

test('O25: a machine that sleeps between two looks at the clock does not stop the progress', () => {
  let looks = 0;
  const sleepy = () => {
    looks += 1;
    if (looks > 100) throw new Error('the clock is looked at without end');
    return looks * 3_600_000;
  };
  const lines: string[] = [];
  const progress = createProgress({ isTTY: true, columns: 60, write: (text) => lines.push(text) }, sleepy);
  for (let done = 0; done < 3; done++) progress.show(statusOf(done));
  expect(lines).toHaveLength(3);
});
