// What a dashboard with an open page costs the process that runs the turns, and the Redis that both use: the same messages with and
// without one, in turns in the same run. Processor time, which does not change with what else a machine does, and messages a second.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ModelPair } from '../orchestrator/api.ts';
import { keys } from '../orchestrator/keys.ts';
import { openOdin } from '../orchestrator/odin.ts';
import { connectRedis, type OdinRedis } from '../orchestrator/redis.ts';
import { NO_USAGE } from '../shared/messages.ts';
import { ok } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';
import { hasBrowser, openBrowser } from '../test/support/browser.ts';
import { startServer } from './dashboard-server.ts';
import { median } from './report.ts';

const SESSIONS = 300;
const MESSAGES = 4;
const MODEL_MS = 5;
const ROUNDS = 3;

interface Turn {
  readonly perSecond: number;
  /** Of the orchestrator and of Redis, for each message. */
  readonly ownMs: number;
  readonly redisMs: number;
}

export interface Cost {
  readonly alone: Turn;
  readonly watched: Turn;
}

/** The medians of both; the first of each only warms up. */
export async function measureCost(): Promise<Cost> {
  const runs: { alone: Turn[]; watched: Turn[] } = { alone: [], watched: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    const [alone, watched] = [await run(false), await run(true)];
    if (round === 0) continue;
    runs.alone.push(alone);
    runs.watched.push(watched);
  }
  return { alone: middle(runs.alone), watched: middle(runs.watched) };
}

const middle = (turns: readonly Turn[]): Turn => ({
  perSecond: median(turns.map(({ perSecond }) => perSecond)) ?? 0,
  ownMs: median(turns.map(({ ownMs }) => ownMs)) ?? 0,
  redisMs: median(turns.map(({ redisMs }) => redisMs)) ?? 0,
});

/** A home of its own each time, so that the one has no more sessions than the other. */
async function run(isWatched: boolean): Promise<Turn> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-bench-cost-')));
  const [home, cwd] = [join(folder, 'home'), join(folder, 'project')];
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'ODIN.md'), '# Bench\n');
  const handle = await connectRedis({ home, notice: () => {} });
  const owner = await openOdin({ cwd, home, models: models() });
  const leave = isWatched ? await watch(home, cwd) : async () => {};
  try {
    const before = await spent(handle.client);
    const since = performance.now();
    const sids = Array.from({ length: SESSIONS }, () => owner.newSession());
    for (let n = 0; n < MESSAGES; n++) {
      await Promise.all(sids.map((sid) => owner.submit(sid, { mode: 'ask', body: `message ${n}` })));
    }
    while (!(await allDone(handle.client, sids))) await delay(100);
    const seconds = (performance.now() - since) / 1000;
    const after = await spent(handle.client);
    const messages = SESSIONS * MESSAGES;
    const each = (ms: number): number => ms / messages;
    return {
      perSecond: messages / seconds,
      ownMs: each(after.ownMs - before.ownMs),
      redisMs: each(after.redisMs - before.redisMs),
    };
  } finally {
    await leave();
    await owner.close();
    await handle.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A dashboard with its page open; without a browser, the dashboard alone. */
async function watch(home: string, cwd: string): Promise<() => Promise<void>> {
  const server = await startServer(home, cwd);
  const browser = hasBrowser ? await openBrowser() : null;
  const page = await browser?.newPage();
  await page?.goto(server.link);
  await page?.getByText('live', { exact: true }).waitFor();
  return async () => {
    await browser?.close();
    await server.stop();
  };
}

async function spent(redis: OdinRedis): Promise<{ readonly ownMs: number; readonly redisMs: number }> {
  const { user, system } = process.cpuUsage();
  const info = await redis.info('cpu');
  const seconds = ['user', 'sys'].map((kind) => Number(new RegExp(`^used_cpu_${kind}:(\\S+)`, 'm').exec(info)?.[1]));
  return { ownMs: (user + system) / 1000, redisMs: 1000 * seconds.reduce((a, b) => a + b, 0) };
}

async function allDone(redis: OdinRedis, sids: readonly string[]): Promise<boolean> {
  const pipeline = redis.pipeline();
  for (const sid of sids) pipeline.hget(keys.session(sid).meta, 'cursor');
  return ((await pipeline.exec()) ?? []).every(([, cursor]) => Number(cursor) === MESSAGES);
}

function models(): ModelPair {
  const provider: ModelProvider = {
    name: 'bench',
    async stream(_request, { ready }) {
      await ready;
      await delay(MODEL_MS);
      const usage = { ...NO_USAGE, inputTokens: 100, outputTokens: 2 };
      return ok({ parts: [{ type: 'text', text: 'Done.' }], stop: 'end', usage, model: 'bench' });
    },
    listModels: async () => ok([]),
  };
  return { model: 'bench/bench', smallModel: 'bench/bench', provider: async () => provider };
}
