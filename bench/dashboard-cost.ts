// What a dashboard that is looked at costs the process that runs the turns, and the Redis that both use: the same messages without one, with
// one and a reader of it, and with its page in Chromium on the same processors, in turns in the same run. What a dashboard does itself is
// told apart from what its reader does, who would be elsewhere.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ModelPair } from '../orchestrator/api.ts';
import { keys, workspaceId } from '../orchestrator/keys.ts';
import { openOdin } from '../orchestrator/odin.ts';
import { connectRedis, type OdinRedis } from '../orchestrator/redis.ts';
import { NO_USAGE } from '../shared/messages.ts';
import { ok } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';
import { hasBrowser, openBrowser } from '../test/support/browser.ts';
import { type BenchServer, startServer } from './dashboard-server.ts';
import { median } from './report.ts';

/** Fewer than those above which the oldest leave Redis: that would be measured too. */
const SESSIONS = 150;
const MESSAGES = 40;
const MODEL_MS = 5;

/** Nobody; a reader of the list and of one session; the page in a browser on this machine. */
const WATCHERS = ['nobody', 'reader', 'page'] as const;
type Watcher = (typeof WATCHERS)[number];

export interface Turn {
  /** Milliseconds of the whole, for each message. */
  readonly wholeMs: number;
  /** Of the orchestrator, of Redis and of the dashboard, for each message. */
  readonly ownMs: number;
  readonly redisMs: number;
  readonly serverMs: number;
}

/** Of each kind of watcher one run a round, in the order of the rounds. Empty: there is no browser. */
export type Cost = Readonly<Record<Watcher, readonly Turn[]>>;

/** A round before them only warms up. */
export async function measureCost(rounds: number): Promise<Cost> {
  const runs: Record<Watcher, Turn[]> = { nobody: [], reader: [], page: [] };
  const watchers = WATCHERS.filter((watcher) => watcher !== 'page' || hasBrowser);
  await run('nobody');
  for (let round = 0; round < rounds; round++) {
    // In another order each time, so that none is always the one after the heaviest.
    for (let i = 0; i < watchers.length; i++) {
      const watcher = watchers[(i + round) % watchers.length] ?? 'nobody';
      runs[watcher].push(await run(watcher));
    }
  }
  return runs;
}

/** Of all rounds. */
export const middle = (turns: readonly Turn[], figure: keyof Turn): number | null =>
  median(turns.map((turn) => turn[figure]));

/**
 * What a watched run takes of this, over the run of the same round that nobody watches: the median of all rounds, and how far they are apart.
 * A machine that is faster in one minute than in the next is the same for both.
 */
export function timesOf(cost: Cost, watcher: Watcher, figure: keyof Turn) {
  const times = cost[watcher].map((turn, round) => turn[figure] / (cost.nobody[round]?.[figure] ?? Number.NaN));
  return { times: median(times), spread: Math.max(...times) - Math.min(...times) };
}

/** A home of its own each time, so that the one has no more sessions than the other. */
async function run(watcher: Watcher): Promise<Turn> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-bench-cost-')));
  const [home, cwd] = [join(folder, 'home'), join(folder, 'project')];
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'ODIN.md'), '# Bench\n');
  const handle = await connectRedis({ home, notice: () => {} });
  const owner = await openOdin({ cwd, home, models: models() });
  const sids = Array.from({ length: SESSIONS }, () => owner.newSession());
  const { pending } = keys.workspace(workspaceId(owner.root, handle.scope));
  const message = async (n: number, to: readonly string[]): Promise<unknown> =>
    Promise.all(to.map((sid) => owner.submit(sid, { mode: 'ask', body: `message ${n}` })));
  // Every session is there when the watching begins.
  await message(1, sids);
  await allDone(handle.client, pending);
  const server = watcher === 'nobody' ? null : await startServer(home, cwd);
  const leave = server === null ? async () => {} : await watch(watcher, server, sids);
  // Also without one: what this process does when it rests is done before the count begins.
  await delay(SETTLE_MS);
  try {
    const before = await spent(handle.client, server);
    const since = performance.now();
    for (let n = 2; n <= 1 + MESSAGES; n++) await message(n, sids);
    await allDone(handle.client, pending);
    const seconds = (performance.now() - since) / 1000;
    const after = await spent(handle.client, server);
    const messages = SESSIONS * MESSAGES;
    return {
      wholeMs: (1000 * seconds) / messages,
      ownMs: (after.ownMs - before.ownMs) / messages,
      redisMs: (after.redisMs - before.redisMs) / messages,
      serverMs: (after.serverMs - before.serverMs) / messages,
    };
  } finally {
    try {
      await leave();
    } finally {
      await server?.stop();
      await owner.close();
      await handle.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** Returns what ends it. Resolves when the watching is under way. */
async function watch(watcher: Watcher, server: BenchServer, sids: readonly string[]): Promise<() => Promise<void>> {
  if (watcher === 'page') {
    const browser = await openBrowser();
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(server.link);
    await page.getByText(`${sids.length} sessions`).waitFor();
    await page.locator('a.session').first().click();
    await page.getByText('live', { exact: true }).waitFor();
    return () => browser.close();
  }
  const script = fileURLToPath(new URL('dashboard-reader.ts', import.meta.url));
  const reader = spawn(process.execPath, [script, server.link, sids[0] ?? '', sids.join()], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(reader.stdout, 'data');
  return () => ended(reader);
}

/** What was there before is read. */
const SETTLE_MS = 2_000;

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) throw new Error(`The reader has ended by itself (${child.exitCode}).`);
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

async function spent(redis: OdinRedis, server: BenchServer | null) {
  const { user, system } = process.cpuUsage();
  const info = await redis.info('cpu');
  const seconds = ['user', 'sys'].map((kind) => Number(new RegExp(`^used_cpu_${kind}:(\\S+)`, 'm').exec(info)?.[1]));
  return {
    ownMs: (user + system) / 1000,
    redisMs: 1000 * seconds.reduce((a, b) => a + b, 0),
    serverMs: server === null ? 0 : 1000 * cpuOf(server.pid),
  };
}

/** Seconds of processor time of a process. */
export function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field may hold spaces; user and system time are the 14th and the 15th, in ticks of 10 ms.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** By the workspace: a session that is done may have moved to its file. */
async function allDone(redis: OdinRedis, pending: string): Promise<void> {
  while ((await redis.scard(pending)) > 0) await delay(20);
}

function models(): ModelPair {
  const provider: ModelProvider = {
    name: 'bench',
    async stream(_request, { ready }) {
      await ready;
      await delay(MODEL_MS);
      const usage = { ...NO_USAGE, input: 100, output: 2 };
      return ok({ parts: [{ type: 'text', text: 'Done.' }], stop: 'end', usage, model: 'bench' });
    },
    listModels: async () => ok([]),
  };
  return { model: 'bench/bench', smallModel: 'bench/bench', provider: async () => provider };
}
