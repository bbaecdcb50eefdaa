// What a dashboard that is looked at costs the process that runs the turns, and the Redis that both use: the same messages with one and a
// reader of it, or its page in Chromium on the same processors; with that dashboard standing still; and with it standing still and another
// process that takes as much of a processor and has nothing to do with Odin (busy-process.ts). In turns, in the same process.

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

/** Fewer than those above which the oldest leave Redis: that would be measured too. */
const SESSIONS = 150;
/** Of each session in one stretch. */
const MESSAGES = 12;
/** Of each kind in a round. */
const STRETCHES = 8;
const MODEL_MS = 5;

/** A reader of the list and of one session; the page in a browser on this machine. */
const WATCHERS = ['reader', 'page'] as const;
type Watcher = (typeof WATCHERS)[number];

/** Milliseconds for each message. */
export interface Stretch {
  readonly wholeMs: number;
  /** Processor time of the orchestrator, of Redis and of the dashboard. */
  readonly ownMs: number;
  readonly redisMs: number;
  readonly serverMs: number;
}

const KINDS = ['watched', 'busy', 'alone'] as const;
type Kind = (typeof KINDS)[number];

/** One stretch of each kind, one after the other. */
type Group = Readonly<Record<Kind, Stretch>>;

/** Empty: there is no browser. */
export type Cost = Readonly<Record<Watcher, readonly Group[]>>;

export async function measureCost(rounds: Readonly<Record<Watcher, number>>): Promise<Cost> {
  const groups: Record<Watcher, Group[]> = { reader: [], page: [] };
  for (const watcher of WATCHERS) {
    if (watcher === 'page' && !hasBrowser) continue;
    for (let round = 0; round < rounds[watcher]; round++) groups[watcher].push(...(await run(watcher)));
  }
  return groups;
}

/** The mean of all stretches of a kind. */
export const middle = (groups: readonly Group[], kind: Kind, figure: keyof Stretch): number | null =>
  mean(groups.map((group) => group[kind][figure]));

/** What a stretch of one kind takes, over the one of another beside it: the mean of all groups, and its standard error. */
export function timesOf(groups: readonly Group[], figure: keyof Stretch, kind: Kind, over: Kind) {
  const times = groups.map((group) => group[kind][figure] / group[over][figure]);
  const middle = mean(times);
  if (middle === null) return { times: null, error: null };
  const squares = times.reduce((sum, one) => sum + (one - middle) ** 2, 0);
  return { times: middle, error: Math.sqrt(squares / (times.length - 1) / times.length) };
}

const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;

/** A home of its own each time: a session that has had thousands of messages is another thing to run. */
async function run(watcher: Watcher): Promise<readonly Group[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-bench-cost-')));
  const [home, cwd] = [join(folder, 'home'), join(folder, 'project')];
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'ODIN.md'), '# Bench\n');
  const handle = await connectRedis({ home, notice: () => {} });
  const owner = await openOdin({ cwd, home, models: models() });
  const sids = Array.from({ length: SESSIONS }, () => owner.newSession());
  const { pending } = keys.workspace(workspaceId(owner.root, handle.scope));
  const message = async (): Promise<unknown> =>
    Promise.all(sids.map((sid) => owner.submit(sid, { mode: 'ask', body: 'What is new?' })));
  // Every session is there when the watching begins.
  await message();
  await allDone(handle.client, pending);
  const server = await startServer(home, cwd);
  const leave = await watch(watcher, server, sids);
  let busy: ChildProcess | null = null;
  const stretch = async (kind: Kind): Promise<Stretch> => {
    process.kill(server.pid, kind === 'watched' ? 'SIGCONT' : 'SIGSTOP');
    busy?.kill(kind === 'busy' ? 'SIGCONT' : 'SIGSTOP');
    // What has come together meanwhile is read first: it is of the other kind.
    await delay(SETTLE_MS);
    const before = await spent(handle.client, server);
    const since = performance.now();
    for (let n = 0; n < MESSAGES; n++) await message();
    await allDone(handle.client, pending);
    const wholeMs = performance.now() - since;
    const after = await spent(handle.client, server);
    const each = (ms: number): number => ms / (SESSIONS * MESSAGES);
    return {
      wholeMs: each(wholeMs),
      ownMs: each(after.ownMs - before.ownMs),
      redisMs: each(after.redisMs - before.redisMs),
      serverMs: each(after.serverMs - before.serverMs),
    };
  };
  const letGo = () => process.kill(server.pid, 'SIGCONT');
  process.once('exit', letGo);
  try {
    // To warm up, and to see what the other process is to take.
    await stretch('alone');
    const { serverMs, wholeMs } = await stretch('watched');
    busy = await startBusy((100 * serverMs) / wholeMs);
    const groups: Group[] = [];
    for (let i = 0; i < STRETCHES; i++) {
      const group: Partial<Record<Kind, Stretch>> = {};
      // In another order each time, so that what grows with each of them is the same for all.
      const order = KINDS.map((_, at) => KINDS[(i + at) % KINDS.length] ?? 'alone');
      for (const kind of i % 2 === 0 ? order : order.reverse()) group[kind] = await stretch(kind);
      groups.push(group as Group);
    }
    return groups;
  } finally {
    process.off('exit', letGo);
    busy?.kill('SIGKILL');
    try {
      letGo();
      await leave();
      await server.stop();
    } finally {
      await owner.close();
      await handle.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

async function startBusy(ms: number): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('busy-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, String(ms)], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
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

const SETTLE_MS = 2_000;

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) throw new Error(`The reader has ended by itself (${child.exitCode}).`);
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

async function spent(redis: OdinRedis, server: BenchServer) {
  const { user, system } = process.cpuUsage();
  const info = await redis.info('cpu');
  const seconds = ['user', 'sys'].map((kind) => Number(new RegExp(`^used_cpu_${kind}:(\\S+)`, 'm').exec(info)?.[1]));
  return {
    ownMs: (user + system) / 1000,
    redisMs: 1000 * seconds.reduce((a, b) => a + b, 0),
    serverMs: 1000 * cpuOf(server.pid),
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
