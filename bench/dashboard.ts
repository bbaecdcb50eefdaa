// bench dashboard: 1,000 running sessions whose journals grow by 10,000 events a second in sum, a dashboard in a process of its own, and
// its page in Chromium with one of them open: how long the page lets its reader wait, how far the rows in sight are behind, and what the
// server takes.
// What it costs the process that runs the turns is dashboard-cost.ts.

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { claimSession } from '../orchestrator/journal.ts';
import { encode } from '../orchestrator/journal-read.ts';
import { keys, workspaceId } from '../orchestrator/keys.ts';
import { connectRedis, type OdinRedis } from '../orchestrator/redis.ts';
import type { JournalEvent } from '../shared/events.ts';
import { opId, sha256, ulid } from '../shared/ids.ts';
import { hasBrowser, openBrowser } from '../test/support/browser.ts';
import { ask, claimEvent, inboxOf } from '../test/support/redis-session.ts';
import { type Cost, cpuOf, measureCost, middle, timesOf } from './dashboard-cost.ts';
import { type BenchServer, startServer } from './dashboard-server.ts';
import { atMost, type BenchReport, type Figure, median, report } from './report.ts';

const SESSIONS = 1_000;
const TICK_MS = 100;
const SECONDS = 20;
/** In sight for certain. */
const ROWS = 5;

export async function benchDashboard({ rounds }: { readonly rounds: number }): Promise<BenchReport> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-bench-dashboard-')));
  const home = join(folder, 'home');
  const project = join(folder, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  const redis = await connectRedis({ home, notice: () => {} });
  try {
    const sids = await beginSessions(redis.client, home, workspaceId(project, redis.scope));
    const server = await startServer(home, project);
    try {
      return await measure(redis.client, sids, server, await measureCost({ reader: Math.max(3, rounds), page: 3 }));
    } finally {
      await server.stop();
    }
  } finally {
    await redis.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function beginSessions(redis: OdinRedis, home: string, ws: string): Promise<readonly string[]> {
  const inbox = inboxOf(redis, home, ws);
  const sids = Array.from({ length: SESSIONS }, () => ulid());
  for (const sid of sids) {
    await inbox.submit(ask(sid, `session ${sid}: make the retries wait a random time`));
    await claimSession(redis, { sid, seq: 1, ws, claim: { ...claimEvent(1), host: hostname() } });
  }
  return sids;
}

async function measure(
  redis: OdinRedis,
  sids: readonly string[],
  { link, pid }: BenchServer,
  cost: Cost,
): Promise<BenchReport> {
  const browser = hasBrowser ? await openBrowser() : null;
  const page = await browser?.newPage({ viewport: { width: 1440, height: 900 } });
  await page?.goto(link);
  await page?.getByText(`${SESSIONS} sessions`).waitFor();
  await page?.locator('a.session').first().click();
  const stop = new AbortController();
  const before = cpuOf(pid);
  const written = replay(redis, sids, stop.signal);
  const delays: number[] = [];
  const sizes: number[] = [];
  const until = performance.now() + SECONDS * 1000;
  while (performance.now() < until) {
    await delay(150);
    if (page) delays.push(await inputDelay(page));
    sizes.push(rssOf(pid));
  }
  stop.abort();
  const { events, seconds, step } = await written;
  const stopped = performance.now();
  // The newest step in the rows that somebody sees.
  await page
    ?.locator('#sessions .facts', { hasText: `step ${step}` })
    .nth(ROWS - 1)
    .waitFor({ timeout: 120_000 });
  const behind = page ? (performance.now() - stopped) / 1000 : null;
  const cpu = cpuOf(pid) - before;
  await browser?.close();
  const rate = events / seconds;
  const sorted = delays.toSorted((a, b) => a - b);
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? null;
  const peak = Math.max(...sizes) / 1e6;
  // Two stretches beside each other differ by a tenth: it takes some fifty of each to tell the mean to one in a hundred.
  const readerOver = (figure: 'wholeMs' | 'ownMs', over: 'alone' | 'busy') =>
    timesOf(cost.reader, figure, 'watched', over).times;
  const none = hasBrowser ? undefined : 'there is no browser';
  return report(
    'dashboard',
    [
      { name: 'events journaled', unit: 'per s', odin: rate, floor: null },
      { name: 'input to next frame, p50', unit: 'ms', odin: median(delays), floor: null },
      { name: 'input to next frame, p95', unit: 'ms', odin: p95, floor: null },
      { name: 'rows in sight behind the journals at the end', unit: 's', odin: behind, floor: null },
      { name: 'server, most memory', unit: 'MB', odin: peak, floor: null },
      { name: 'server, processor time for each event', unit: 'µs', odin: (1e6 * cpu) / events, floor: null },
      ...costRows('a reader elsewhere', 'reader', cost),
      ...costRows('its page in a browser here', 'page', cost),
    ],
    [
      atMost('time that 10,000 events take to be journaled', 10_000 / rate, 1.05, 's'),
      atMost('input to next frame, p95', p95, 100, 'ms', none),
      atMost('server, most memory', peak, 150, 'MB'),
      atMost('time for a message, with a reader, beside nothing', readerOver('wholeMs', 'alone'), 1.05, 'times'),
      atMost(
        'time for a message, with a reader, beside a busy neighbour',
        readerOver('wholeMs', 'busy'),
        1.05,
        'times',
      ),
      atMost('orchestrator’s processor time, beside nothing', readerOver('ownMs', 'alone'), 1.05, 'times'),
      atMost('orchestrator’s processor time, beside a busy neighbour', readerOver('ownMs', 'busy'), 1.05, 'times'),
    ],
  );
}

/** What a watched stretch takes, over one that nobody watches and over one with a neighbour that takes as much and reads nothing. */
const costRows = (how: string, watcher: 'reader' | 'page', cost: Cost): readonly Figure[] => {
  const groups = cost[watcher];
  if (groups.length === 0) return [];
  const row = (name: string, figure: 'wholeMs' | 'ownMs' | 'redisMs'): readonly Figure[] => {
    const odin = middle(groups, 'watched', figure);
    return (['alone', 'busy'] as const).flatMap((over) => {
      const { times, error } = timesOf(groups, figure, 'watched', over);
      const beside = over === 'alone' ? 'nothing' : 'a busy neighbour';
      return [
        { name: `${name} a message, ${how}, beside ${beside}`, unit: 'ms', odin, floor: middle(groups, over, figure) },
        { name: '  mean of all', unit: 'times', odin: times, floor: null },
        { name: '  standard error', unit: 'times', odin: error, floor: null },
      ];
    });
  };
  return [
    ...row('time for', 'wholeMs'),
    ...row('processor of the orchestrator for', 'ownMs'),
    ...row('processor of Redis for', 'redisMs'),
    {
      name: `processor of the dashboard for a message, ${how}`,
      unit: 'ms',
      odin: middle(groups, 'watched', 'serverMs'),
      floor: null,
    },
  ];
};

/** From a key in the page's filter to the frame that shows it. */
async function inputDelay(page: Page): Promise<number> {
  const delayed: unknown = await page.evaluate(`new Promise((resolve) => {
    const filter = document.getElementById('filter');
    const since = performance.now();
    // In line behind whatever the page is doing, as a key would be.
    setTimeout(() => {
      filter.value = filter.value === '' ? 'session' : '';
      filter.dispatchEvent(new Event('input'));
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - since)));
    });
  })`);
  return Number(delayed);
}

const rssOf = (pid: number): number =>
  1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** An event for every session each tick, until the signal aborts. A tick that comes late is made up for. */
async function replay(redis: OdinRedis, sids: readonly string[], signal: AbortSignal) {
  const writer = ulid();
  const since = performance.now();
  let ticks = 0;
  while (!signal.aborted) {
    const event = encode(writer, eventOf(ticks));
    const pipeline = redis.pipeline();
    for (const sid of sids) pipeline.xadd(keys.session(sid).log, `1-${ticks + 1}`, 'd', event);
    await pipeline.exec();
    ticks += 1;
    await delay(Math.max(0, since + ticks * TICK_MS - performance.now()));
  }
  const step = turnOf(ticks - 1);
  return { events: ticks * sids.length, seconds: (performance.now() - since) / 1000, step };
}

const turnOf = (tick: number): number => 1 + Math.floor((tick - 1) / 4);

/** A message that goes on: request, answer with a call, start, result. */
function eventOf(tick: number): JournalEvent {
  const at = Date.now();
  if (tick === 0) {
    const models = { model: 'anthropic/claude-opus-5-5', smallModel: 'anthropic/small' };
    const body = { inline: 'make the retries wait a random time' };
    return { type: 'msg.start', seq: 1, mid: ulid(), mode: 'edit', body, ...models, limits: { maxSteps: 1e6 }, at };
  }
  const turn = turnOf(tick);
  const [asks, calls] = [opId(1, turn, 0), opId(1, turn, 1)];
  const call = { callId: `c${turn}`, name: 'ReadFile' };
  const rawArgs = JSON.stringify({ file_path: `src/file-${turn}.ts` });
  switch ((tick - 1) % 4) {
    case 0:
      return { type: 'llm.req', op: asks, model: 'anthropic/claude-opus-5-5', reqHash: sha256(asks), attempt: 1, at };
    case 1:
      return {
        ...{ type: 'llm.res', op: asks, stop: 'tool_calls', model: 'claude-opus-5-5', at },
        parts: {
          inline: [
            { type: 'text', text: 'I look where it is decided. '.repeat(4) },
            { type: 'tool_call', ...call, rawArgs },
          ],
        },
        calls: [{ op: calls, ...call, argsHash: sha256(rawArgs) }],
        usage: { input: 20_000 + turn, output: 120, cacheRead: 19_000, cacheWrite: 500 },
      };
    case 2:
      return { type: 'tool.start', op: calls, ...call, version: '1', at };
    default:
      return {
        ...{ type: 'tool.done', op: calls, ...call, kind: 'ok', affectedFiles: [], durationMs: 3, at },
        text: { inline: 'export const delays = [100, 200, 400];\n'.repeat(20) },
        description: `Read src/file-${turn}.ts (20 lines)`,
        resultHash: sha256(`${turn}`),
      };
  }
}
