// bench commands: a command through Odin's port (intent, shim, sandbox or none, output, result) beside a bare `bash -c true`,
// in turns in one run; and decide() over the table of commands. Without bubblewrap the sandboxed figures are not taken. As in use, where
// an answer of the model lies between two commands, the shim and the sandbox of the next one are made while nothing runs. The
// sandbox of a first command, or of one with more than the others, is made for it: that figure is taken too.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandEnv } from '../orchestrator/exec/command-env.ts';
import { type Confinement, type FoundSandbox, findSandbox } from '../orchestrator/exec/sandbox.ts';
import { openExecBench, UNCONFINED } from '../test/support/exec-bench.ts';
import { readCases } from '../test/tools/safety/cases.ts';
import { decide } from '../tools/safety/decide.ts';
import { atMost, type BenchReport, median, report } from './report.ts';

/** A median of fewer is not one to judge by. */
const MIN_COMMANDS = 60;
const COMMANDS_A_ROUND = 10;
/** Decisions of one command in a row, so that a sample is long beside the clock's grain. */
const DECISIONS = 20;
/** For the machine to come to rest: what one command leaves to do is not part of the next one's time. */
const PAUSE_MS = 20;
const PATIENCE_MS = 1_000;
/** The compiler needs a few to settle. */
const WARM_UP = 3;

/** Runs `rounds` times ten commands of each kind, 60 at least. `found` is this machine's sandbox. */
export async function benchCommands(options: { readonly rounds: number }, found?: FoundSandbox): Promise<BenchReport> {
  const { status, sandbox } = found ?? (await findSandbox());
  const count = Math.max(MIN_COMMANDS, options.rounds * COMMANDS_A_ROUND);
  const times = await commandTimes(count, sandbox === null ? null : { status, sandbox });
  const bare = median(times.bare) as number;
  const unconfined = median(times.unconfined) as number;
  const sandboxed = median(times.sandboxed);
  const perDecision = decisionTimes(options.rounds);
  const reason = status.kind === 'none' ? status.reason : undefined;
  return report(
    'commands',
    [
      { name: 'command in the sandbox', unit: 'ms', odin: sandboxed, floor: bare },
      {
        name: 'in one made for it, over bubblewrap',
        unit: 'ms',
        odin: median(times.cold),
        floor: median(times.bubblewrap),
      },
      { name: 'command without a sandbox', unit: 'ms', odin: unconfined, floor: bare },
      { name: 'decide, median command', unit: 'µs', odin: median(perDecision), floor: null },
      { name: 'decide, slowest command', unit: 'µs', odin: Math.max(...perDecision), floor: null },
    ],
    [
      atMost('sandboxed over bare', sandboxed === null ? null : sandboxed - bare, 10, 'ms', reason),
      atMost('decide, median command', median(perDecision), 50, 'µs'),
    ],
  );
}

async function commandTimes(count: number, found: FoundSandbox | null) {
  const unconfined = openExecBench(UNCONFINED);
  const sandboxed = found === null ? null : openExecBench(found);
  const cold = found === null ? null : openExecBench(found);
  const wrapped = sandboxed && found?.sandbox ? found.sandbox(TRUE, confinement(sandboxed.root)) : null;
  const times = {
    bare: [] as number[],
    bubblewrap: [] as number[],
    unconfined: [] as number[],
    sandboxed: [] as number[],
    cold: [] as number[],
  };
  try {
    for (let n = -WARM_UP; n < count; n++) {
      const bare = await timed(() => ended(TRUE));
      const alone = wrapped && (await timed(() => ended(wrapped)));
      const free = await timed(() => unconfined.run('true'));
      const made = cold && (await timed(() => cold.run('true', { extraPaths: [{ path: cold.base, access: 'read' }] })));
      const confined = sandboxed && (await timed(() => sandboxed.run('true')));
      if (sandboxed) await sandboxWaits(sandboxed.home);
      if (n < 0) continue;
      times.bare.push(bare);
      times.unconfined.push(free);
      if (alone !== null) times.bubblewrap.push(alone);
      if (made !== null) times.cold.push(made);
      if (confined !== null) times.sandboxed.push(confined);
    }
  } finally {
    await unconfined.close();
    await sandboxed?.close();
    await cold?.close();
  }
  return times;
}

const TRUE = ['/bin/bash', '-c', 'true'] as const;

/** As the port confines a command in an empty project. */
const confinement = (root: string): Confinement => ({
  ...{ root, cwd: root, profile: 'read-write', network: false, extraPaths: [], hidden: [], gitConfig: null },
  ...{ home: homedir(), env: commandEnv(process.env, 'read-write', 'bench') },
});

const ended = ([file, ...args]: readonly string[]) => once(spawn(file as string, args, { stdio: 'ignore' }), 'exit');

/** Else it would be made while something else is timed. What stands in the project for it is moved here last. */
async function sandboxWaits(home: string): Promise<void> {
  const waits = () => readdirSync(join(home, 'commands')).some((name) => /^warm-.*\.odin$/.test(name));
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end && !waits(); ) await delay(1);
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  await delay(PAUSE_MS);
  const start = performance.now();
  await action();
  return performance.now() - start;
}

/** Microseconds a decision, for each command of the table: the median of the rounds. */
function decisionTimes(rounds: number): readonly number[] {
  const cases = readCases('commands.tsv');
  const samples = cases.map(() => [] as number[]);
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [at, { command, facts }] of cases.entries()) {
      const start = performance.now();
      for (let n = 0; n < DECISIONS; n++) decide(command, facts);
      if (round >= 0) samples[at]?.push(((performance.now() - start) * 1_000) / DECISIONS);
    }
  }
  return samples.map((sample) => median(sample) as number);
}
