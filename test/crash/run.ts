// `npm run crash -- NAME [--seed N] [--kills N] [--json]`: one crash script at its full count, its table, and with --json one
// object as the last line. The tests run short slices of the same code.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { atMost, type Goal } from '../../bench/report.ts';
import { findSandbox } from '../../orchestrator/exec/sandbox.ts';
import { killCommands } from '../support/kill-commands.ts';
import { killEdits } from '../support/kill-edits.ts';
import type { KillResult } from '../support/kill-owner.ts';
import { randomFrom } from '../support/seed.ts';
import { diskFull } from './disk-full.ts';
import { crashReport, printCrash } from './report.ts';

interface CrashScript {
  readonly kills: number;
  run(
    folder: string,
    kills: number,
    random: (below: number) => number,
  ): Promise<{ readonly result: KillResult; readonly goals?: readonly Goal[] }>;
}

const SCRIPTS: Readonly<Record<string, CrashScript>> = {
  commands: {
    kills: 150,
    async run(folder, kills, random) {
      const { status } = await findSandbox();
      console.log(status.kind === 'none' ? status.reason : 'Commands run in the sandbox.');
      return { result: await killCommands(folder, kills * 2, kills, random) };
    },
  },
  edits: {
    kills: 200,
    async run(folder, kills, random) {
      const result = await killEdits(folder, kills, random);
      return { result, goals: [atMost('temporary files left over', result.leftOver.length, 0, 'files')] };
    },
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, seed: { type: 'string' }, kills: { type: 'string' } },
});
const name = positionals[0] ?? '';
const script = SCRIPTS[name];
const kills = Number(values.kills ?? script?.kills);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
if (name === 'disk-full') {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-crash-')));
  const report = await diskFull(folder, (line) => console.log(line));
  if (values.json) console.log(JSON.stringify(report));
  rmSync(folder, { recursive: true, force: true });
} else if (!script || !Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed)) {
  console.error(
    `usage: npm run crash -- NAME [--seed N] [--kills N] [--json]\nNAME is one of: ${[...Object.keys(SCRIPTS), 'disk-full'].join(', ')}`,
  );
  process.exitCode = 2;
} else {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-crash-')));
  try {
    const { result, goals } = await script.run(folder, kills, randomFrom(seed));
    const report = crashReport(name, seed, kills, result, goals);
    printCrash(report, (line) => console.log(line));
    if (values.json) console.log(JSON.stringify(report));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
