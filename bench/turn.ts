// bench turn: Odin beside a bare loop on the same SDK, against the same scripted server that answers at once: 30 turns, one
// small file read in each. Both are started as processes, alternately, on the same pinned Node.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordedRequest } from '../llm/scripted/server.ts';
import { startScriptedServer } from '../llm/scripted/server.ts';
import { watchTree } from './process-tree.ts';
import { atMost, type BenchReport, median, report } from './report.ts';

const TURNS = 30;
const PROMPT = 'Read the thirty files and say that you are done.';
const repository = new URL('..', import.meta.url).pathname;

interface Run {
  readonly startupMs: number;
  readonly gapMs: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly firstRequestBytes: number;
  readonly connections: number;
  /** Null when every request begins with the whole one before it; else where the first break is. */
  readonly prefixBreak: string | null;
}

/** Runs both `rounds` times and takes the medians. */
export async function benchTurn(options: { readonly rounds: number }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'odin-bench-turn-'));
  try {
    const project = join(folder, 'project');
    mkdirSync(project);
    for (let i = 0; i < TURNS; i++)
      writeFileSync(join(project, `file-${i}.txt`), `file ${i}\n${'some text\n'.repeat(40)}`);
    const odin: Run[] = [];
    const bare: Run[] = [];
    for (let round = 0; round <= options.rounds; round++) {
      const bareRun = await run((url) => bareCommand(url, project), '');
      const home = join(folder, `home-${round}`);
      const odinRun = await run((url) => odinCommand(url, project, home), home);
      // The first round fills the compile cache and the disk's; nobody's first start is measured.
      if (round > 0) {
        bare.push(bareRun);
        odin.push(odinRun);
      }
    }
    return compare(odin, bare);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

const plainEnv = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], HOME: process.env['HOME'], LANG: 'C.UTF-8' });

const bareCommand = (url: string, project: string): Command => ({
  args: [join(repository, 'bench', 'bare-loop.ts'), url, project, PROMPT],
  cwd: project,
  env: plainEnv(),
});

const odinCommand = (url: string, project: string, home: string): Command => ({
  args: [
    join(repository, 'bin', 'odin.js'),
    'run',
    PROMPT,
    '--mode',
    'ask',
    '--model',
    'anthropic/scripted',
    '--max-steps',
    '99',
  ],
  cwd: project,
  env: { ...plainEnv(), ODIN_HOME: home, ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: url },
});

async function run(command: (url: string) => Command, marker: string): Promise<Run> {
  const answeredAt: bigint[] = [];
  const server = await startScriptedServer({
    script: ({ requestIndex }) =>
      requestIndex < TURNS
        ? { toolCalls: [{ name: 'ReadFile', args: { file_path: `file-${requestIndex}.txt` } }] }
        : { text: 'Done.' },
    onAnswered: () => void answeredAt.push(process.hrtime.bigint()),
  });
  try {
    const { args, cwd, env } = command(server.url);
    const startedAt = process.hrtime.bigint();
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const tree = watchTree(child.pid as number, marker);
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    const usage = tree.stop();
    if (code !== 0 || !output.includes('Done.') || server.requests.length !== TURNS + 1) {
      throw new Error(`${args[0]} ended with ${code} after ${server.requests.length} requests: ${output}${errors}`);
    }
    return measure(server.requests, answeredAt, startedAt, usage, server.connections());
  } finally {
    await server.close();
  }
}

function measure(
  requests: readonly RecordedRequest[],
  answeredAt: readonly bigint[],
  startedAt: bigint,
  usage: { readonly cpuMs: number; readonly peakBytes: number },
  connections: number,
): Run {
  const first = requests[0] as RecordedRequest;
  const gaps = requests.slice(1).map((request, i) => Number(request.arrivedAt - (answeredAt[i] as bigint)) / 1e6);
  return {
    startupMs: Number(first.arrivedAt - startedAt) / 1e6,
    gapMs: median(gaps) as number,
    firstRequestBytes: Buffer.byteLength(first.body),
    prefixBreak: findPrefixBreak(requests.map((request) => request.body)),
    connections,
    ...usage,
  };
}

/** Each body without its closing brackets must be the beginning of the next one. */
function findPrefixBreak(bodies: readonly string[]): string | null {
  for (let i = 1; i < bodies.length; i++) {
    const open = (bodies[i - 1] as string).replace(/[\]}]+$/, '');
    const next = bodies[i] as string;
    if (next.startsWith(open)) continue;
    const at = [...open].findIndex((char, k) => next[k] !== char);
    return `request ${i} differs at byte ${at}: ${JSON.stringify(next.slice(Math.max(0, at - 30), at + 30))}`;
  }
  return null;
}

function compare(odin: readonly Run[], bare: readonly Run[]): BenchReport {
  const of = (runs: readonly Run[], key: 'startupMs' | 'gapMs' | 'cpuMs' | 'peakBytes' | 'firstRequestBytes') =>
    median(runs.map((one) => one[key])) as number;
  const ratio = (key: 'startupMs' | 'cpuMs' | 'peakBytes') => of(odin, key) / of(bare, key);
  const prefixBreaks = odin.flatMap((one) => one.prefixBreak ?? []);
  for (const found of prefixBreaks.slice(0, 1)) process.stderr.write(`${found}\n`);
  const figures = [
    { name: 'start-up to first request', unit: 'ms', odin: of(odin, 'startupMs'), floor: of(bare, 'startupMs') },
    { name: 'gap between answer and next request', unit: 'ms', odin: of(odin, 'gapMs'), floor: of(bare, 'gapMs') },
    { name: 'CPU time', unit: 'ms', odin: of(odin, 'cpuMs'), floor: of(bare, 'cpuMs') },
    {
      name: 'peak memory of the process tree',
      unit: 'MB',
      odin: of(odin, 'peakBytes') / 2 ** 20,
      floor: of(bare, 'peakBytes') / 2 ** 20,
    },
    { name: 'first request', unit: 'bytes', odin: of(odin, 'firstRequestBytes'), floor: of(bare, 'firstRequestBytes') },
  ];
  return report('turn', figures, [
    atMost('start-up against the bare loop', ratio('startupMs'), 1.5, 'times'),
    atMost('gap over the bare loop', of(odin, 'gapMs') - of(bare, 'gapMs'), 2, 'ms'),
    atMost('CPU against the bare loop', ratio('cpuMs'), 2, 'times'),
    atMost('memory against the bare loop', ratio('peakBytes'), 1.5, 'times'),
    atMost('first request', of(odin, 'firstRequestBytes'), 10_240, 'bytes'),
    atMost('prompts that do not begin with the one before', prefixBreaks.length, 0, 'runs'),
    atMost('TCP connections to the model', Math.max(...odin.map((one) => one.connections)), 1, 'connections'),
  ]);
}
