import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { type FilesBench, openFilesBench, printedSeed, randomFrom } from '../../support/files-bench.ts';
import type { CrashOrder } from '../../support/files-crash-child.ts';

let bench: FilesBench;
afterEach(() => bench.close());

/** ODIN_KILLS=200 for the full count. */
const KILLS = Number(process.env['ODIN_KILLS'] ?? 40);

const child = join(import.meta.dirname, '../../support/files-crash-child.ts');

/** One life; resolves with how it ended. With `outside` it is killed from here when it says that it is about to rename. */
function live(order: CrashOrder): Promise<'killed' | number> {
  const life = spawn(process.execPath, [child, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (order.at === 'outside') life.stdout.once('data', () => life.kill('SIGKILL'));
  return new Promise((resolve) =>
    life.on('close', (code, signal) => resolve(signal === 'SIGKILL' ? 'killed' : (code ?? -1))),
  );
}

test(`DURABILITY 8: after ${KILLS} kills -9 between intent and rename and between rename and result, every change is there exactly once`, async () => {
  bench = openFilesBench();
  const { root, put } = bench;
  const random = randomFrom(printedSeed('kills'));
  for (const f of [0, 1, 2]) put(`f${f}.txt`, 'end\n');
  const changes = KILLS * 2;
  const fixed = { root, home: join(root, '..'), journal: join(root, '../journal'), changes };
  const points = ['intent', 'rename', 'outside'] as const;
  let kills = 0;
  while (kills < KILLS) {
    const ended = await live({ ...fixed, dieAfter: random(2), at: points[random(3)] ?? 'intent' });
    if (ended === 0) break;
    expect(ended).toBe('killed');
    kills++;
  }
  expect(await live({ ...fixed, dieAfter: changes, at: 'rename' })).toBe(0);
  expect(kills).toBeGreaterThan(KILLS * 0.7);

  const text = [0, 1, 2].map((f) => readFileSync(join(root, `f${f}.txt`), 'utf8')).join('');
  const wrong: number[] = [];
  for (let n = 0; n < changes; n++) {
    const made = join(root, `made/${n}.txt`);
    const there = n % 5 === 4 ? existsSync(made) && readFileSync(made, 'utf8') : text;
    if ((there || '').split(`token ${n};`).length !== 2) wrong.push(n);
  }
  expect(wrong).toEqual([]);
  const how = readFileSync(join(root, '../journal'), 'utf8').match(/"done":"\w+"/g) ?? [];
  expect(how).toHaveLength(changes);
  expect(how).toContain('"done":"already"');
  expect(how).toContain('"done":"applied"');
  expect(readdirSync(root, { recursive: true }).filter((name) => String(name).includes('.odin-tmp'))).toEqual([]);
}, 120_000);
