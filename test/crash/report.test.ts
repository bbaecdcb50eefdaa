import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { crashReport } from './report.ts';

const CLEAN = { kills: 3, lost: 0, doubled: 0, misordered: 0, unknown: 0, resumeMs: [100, 120, 140] };

test('a crash report meets its goals only when every kill was made and nothing is lost, doubled, out of order or unknown', () => {
  expect(crashReport('x', 1, 3, CLEAN)).toMatchObject({ met: true, resumeMs: { p50: 120, p95: 140 } });
  for (const wrong of [{ lost: 1 }, { doubled: 1 }, { misordered: 1 }, { unknown: 1 }, { kills: 2 }]) {
    expect(crashReport('x', 1, 3, { ...CLEAN, ...wrong }).met).toBe(false);
  }
});

test('a crash run that resumed nothing has no resume time, says why, and does not meet its goals', () => {
  const report = crashReport('x', 1, 3, { ...CLEAN, resumeMs: [] });
  expect(report).toMatchObject({ resumeMs: null, met: false });
  expect(report.goals.filter((goal) => !goal.met)).toEqual([
    expect.objectContaining({ actual: null, reason: 'no kill left an operation open' }),
  ]);
});

test('`npm run crash -- NAME --json` ends with one object of the agreed shape, and an unknown name is a usage error', () => {
  const run = (...args: string[]) => execFileSync(process.execPath, ['test/crash/run.ts', ...args], { stdio: 'pipe' });
  const lines = run('edits', '--kills', '3', '--seed', '7', '--json').toString().trim().split('\n');
  const last = JSON.parse(lines.at(-1) as string) as Record<string, unknown>;
  expect(Object.keys(last)).toEqual([
    ...['name', 'seed', 'kills', 'lost', 'doubled', 'misordered', 'unknown', 'resumeMs', 'goals', 'met'],
  ]);
  expect(last).toMatchObject({ name: 'edits', seed: 7, kills: 3, lost: 0, doubled: 0, misordered: 0, unknown: 0 });
  expect(() => run('nothing')).toThrow(/NAME is one of: commands, edits/);
});
