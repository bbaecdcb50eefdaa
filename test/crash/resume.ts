// `npm run crash -- resume` (DURABILITY 15, test 3): how long it takes until somebody goes on with 20 messages whose process was killed,
// with another Odin that waits in the project and with one that must be started; and what a journal of 10,000 events adds to it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Goal } from '../../bench/report.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { claimSession } from '../../orchestrator/journal.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { keys, workspaceId } from '../../orchestrator/keys.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import type { JournalEvent } from '../../shared/events.ts';
import { crashChild } from '../support/crash-bundle.ts';
import { quantile } from '../support/kill-owner.ts';
import { claimEvent, done, update } from '../support/redis-session.ts';
import type { TurnsOrder } from '../support/turns-child.ts';

const SESSIONS = 20;
const LONG_EVENTS = 10_000;
/** How long the model takes, so that all messages are in flight. */
const MODEL_MS = 700;

export interface ResumeTimes {
  /** From the kill to the claim by another process, in ms. */
  readonly survivor: readonly number[];
  readonly restart: readonly number[];
  /** From the kill to the next request to the model: of short journals, and of the long one. */
  readonly short: readonly number[];
  readonly long: readonly number[];
}

/** `kills` of each kind. */
export async function timeResumes(
  folder: string,
  kills: number,
  random: (below: number) => number,
): Promise<ResumeTimes> {
  const home = join(folder, 'home');
  const project = join(realpathSync(folder), 'project');
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(project);
  writeFileSync(join(project, 'ODIN.md'), '# Crash test\n');
  const server = await startScriptedServer({ keepBodies: false, script: () => ({ delayMs: MODEL_MS, text: 'Done.' }) });
  const handle = await connectRedis({ home, notice: () => {} });
  const client = await openOdin({ cwd: project, home });
  const order: TurnsOrder = { url: server.url, project, home };
  const { args, env } = crashChild('turns-child');
  const living = new Set<ChildProcess>();
  const live = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [...args, JSON.stringify(order)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env,
    });
    living.add(child);
    child.once('exit', () => living.delete(child));
    await once(child.stdout, 'data');
    return child;
  };
  const times = { survivor: [] as number[], restart: [] as number[], short: [] as number[], long: [] as number[] };
  try {
    const sids = Array.from({ length: SESSIONS }, () => client.newSession());
    const [longSid = ''] = sids;
    await writeLongJournal(handle, client, workspaceId(client.root, handle.scope), longSid);
    let owner = await live();
    const round = async (next: () => Promise<ChildProcess>, into: number[]): Promise<void> => {
      const before = server.requests.length;
      const sent = await Promise.all(sids.map((sid) => client.submit(sid, { mode: 'ask', body: 'Go.' })));
      while (server.requests.length < before + SESSIONS) await delay(5);
      await delay(random(MODEL_MS / 2));
      const killedAt = Date.now();
      owner.kill('SIGKILL');
      owner = await next();
      while (!(await areDone(handle, sent))) await delay(20);
      for (const { sid, seq } of sent) {
        const events = (await readLog(handle.client, sid, '0')).map(({ event }) => event);
        const from = events.findLastIndex((event) => event.type === 'claim' && event.seq === seq);
        const claim = events[from];
        if (claim?.type !== 'claim' || claim.at < killedAt) continue;
        into.push(claim.at - killedAt);
        const request = events.slice(from).find((event: JournalEvent) => event.type === 'llm.req');
        if (request && 'at' in request) (sid === longSid ? times.long : times.short).push((request.at ?? 0) - killedAt);
      }
    };
    for (let n = 0; n < kills; n++) {
      const other = await live();
      await round(async () => other, times.survivor);
    }
    for (let n = 0; n < kills; n++) await round(live, times.restart);
    return times;
  } finally {
    for (const child of living) child.kill('SIGKILL');
    await client.close();
    await handle.close();
    await server.close();
  }
}

/** A message whose 10,000 events were journaled by this process, without a snapshot of their folds. */
async function writeLongJournal(
  handle: RedisHandle,
  client: Awaited<ReturnType<typeof openOdin>>,
  ws: string,
  sid: string,
): Promise<void> {
  await client.submit(sid, { mode: 'ask', body: 'The long one.' });
  const claim = await claimSession(handle.client, { sid, seq: 1, ws, claim: claimEvent(1) });
  if (claim.status !== 'ok') throw new Error(`The long session is ${claim.status}.`);
  for (let n = 0; n < LONG_EVENTS; n++) void claim.journal.append(update(1, `step ${n} of a long message`));
  await claim.journal.finish(done(1));
}

async function areDone(
  { client }: RedisHandle,
  sent: readonly { readonly sid: string; readonly seq: number }[],
): Promise<boolean> {
  const cursors = await Promise.all(sent.map(({ sid }) => client.hget(keys.session(sid).meta, 'cursor')));
  return sent.every(({ seq }, i) => Number(cursors[i]) >= seq);
}

export function resumeGoals({ survivor, restart, short, long }: ResumeTimes): readonly Goal[] {
  const goal = (name: string, times: readonly number[], q: number, limit: number): Goal => {
    const actual = quantile(times, q);
    return actual === null
      ? atMost(name, null, limit, 'ms', 'no kill left a message open')
      : atMost(name, actual, limit, 'ms');
  };
  const [few, many] = [quantile(short, 0.5), quantile(long, 0.5)];
  const added = 'a journal of 10,000 events adds, p50';
  return [
    goal('with a survivor, p95', survivor, 0.95, 250),
    goal('with a restart, p95', restart, 0.95, 600),
    goal('longest', [...survivor, ...restart], 1, 1000),
    few === null || many === null
      ? atMost(added, null, 200, 'ms', 'no kill left a message of the long session open')
      : atMost(added, Math.max(0, many - few), 200, 'ms'),
  ];
}

export const resumeNotes = (times: ResumeTimes): readonly string[] =>
  Object.entries(times).map(
    ([name, list]: [string, readonly number[]]) =>
      `${name}: ${list.length} resumes, p50 ${quantile(list, 0.5)} ms, p95 ${quantile(list, 0.95)} ms, max ${quantile(list, 1)} ms`,
  );
