import { expect, test } from '@jest/globals';
import { benchCommands } from '../../bench/commands.ts';
import { UNCONFINED } from '../support/exec-bench.ts';

test('bench commands: without a sandbox its figure is null with the reason, and the goals are not met', async () => {
  const bench = await benchCommands({ rounds: 1 }, UNCONFINED);
  expect(bench.figures.map(({ name, odin }) => [name, odin === null])).toEqual([
    ['command in the sandbox', true],
    ['in one made for it, over bubblewrap', true],
    ['command without a sandbox', false],
    ['decide, median command', false],
    ['decide, slowest command', false],
  ]);
  expect(bench.goals[0]).toMatchObject({
    actual: null,
    met: false,
    reason: 'This test runs commands without a sandbox.',
  });
  expect(bench.met).toBe(false);
});
