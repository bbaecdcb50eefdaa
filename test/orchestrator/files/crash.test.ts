import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { killEdits } from '../../support/kill-edits.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

/** A short slice of `npm run crash -- edits`. */
const KILLS = 40;

test(`DURABILITY 8: after ${KILLS} kills -9 between intent and rename and between rename and result, every change is there exactly once`, async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-files-')));
  try {
    const result = await killEdits(folder, KILLS, randomFrom(printedSeed('kills')));
    const { kills, lost, doubled, misordered, leftOver, how } = result;
    expect({ lost, doubled, misordered, leftOver }).toEqual({ lost: 0, doubled: 0, misordered: 0, leftOver: [] });
    expect(kills).toBeGreaterThan(KILLS * 0.7);
    expect([...how]).toEqual(expect.arrayContaining(['already', 'applied']));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
