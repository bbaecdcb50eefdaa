// `npm run crash -- freeze` (DURABILITY 15, test 5): the owner of a project is stopped in the middle of edits for two and a half times its
// lease, another one takes over, and the first one wakes up again. Eight sessions edit the same files, each edit with a token of its
// own: what the journals call made must be there, once, and whoever woke up must be gone or hold nothing.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Goal } from '../../bench/report.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { keys, workspaceId } from '../../orchestrator/keys.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import { readHolder } from '../../orchestrator/workspace-lease.ts';
import type { JournalEvent } from '../../shared/events.ts';
import { inlineOf } from '../../shared/payload.ts';
import type { TurnsOrder } from '../support/turns-child.ts';
import { atLast } from './netns-judge.ts';

export interface FreezeOptions {
  readonly freezes: number;
  readonly edits: number;
  readonly leaseMs: number;
}

export interface FreezeReport {
  readonly goals: readonly Goal[];
  readonly notes: readonly string[];
}

const ENTRY = join(import.meta.dirname, '../support/turns-child.ts');
const SESSIONS = 8;
const FILES = 4;
/** A message: so many answers of the model, with so many edits each. */
const [STEPS, EDITS] = [4, 10];
/** So that there is work left for the last freeze after what whoever takes over does in each of them. */
const MODEL_MS = 400;

export async function freezeOwners(
  folder: string,
  { freezes, edits, leaseMs }: FreezeOptions,
  random: (below: number) => number,
): Promise<FreezeReport> {
  const [home, project] = [join(folder, 'home'), join(folder, 'project')];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(project);
  writeFileSync(join(project, 'ODIN.md'), '# Frozen\n');
  for (let n = 0; n < FILES; n++) writeFileSync(fileOf(project, n), 'start\n');
  const messages = Math.max(1, Math.round(edits / (SESSIONS * STEPS * EDITS)));
  const asked = { count: 0, at: Number.POSITIVE_INFINITY, reached: () => {} };
  const server = await startScriptedServer({
    keepBodies: false,
    script(turn) {
      asked.count += 1;
      if (asked.count >= asked.at) asked.reached();
      return { ...answer(turn), delayMs: MODEL_MS };
    },
  });
  const handle = await connectRedis({ home, notice: () => {} });
  const client = await openOdin({ cwd: project, home });
  const ws = workspaceId(client.root, handle.scope);
  const owners = new Map<number, ChildProcess>();
  let ending = false;
  const live = async (): Promise<void> => {
    const order: TurnsOrder = { url: server.url, project, home, leaseMs };
    const child = spawn(process.execPath, [ENTRY, JSON.stringify(order)], { stdio: ['pipe', 'pipe', 'inherit'] });
    owners.set(child.pid as number, child);
    // Also for one that a busy machine had kept silent for a lease.
    child.once('exit', () => {
      owners.delete(child.pid as number);
      if (!ending) void live();
    });
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  };
  try {
    await live();
    await live();
    const sids = Array.from({ length: SESSIONS }, () => client.newSession());
    for (const [n, sid] of sids.entries()) {
      for (let m = 0; m < messages; m++) await client.submit(sid, { mode: 'edit', body: `message ${n}.${m};` });
    }
    const cursors = () => Promise.all(sids.map((sid) => handle.client.hget(keys.session(sid).meta, 'cursor')));
    const isFinished = async () => (await cursors()).every((cursor) => Number(cursor) >= messages);
    const frozen = { killed: 0, fenced: 0, none: 0, takenOver: 0 };
    const wanted = SESSIONS * messages * (STEPS + 1);
    for (let n = 0; n < freezes; n++) {
      let isReached = false;
      // Spread over the run; the rest of it is left to whoever takes over last.
      const from = Math.floor((wanted * n) / (freezes + 1));
      Object.assign(asked, {
        at: Math.max(asked.count + 2, from + random(wanted / (freezes + 1))),
        reached: () => {
          isReached = true;
        },
      });
      await atLast(async () => isReached || (await isFinished()), Number.POSITIVE_INFINITY);
      // What is left is told as freezes without a takeover.
      if (!isReached) break;
      // Up to where what this answer asks for is being done.
      await delay(random(MODEL_MS + 100));
      const found = await freezeOne(handle, ws, owners, leaseMs);
      frozen[found.zombie] += 1;
      if (found.takenOver) frozen.takenOver += 1;
    }
    const finished = await atLast(isFinished, 300_000);
    const found = await judge(handle, project, sids);
    const goals = [
      atMost('freezes without a takeover', freezes - frozen.takenOver, 0, 'freezes'),
      atMost('who woke up neither killed nor fenced', frozen.none, 0, 'processes'),
      atMost('sessions that did not finish', finished ? 0 : 1, 0, 'runs'),
      atMost('edits lost', found.lost, 0, 'edits'),
      atMost('edits made twice', found.doubled, 0, 'edits'),
      atMost('edits made that were told to have failed', found.untold, 0, 'edits'),
      atMost('ends of messages beyond one each', Math.abs(found.ends - SESSIONS * messages), 0, 'ends'),
    ];
    const notes = [
      `${found.made} edits told to be made, ${found.refused} refused, ${found.unclear} to be looked at, of ${SESSIONS * messages * STEPS * EDITS}; ${frozen.killed} killed, ${frozen.fenced} fenced`,
    ];
    return { goals, notes };
  } finally {
    ending = true;
    for (const child of owners.values()) child.kill('SIGKILL');
    await client.close();
    await handle.close();
    await server.close();
  }
}

type Zombie = 'killed' | 'fenced';

/** Stops the owner for two and a half leases, and sees what has become of it and its project. */
async function freezeOne(
  handle: RedisHandle,
  ws: string,
  owners: Map<number, ChildProcess>,
  leaseMs: number,
): Promise<{ readonly takenOver: boolean; readonly zombie: Zombie | 'none' }> {
  const holder = await readHolder(handle.client, ws);
  const child = holder === null ? undefined : owners.get(holder.pid);
  if (holder === null || child === undefined) return { takenOver: false, zombie: 'none' };
  let isGone = false;
  child.once('exit', () => {
    isGone = true;
  });
  child.kill('SIGSTOP');
  await delay(2.5 * leaseMs);
  const isOther = async (): Promise<boolean> => {
    const now = await readHolder(handle.client, ws);
    return now !== null && now.id !== holder.id;
  };
  // A machine under load may be later than that; the one who is stopped stays so.
  const takenOver = await atLast(isOther);
  child.kill('SIGCONT');
  if (await atLast(() => isGone, leaseMs)) return { takenOver, zombie: 'killed' };
  const zombie = (await isOther()) ? 'fenced' : 'none';
  child.stdin?.end();
  return { takenOver, zombie };
}

const fileOf = (project: string, n: number): string => join(project, `tokens${n}.txt`);

/** Reads, then edits many times; every edit names the session, the message, the step and its place in it. */
function answer({ userText, stepOfMessage: step }: ScriptedTurn): ScriptedAnswer {
  const [, session = '', message = ''] = [...userText.matchAll(/message (\d+)\.(\d+);/g)].at(-1) ?? [];
  if (step >= STEPS) return { text: 'done' };
  const file = { file_path: `tokens${(Number(session) + Number(message) + step) % FILES}.txt` };
  // A process that did not read the file itself lets nobody edit it; never in the same words, or it would be stopped for that.
  const read = { name: 'ReadFile', args: { ...file, limit: 5 + step } };
  const edits = Array.from({ length: EDITS }, (_, k) => {
    const token = `<${session} ${Number(message) + 1}.${step + 1}.${k + 2}>`;
    return { name: 'EditTool', args: { ...file, old_string: 'start\n', new_string: `start\n${token}\n` } };
  });
  return { toolCalls: [read, ...edits] };
}

/** Holds what the journals say against what is in the files. */
async function judge(handle: RedisHandle, project: string, sids: readonly string[]) {
  const counts = new Map<string, number>();
  for (let n = 0; n < FILES; n++) {
    for (const [token] of readFileSync(fileOf(project, n), 'utf8').matchAll(/^<.*>$/gm)) {
      counts.set(token, (counts.get(token) ?? 0) + 1);
    }
  }
  const sums = { made: 0, refused: 0, unclear: 0, lost: 0, doubled: 0, untold: 0, ends: 0 };
  for (const [session, sid] of sids.entries()) {
    const events: readonly JournalEvent[] = (await readLog(handle.client, sid, '0')).map(({ event }) => event);
    sums.ends += events.filter(({ type }) => type === 'msg.done').length;
    for (const event of events) {
      if (event.type !== 'tool.done' || event.name !== 'EditTool') continue;
      const token = `<${session} ${event.op}>`;
      const times = counts.get(token) ?? 0;
      counts.delete(token);
      const isMade = event.kind === 'ok';
      const isUnclear = !isMade && inlineOf(event.text).includes('was being changed when Odin was interrupted');
      sums[isMade ? 'made' : isUnclear ? 'unclear' : 'refused'] += 1;
      if (isMade && times === 0) sums.lost += 1;
      if (!isMade && !isUnclear) sums.untold += times;
      sums.doubled += Math.max(0, times - 1);
    }
  }
  // Of calls that no journal has a result for.
  for (const times of counts.values()) sums.untold += times;
  return sums;
}
