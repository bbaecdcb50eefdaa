// bench tui: what the terminal interface costs. A long session that streams, keys while eight subagents stream, and the way from the
// command to a prompt that can be typed at, beside the headless way to the first request.

import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { spawn as spawnInTerminal } from '@lydell/node-pty';
import { startScriptedServer } from '../llm/scripted/server.ts';
import { atMost, type BenchReport, median, report } from './report.ts';

const repository = new URL('..', import.meta.url).pathname;
const launcher = join(repository, 'bin', 'odin.js');

interface Session {
  readonly cpuMs: number;
  readonly bytes: number;
  readonly keyMs: readonly number[];
  readonly rssBytes: number;
}

export async function benchTui(options: { readonly rounds: number }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'odin-bench-tui-'));
  const server = await startScriptedServer({ script: () => ({ text: 'Done.' }) });
  try {
    const project = join(folder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'ODIN.md'), '# Bench\n');
    const sessions: Session[] = [];
    const prompts: number[] = [];
    const headless: number[] = [];
    for (let round = 0; round <= options.rounds; round++) {
      const home = join(folder, `home-${round}`);
      const env = {
        PATH: process.env['PATH'],
        HOME: folder,
        LANG: 'C.UTF-8',
        ANTHROPIC_API_KEY: 'bench',
        ANTHROPIC_BASE_URL: server.url,
      };
      const session = await runSession(home);
      const prompt = await toPrompt(project, { ...env, ODIN_HOME: `${home}-tui`, TERM: 'xterm-256color' });
      const first = await toRequest(project, { ...env, ODIN_HOME: `${home}-run` }, server.requests);
      // The first round fills the caches; nobody's first start is measured.
      if (round === 0) continue;
      sessions.push(session);
      prompts.push(prompt);
      headless.push(first);
    }
    return compare(sessions, prompts, headless);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runSession(home: string): Promise<Session> {
  const child = join(repository, 'bench', 'tui-child.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [child, home]);
  return JSON.parse(stdout) as Session;
}

/** Milliseconds until the line below the editor stands there; then it is left by Ctrl-D. */
async function toPrompt(cwd: string, env: Record<string, string | undefined>): Promise<number> {
  const startedAt = performance.now();
  const args = [launcher, '--model', 'anthropic/scripted'];
  const terminal = spawnInTerminal(process.execPath, args, { cwd, env, cols: 120, rows: 40 });
  const { promise: shown, resolve } = Promise.withResolvers<number>();
  let output = '';
  terminal.onData((data) => {
    output += data;
    if (output.includes('Shift-Tab mode')) resolve(performance.now() - startedAt);
  });
  const ended = new Promise<void>((done) => terminal.onExit(() => done()));
  void ended.then(() => resolve(Number.NaN));
  const took = await shown;
  terminal.write('\u0004');
  await ended;
  if (Number.isNaN(took)) throw new Error(`the interface ended before its prompt: ${output}`);
  return took;
}

async function toRequest(
  cwd: string,
  env: NodeJS.ProcessEnv,
  requests: readonly { readonly arrivedAt: bigint }[],
): Promise<number> {
  const before = requests.length;
  const startedAt = process.hrtime.bigint();
  const args = [launcher, 'run', 'Say that you are done.', '--mode', 'ask', '--model', 'anthropic/scripted'];
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore' });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  const first = requests[before];
  if (code !== 0 || first === undefined) throw new Error(`odin run ended with ${code}`);
  return Number(first.arrivedAt - startedAt) / 1e6;
}

function compare(sessions: readonly Session[], prompts: readonly number[], headless: readonly number[]): BenchReport {
  const of = (values: readonly number[]) => median(values) as number;
  const worst = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
  const cpuMs = of(sessions.map((one) => one.cpuMs));
  const megabytes = of(sessions.map((one) => one.bytes)) / 1e6;
  const keyMs = of(sessions.map((one) => worst(one.keyMs)));
  const figures = [
    { name: 'CPU for 5 KB of Markdown', unit: 'ms', odin: cpuMs, floor: null },
    { name: 'output for it', unit: 'MB', odin: megabytes, floor: null },
    { name: 'a key shown (p95)', unit: 'ms', odin: keyMs, floor: null },
    { name: 'memory after it', unit: 'MB', odin: of(sessions.map((one) => one.rssBytes)) / 2 ** 20, floor: null },
    { name: 'start to prompt, to first request', unit: 'ms', odin: of(prompts), floor: of(headless) },
  ];
  return report('tui', figures, [
    atMost('CPU time', cpuMs, 800, 'ms'),
    atMost('output', megabytes, 0.5, 'MB'),
    atMost('a key shown', keyMs, 30, 'ms'),
    atMost('start against the headless one', of(prompts) / of(headless), 1.5, 'times'),
  ]);
}
