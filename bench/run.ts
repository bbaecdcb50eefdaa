// `npm run bench -- NAME [--json] [--rounds N]`: runs one benchmark, prints its table, and with --json one object as last line.

import { parseArgs } from 'node:util';
import { type BenchReport, printTable } from './report.ts';

const BENCHES: Readonly<Record<string, (options: { readonly rounds: number }) => Promise<BenchReport>>> = {
  agents: async () => (await import('./agents.ts')).benchAgents(),
  commands: async (options) => (await import('./commands.ts')).benchCommands(options),
  context: async (options) => (await import('./context.ts')).benchContext(options),
  dashboard: async (options) => (await import('./dashboard.ts')).benchDashboard(options),
  files: async (options) => (await import('./files.ts')).benchFiles(options),
  fleet: async () => (await import('./fleet.ts')).benchFleet(),
  queue: async (options) => (await import('./queue.ts')).benchQueue(options),
  tui: async (options) => (await import('./tui.ts')).benchTui(options),
  turn: async (options) => (await import('./turn.ts')).benchTurn(options),
  web: async (options) => (await import('./web.ts')).benchWeb(options),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string', default: '7' } },
});
const bench = BENCHES[positionals[0] ?? ''];
const rounds = Number(values.rounds);
if (!bench || !Number.isInteger(rounds) || rounds < 1) {
  console.error(
    `usage: npm run bench -- NAME [--rounds N] [--json]\nNAME is one of: ${Object.keys(BENCHES).join(', ')}`,
  );
  process.exitCode = 2;
} else {
  const result = await bench({ rounds });
  printTable(result, (line) => console.log(line));
  if (values.json) console.log(JSON.stringify(result));
}
