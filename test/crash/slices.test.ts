// Slices of the crash scripts (DURABILITY 15), short enough for every run of the tests. `npm run crash -- NAME` has the rest.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { printedSeed, randomFrom } from '../support/seed.ts';
import { killOnPaths } from './paths.ts';
import { fightForSession, killRedisUnderLoad } from './redis-kills.ts';
import { killTurns } from './turns.ts';

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-slice-')));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const unmet = (goals: readonly { readonly met: boolean }[]) => goals.filter(({ met }) => !met);

test('DURABILITY 15.1, O6: processes and Redis are killed at crash points under messages that are sent twice; nothing is lost, doubled or out of order', async () => {
  const random = randomFrom(printedSeed('crash turns'));
  const { kills, ...found } = await inFolder((folder) =>
    killTurns(folder, { kills: 100, redisKills: 1, messages: 90, perMillion: 40_000 }, random),
  );
  expect(found).toMatchObject({ lost: 0, doubled: 0, misordered: 0, unknown: 0, unrecordedCalls: 0, findings: [] });
  expect(kills).toBeGreaterThanOrEqual(100);
});

test('DURABILITY 15.2, E9: killed at a step of a path through the machines, a message comes to the same end in another process', async () => {
  const random = randomFrom(printedSeed('crash paths'));
  const found = await inFolder((folder) => killOnPaths(folder, 12, random));
  expect(found).toMatchObject({ tried: 12, survived: [], strayed: [], differ: [] });
});

test('DURABILITY 15.8, O4: Redis is killed while journals are written, and has all that it had acknowledged', async () => {
  const random = randomFrom(printedSeed('crash redis'));
  const { goals, acknowledged } = await inFolder((folder) => killRedisUnderLoad(folder, 3, random));
  expect(unmet(goals)).toEqual([]);
  expect(acknowledged).toBeGreaterThan(0);
});

test('DURABILITY 15.7, O4: two owners that take one session from each other leave one line of epochs', async () => {
  expect(unmet(await inFolder((folder) => fightForSession(folder, 300)))).toEqual([]);
});
