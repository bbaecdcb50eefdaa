// What subagents cost that wait for their model (DURABILITY 15 #22): memory and processor time at 1, 10, 100 and 500 of them, each count in a
// process of its own. The floor is one agent: the thread with its SDK, which the others share.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { WaitingAgents } from '../test/support/agents-bench.ts';
import { atMost, type BenchReport, type Figure, report } from './report.ts';

const COUNTS = [1, 10, 100, 500] as const;
const MEGABYTE = 1_000_000;

export async function benchAgents(): Promise<BenchReport> {
  const measured: WaitingAgents[] = [];
  for (const count of COUNTS) measured.push(await measureApart(count));
  const [one] = measured;
  const most = measured.at(-1) ?? null;
  const figures: Figure[] = measured.flatMap((all) => [
    {
      name: `memory over base, ${all.agents} agents`,
      unit: 'MB',
      odin: all.extraBytes / MEGABYTE,
      floor: one ? one.extraBytes / MEGABYTE : null,
    },
    { name: `all at their model, ${all.agents} agents`, unit: 'ms', odin: all.upMs, floor: one?.upMs ?? null },
    {
      name: `processor while waiting, ${all.agents} agents`,
      unit: '%',
      odin: 100 * all.cpuShare,
      floor: one ? 100 * one.cpuShare : null,
    },
  ]);
  return report('agents', figures, [
    atMost('memory of 500 waiting agents', most && most.extraBytes / MEGABYTE, 150, 'MB'),
    atMost('processor of 500 waiting agents', most && 100 * most.cpuShare, 1, '%'),
  ]);
}

async function measureApart(count: number): Promise<WaitingAgents> {
  const module = new URL('../test/support/agents-bench.ts', import.meta.url).href;
  const code = `const { measureWaitingAgents } = await import(${JSON.stringify(module)}); console.log(JSON.stringify(await measureWaitingAgents(${count}))); process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
  return JSON.parse(stdout) as WaitingAgents;
}
