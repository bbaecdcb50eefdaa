// An owner of commands that is killed at any moment: for each it journals intent and result in a plain file. Started again, it
// first learns what became of the command whose result is missing.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { commandIntentOf } from '../../orchestrator/exec/command-intent.ts';
import { openCommands } from '../../orchestrator/exec/commands.ts';
import type { Json } from '../../shared/json.ts';
import { must } from './files-bench.ts';

export interface CommandCrashOrder {
  readonly root: string;
  readonly home: string;
  readonly journal: string;
  readonly commands: number;
}

export interface CommandLine {
  readonly n: number;
  readonly intent?: Json;
  /** How the result became known. */
  readonly done?: 'ran' | 'before' | 'attached' | 'ran now' | 'never ran' | 'unknown';
  readonly exitCode?: number;
  readonly output?: string;
}

const order = JSON.parse(process.argv[2] ?? '') as CommandCrashOrder;
const { root, home, journal } = order;
const signal = new AbortController().signal;
const append = (line: CommandLine) => appendFileSync(journal, `${JSON.stringify(line)}\n`);
const commands = openCommands({ root, home, userHome: homedir(), env: process.env, closing: signal });
const port = commands.portFor('session');

const lines = existsSync(journal)
  ? readFileSync(journal, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as CommandLine)
  : [];
let next = lines.filter((line) => line.done).length;
const intent = commandIntentOf(lines.findLast((line) => line.n === next && line.intent)?.intent ?? null);
if (intent) {
  const resumed = await commands.resume('session', intent, signal);
  if (resumed.kind === 'ended') {
    const { exitCode, output } = resumed.result;
    append({ n: next++, done: resumed.how, exitCode, output: output.head });
  } else append({ n: next++, done: resumed.kind });
  process.stdout.write('resumed\n');
}
process.stdout.write('ready\n');

const intend = (n: number, intent: Json) => {
  append({ n, intent });
  process.stdout.write('intended\n');
};

for (; next < order.commands; next++) {
  const n = next;
  const result = must(
    await port.run(
      {
        command: `echo ${n} >> effects; sleep 0.0${n % 4}; echo out ${n}; exit ${n % 5}`,
        cwd: root,
        timeoutMs: 20_000,
        profile: 'read-write',
        network: false,
        extraPaths: [],
        opKey: `1.1.${n}`,
      },
      { signal, onOutput: () => {}, intend: async (intent) => intend(n, intent) },
    ),
  );
  append({ n, done: 'ran', exitCode: result.exitCode, output: result.output.head });
}
