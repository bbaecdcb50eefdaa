// A batch on real `odin worker` processes that are killed at seeded moments (DURABILITY 15 #19): the moments are counts of requests to the
// model, so that a seed gives the same kills on any machine. Every file of tasks is submitted twice.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { watchTree } from '../../bench/process-tree.ts';
import type { Script } from '../../llm/scripted/script.ts';
import { archivePath } from '../../orchestrator/archive-file.ts';
import { keys } from '../../orchestrator/keys.ts';
import { type BatchWorld, withBatchWorld } from './batch-world.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/odin.js', import.meta.url));

export interface WorkersResult {
  readonly tasks: number;
  readonly kills: number;
  /** Tasks without a completed result, or whose patch lacks their line. */
  readonly lost: number;
  /** Tasks whose file was written twice, or whose message ended twice. */
  readonly doubled: number;
  /** Tasks whose journal could not be read. */
  readonly unknown: number;
  /** Tasks whose session is not only in its file, as it is to be when all workers have left. */
  readonly stray: number;
  /** Requests beyond those that tasks without crashes make. */
  readonly extraRequests: number;
  readonly peakBytes: number;
  readonly tookMs: number;
}

export interface KillWorkers {
  readonly tasks: number;
  readonly kills: number;
  readonly workers: number;
  readonly concurrency: number;
  readonly random: (below: number) => number;
  /** Sums up the memory of all processes, this one and Redis too. */
  readonly watchesMemory?: boolean;
}

/** Each task writes a file with its own line, once. */
const script: Script = ({ userText, stepOfMessage }) => {
  const name = /write (\S+)/.exec(userText)?.[1] ?? 'none';
  if (stepOfMessage > 0) return { text: 'Done.', delayMs: 20 };
  const args = { file_path: `${name}.txt`, content: `line of ${name}\n` };
  return { toolCalls: [{ name: 'WriteFile', args }], delayMs: 20 };
};

export async function killWorkers(options: KillWorkers): Promise<WorkersResult> {
  return withBatchWorld(script, async (world) => {
    const tasks = Array.from({ length: options.tasks }, (_, i) => ({
      id: `t${i}`,
      prompt: `write t${i}`,
      mode: 'edit',
    }));
    const { bid } = await world.submit(tasks);
    await world.submit(tasks);
    const startedAt = performance.now();
    const { kills, peakBytes } = await runAndKill(world, bid, options);
    const tookMs = performance.now() - startedAt;
    const extraRequests = world.server.requests.length - 2 * options.tasks;
    return { tasks: options.tasks, kills, peakBytes, tookMs, extraRequests, ...(await audit(world, bid, tasks)) };
  });
}

async function runAndKill(world: BatchWorld, bid: string, options: KillWorkers) {
  const { tasks, workers, random } = options;
  const moments = Array.from({ length: options.kills }, () => 1 + random(Math.max(1, 2 * tasks - 20))).toSorted(
    (a, b) => a - b,
  );
  const running = Array.from({ length: workers }, () => startWorker(world, options.concurrency));
  let kills = 0;
  const memory = options.watchesMemory ? watchTree(process.pid, world.home, 250) : null;
  let over = false;
  const ended = world.ended(bid).finally(() => {
    over = true;
  });
  while (!over) {
    const moment = moments[0];
    if (moment !== undefined && world.server.requests.length >= moment) {
      moments.shift();
      const at = random(workers);
      const victim = running[at] as ChildProcess;
      victim.kill('SIGKILL');
      await once(victim, 'exit');
      kills += 1;
      running[at] = startWorker(world, options.concurrency);
    }
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5))]);
  }
  await ended;
  const peakBytes = memory?.stop().peakBytes ?? 0;
  await Promise.all(
    running.map(async (child) => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }),
  );
  return { kills, peakBytes };
}

/** A worker as a user starts it. */
export function startWorker(world: BatchWorld, concurrency: number, more: NodeJS.ProcessEnv = {}): ChildProcess {
  const { ODIN_HOME: _home, REDIS_URL: _redis, ...env } = process.env;
  return spawn(
    process.execPath,
    [LAUNCHER, 'worker', '--concurrency', String(concurrency), '--drain', '5', '--model', 'anthropic/scripted'],
    {
      cwd: world.project,
      env: { ...env, ODIN_HOME: world.home, ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: world.server.url, ...more },
      stdio: ['ignore', 'ignore', process.env['ODIN_TEST_SHOW'] ? 'inherit' : 'ignore'],
    },
  );
}

async function audit(world: BatchWorld, bid: string, tasks: readonly { readonly id: string }[]) {
  let lost = 0;
  let doubled = 0;
  let unknown = 0;
  let stray = 0;
  const results = await world.store.results(
    bid,
    tasks.map(({ id }) => id),
  );
  for (const [i, { id }] of tasks.entries()) {
    const result = results[i];
    const patch = (await world.store.patch(bid, id)) ?? '';
    const lines = patch.split(`+line of ${id}\n`).length - 1;
    if (result?.status !== 'completed' || result.files.join() !== `${id}.txt` || lines !== 1) lost += 1;
    const { meta, log } = keys.session(result?.session ?? '');
    if (!result?.session || (await world.handle.client.exists(meta, log)) > 0) stray += 1;
    const ends = result?.session ? await endsIn(world, result.session) : null;
    if (ends === null) unknown += 1;
    else if (ends.messages !== 1 || ends.writes !== 1) {
      doubled += 1;
      process.stderr.write(`task ${id}, session ${result?.session}: ${JSON.stringify(ends)}\n`);
    }
  }
  const { counts } = await world.ended(bid);
  const sum = Object.values(counts).reduce((all, count) => all + count, 0);
  return { lost, doubled: doubled + Math.abs(sum - tasks.length), unknown, stray };
}

/** What the journal of a task's session says: its archive, else Redis. Null when there is none. */
async function endsIn(
  { home, handle }: BatchWorld,
  sid: string,
): Promise<{ readonly messages: number; readonly writes: number } | null> {
  const archived = await readFile(archivePath(home, sid), 'utf8').catch(() => '');
  const entries = archived === '' ? await handle.client.xrange(keys.session(sid).log, '-', '+') : [];
  const text = archived || entries.map(([, fields]) => fields[1]).join('\n');
  if (text === '') return null;
  const count = (what: RegExp) => text.match(what)?.length ?? 0;
  return { messages: count(/\\?"type\\?":\\?"msg\.done\\?"/g), writes: count(/\\?"type\\?":\\?"tool\.done\\?"/g) };
}
