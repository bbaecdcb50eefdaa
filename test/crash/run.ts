// `npm run crash -- NAME [--seed N] [--kills N] [--json]`: one crash script at its full count, its table, and with --json one
// object as the last line. The tests run short slices of the same code.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { atMost, type Goal } from '../../bench/report.ts';
import type { KillResult } from '../support/kill-owner.ts';
import { randomFrom } from '../support/seed.ts';
import { crashReport, goalReport, printCrash, printGoals, RESUME_P95_MS } from './report.ts';

/** What a script found: a count of operations, or goals of its own alone. */
interface Found {
  readonly result?: KillResult;
  readonly goals?: readonly Goal[];
  /** Null: how long a resume takes is another script's to say. */
  readonly resumeP95Ms?: number | null;
  /** What else is worth reading. */
  readonly notes?: readonly string[];
}

interface CrashScript {
  /** How many kills, or whatever it counts, by default. */
  readonly kills: number;
  run(folder: string, kills: number, random: (below: number) => number): Promise<Found>;
}

const SCRIPTS: Readonly<Record<string, CrashScript>> = {
  commands: {
    kills: 150,
    async run(folder, kills, random) {
      const { findSandbox } = await import('../../orchestrator/exec/sandbox.ts');
      const { killCommands } = await import('../support/kill-commands.ts');
      const { status } = await findSandbox();
      const note = status.kind === 'none' ? status.reason : 'Commands run in the sandbox.';
      return { result: await killCommands(folder, kills * 2, kills, random), notes: [note] };
    },
  },
  edits: {
    kills: 200,
    async run(folder, kills, random) {
      const { killEdits } = await import('../support/kill-edits.ts');
      const result = await killEdits(folder, kills, random);
      return { result, goals: [atMost('temporary files left over', result.leftOver.length, 0, 'files')] };
    },
  },
  turns: {
    kills: 1000,
    async run(folder, kills, random) {
      const { killTurns, turnsGoals, turnsNotes } = await import('./turns.ts');
      const redisKills = Math.ceil(kills / 25);
      const result = await killTurns(folder, { kills, redisKills, messages: kills * 3 }, random);
      return { result, goals: turnsGoals(result), resumeP95Ms: null, notes: turnsNotes(result) };
    },
  },
  batch: {
    kills: 100,
    async run(_folder, kills, random) {
      const { killWorkers } = await import('../support/kill-workers.ts');
      const setting = { workers: 2, concurrency: 8, watchesMemory: true };
      const found = await killWorkers({ tasks: kills * 100, kills, random, ...setting });
      const { tasks, tookMs, peakBytes, extraRequests } = found;
      const megabytes = Math.round(peakBytes / 2 ** 20);
      return {
        result: { ...found, misordered: 0, resumeMs: [] },
        resumeP95Ms: null,
        goals: [
          atMost(
            'requests to the model beyond those without a crash',
            extraRequests,
            kills * setting.concurrency,
            'requests',
          ),
          atMost('memory of all processes', megabytes, 1024, 'MB'),
          atMost('sessions that are not in their files alone', found.stray, 0, 'sessions'),
        ],
        notes: [`${tasks} tasks, submitted twice, on ${setting.workers} workers in ${Math.round(tookMs / 1000)} s`],
      };
    },
  },
  clock: {
    kills: 30,
    async run(folder, kills, random) {
      const { killTurns, turnsGoals, turnsNotes } = await import('./turns.ts');
      const result = await killTurns(folder, { kills, redisKills: 1, messages: kills * 3, clocksJump: true }, random);
      const note = 'The clocks of the processes jump by an hour, forth and back; that of Redis does not.';
      return { result, goals: turnsGoals(result), resumeP95Ms: null, notes: [note, ...turnsNotes(result)] };
    },
  },
  paths: {
    kills: 5000,
    async run(folder, kills, random) {
      const { killOnPaths, pathsGoals, pathsNotes } = await import('./paths.ts');
      const found = await killOnPaths(folder, kills, random);
      return { goals: pathsGoals(found), notes: pathsNotes(found) };
    },
  },
  resume: {
    kills: 10,
    async run(folder, kills, random) {
      const { resumeGoals, resumeNotes, timeResumes } = await import('./resume.ts');
      const times = await timeResumes(folder, kills, random);
      return { goals: resumeGoals(times), notes: resumeNotes(times) };
    },
  },
  redis: {
    kills: 100,
    async run(folder, kills, random) {
      const { killRedisUnderLoad } = await import('./redis-kills.ts');
      const { goals, acknowledged } = await killRedisUnderLoad(folder, kills, random);
      return { goals, notes: [`${acknowledged} events were acknowledged`] };
    },
  },
  claims: {
    kills: 10_000,
    async run(folder, claims) {
      const { fightForSession } = await import('./redis-kills.ts');
      return { goals: await fightForSession(folder, claims) };
    },
  },
  freeze: {
    kills: 4,
    async run(folder, freezes, random) {
      const { freezeOwners } = await import('./freeze.ts');
      return await freezeOwners(folder, { freezes, edits: freezes * 1200, leaseMs: 4_000 }, random);
    },
  },
  threads: {
    kills: 5,
    async run(folder, times, random) {
      const { loseThreads } = await import('./threads.ts');
      return await loseThreads(folder, times, random);
    },
  },
  netns: {
    kills: 4,
    async run(folder, cuts, random) {
      const { cutOff } = await import('./netns.ts');
      return await cutOff(folder, cuts, random);
    },
  },
  'disk-full': {
    kills: 4,
    async run(folder) {
      const { diskFull } = await import('./disk-full.ts');
      const { goals, told } = await diskFull(folder);
      return {
        goals,
        notes: Object.entries(told).flatMap(([name, lines]) => lines.map((line) => `told ${name}: ${line}`)),
      };
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
const write = (line: string): void => console.log(line);
if (!script || !Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed)) {
  console.error(
    `usage: npm run crash -- NAME [--seed N] [--kills N] [--json]\nNAME is one of: ${Object.keys(SCRIPTS).join(', ')}`,
  );
  process.exitCode = 2;
} else {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-crash-')));
  try {
    const found = await script.run(folder, kills, randomFrom(seed));
    const { result, goals = [], resumeP95Ms = RESUME_P95_MS, notes = [] } = found;
    for (const note of notes) write(note);
    if (result) {
      const report = crashReport(name, seed, kills, result, goals, resumeP95Ms);
      printCrash(report, write);
      if (values.json) write(JSON.stringify(report));
    } else {
      const report = goalReport(name, seed, kills, goals);
      printGoals(report, write);
      if (values.json) write(JSON.stringify(report));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
