// Slices of the scripts that part processes and break their threads (DURABILITY 15), short enough for every run of the tests. An owner that
// is frozen has tests of its own (test/orchestrator/frozen-owner.test.ts).

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { printedSeed, randomFrom } from '../support/seed.ts';
import { cutOff, planCuts } from './netns.ts';
import { loseThread } from './threads.ts';

let folder = '';
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-partitions-')));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('DURABILITY 15.16: a thread of subagents that takes its process along, and one that cannot be loaded: all agents go on, every edit is made once', async () => {
  const random = randomFrom(printedSeed('crash threads'));
  const at = { agent: random(4), result: 1 + random(6) };
  const lost = await Promise.all([
    loseThread(join(folder, 'segv'), 'segv', at),
    loseThread(join(folder, 'bootstrap'), 'bootstrap', at),
  ]);
  expect(lost).toEqual([
    { fault: 'segv', findings: [] },
    { fault: 'bootstrap', findings: [] },
  ]);
});

test('DURABILITY 15.6: the cuts of netns follow from the seed, and a machine that cannot make a namespace is told so, not passed', async () => {
  const plans = planCuts(4, randomFrom(7));
  expect(planCuts(4, randomFrom(7))).toEqual(plans);
  expect(plans.map(({ isLong }) => isLong)).toEqual([true, false, true, false]);
  expect(new Set(plans.map(({ atStep }) => atStep)).size).toBeGreaterThan(1);
  const { goals } = await cutOff(folder, 1, randomFrom(7), join(folder, 'no-ip'));
  const reason = expect.stringMatching(/^not run here: (there is no `ip` here|network namespaces are there on Linux)/);
  expect(goals).toMatchObject([{ met: false, actual: null, reason }]);
});
