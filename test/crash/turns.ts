// `npm run crash -- turns` (DURABILITY 15, test 1): processes that run whole messages are killed at crash points, Redis between, while
// every message is submitted twice. Each message runs a command that leaves a trace and edits a file; the audit is in turns-audit.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Goal } from '../../bench/report.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { keys } from '../../orchestrator/keys.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import { UserError } from '../../shared/outcome.ts';
import { crashChild } from '../support/crash-bundle.ts';
import type { TurnsOrder } from '../support/turns-child.ts';
import { audit, type Death, type TurnsResult, type TurnsSession } from './turns-audit.ts';

export interface TurnsOptions {
  readonly kills: number;
  /** Kills of Redis, spread over the run. */
  readonly redisKills: number;
  readonly messages: number;
  readonly projects?: number;
  /** How likely a crash point kills. */
  readonly perMillion?: number;
  /** The clocks of the processes jump by an hour, forth and back (DURABILITY 15, test 12). */
  readonly clocksJump?: boolean;
}

const SHIFTED_CLOCK = join(import.meta.dirname, '../support/shifted-clock-child.ts');
const MESSAGES_A_SESSION = 10;
/** Messages that may be on their way at a time. */
const AHEAD = 10;
const PROCESSES_A_PROJECT = 2;

export async function killTurns(
  folder: string,
  options: TurnsOptions,
  random: (below: number) => number,
): Promise<TurnsResult> {
  const { kills, redisKills, messages, projects: many = 2, perMillion = 8_000, clocksJump = false } = options;
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  const requests = new Map<string, number>();
  const server = await startScriptedServer({
    keepBodies: false,
    script(turn) {
      const name = nameOf(turn);
      requests.set(name, (requests.get(name) ?? 0) + 1);
      return answer(turn, name);
    },
  });
  const projects = Array.from({ length: many }, (_, i) => join(realpathSync(folder), `project${i}`));
  for (const project of projects) {
    mkdirSync(project);
    writeFileSync(join(project, 'ODIN.md'), '# Crash test\n');
  }
  const deaths: Death[] = [];
  let redisDeaths = 0;
  let ending = false;
  const living = new Set<ChildProcess>();
  const { args, env } = crashChild('turns-child');

  const live = (project: string): void => {
    if (ending) return;
    const order: TurnsOrder = { url: server.url, project, home };
    const point = deaths.length < kills ? `seed ${random(2 ** 31)} ${perMillion}` : '';
    const child = spawn(
      process.execPath,
      [...(clocksJump ? ['--import', SHIFTED_CLOCK] : []), ...args, JSON.stringify(order)],
      {
        stdio: ['pipe', 'ignore', 'inherit'],
        env: point === '' ? env : { ...env, ODIN_KILL_POINTS: point },
      },
    );
    living.add(child);
    child.once('exit', (code, signal) => {
      living.delete(child);
      if (signal === 'SIGKILL') deaths.push({ pid: child.pid as number, at: Date.now() });
      else if (!ending) process.stderr.write(`a process ended with ${code ?? signal}\n`);
      if (
        redisKills > 0 &&
        deaths.length >= ((redisDeaths + 1) * kills) / (redisKills + 1) &&
        redisDeaths < redisKills
      ) {
        redisDeaths += 1;
        killRedis(home);
      }
      live(project);
    });
  };

  const handle = await connectRedis({ home, notice: () => {} });
  const clients = await Promise.all(projects.map((cwd) => openOdin({ cwd, home })));
  try {
    for (const project of projects) for (let i = 0; i < PROCESSES_A_PROJECT; i++) live(project);
    const sessions = planSessions(clients, projects, messages);
    await submitAll(handle, clients, projects, sessions);
    ending = true;
    await Promise.all([...living].map(leave));
    return await audit({ handle, home, sessions, deaths, redisDeaths, requests });
  } finally {
    ending = true;
    for (const child of living) child.kill('SIGKILL');
    await Promise.all(clients.map((client) => client.close()));
    await handle.close();
    await server.close();
  }
}

function planSessions(clients: readonly Odin[], projects: readonly string[], messages: number): TurnsSession[] {
  const count = Math.ceil(messages / MESSAGES_A_SESSION);
  return Array.from({ length: count }, (_, number) => {
    const at = number % projects.length;
    const project = projects[at] as string;
    writeFileSync(join(project, `s${number}.txt`), 'end\n');
    const rest = messages - number * MESSAGES_A_SESSION;
    const mids = Array.from({ length: Math.min(rest, MESSAGES_A_SESSION) }, (_, n) => `client-${number}-${n}`);
    return { sid: (clients[at] as Odin).newSession(), number, project, mids };
  });
}

/** Every message twice, at the same moment; a few ahead of what is done. Resolves when all are done. */
async function submitAll(
  handle: RedisHandle,
  clients: readonly Odin[],
  projects: readonly string[],
  sessions: readonly TurnsSession[],
): Promise<void> {
  let submitted = 0;
  const total = sessions.reduce((sum, { mids }) => sum + mids.length, 0);
  for (let first = 0; first < sessions.length; first += 20) {
    for (let n = 0; n < MESSAGES_A_SESSION; n++) {
      for (const { sid, number, project, mids } of sessions.slice(first, first + 20)) {
        const mid = mids[n];
        if (mid === undefined) continue;
        const client = clients[projects.indexOf(project)] as Odin;
        const message = { mode: 'edit', body: `message ${number}.${n};`, mid } as const;
        await Promise.all([patiently(() => client.submit(sid, message)), patiently(() => client.submit(sid, message))]);
        submitted += 1;
        while (submitted - (await doneCount(handle, sessions)) > AHEAD) await delay(20);
      }
    }
  }
  await allDone(handle, sessions, total);
}

/** What is submitted while Redis is away is submitted again, as a person would. */
async function patiently<T>(submit: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await submit();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      await delay(20);
    }
  }
}

const STUCK_MS = 240_000;

async function allDone(handle: RedisHandle, sessions: readonly TurnsSession[], total: number): Promise<void> {
  let [seen, since] = [-1, performance.now()];
  for (;;) {
    const done = await doneCount(handle, sessions);
    if (done === total) return;
    if (done !== seen) [seen, since] = [done, performance.now()];
    // What is lost is for the audit to say.
    if (performance.now() - since > STUCK_MS) return;
    await delay(20);
  }
}

async function doneCount({ client }: RedisHandle, sessions: readonly TurnsSession[]): Promise<number> {
  const cursors = await Promise.all(sessions.map(({ sid }) => client.hget(keys.session(sid).meta, 'cursor')));
  return cursors.reduce((sum, cursor) => sum + Number(cursor ?? 0), 0);
}

export function killRedis(home: string): void {
  try {
    const { pid } = JSON.parse(readFileSync(join(home, 'redis', 'server.json'), 'utf8')) as { pid: number };
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is being started again just now.
  }
}

async function leave(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdin?.end();
  await Promise.race([gone, delay(10_000, undefined, { ref: false })]);
}

/** `session.message`, both from 0. */
const nameOf = ({ userText }: ScriptedTurn): string => [...userText.matchAll(/message (\d+\.\d+);/g)].at(-1)?.[1] ?? '';

/**
 * Runs a command, reads and edits, and says that it is done when it has edited. The file is read for each try; never in the same words,
 * or the message would be stopped for repeating itself.
 */
function answer({ stepOfMessage, lastToolResults }: ScriptedTurn, name: string): ScriptedAnswer {
  const number = name.split('.')[0];
  if (stepOfMessage === 0) {
    const command = `echo ${name} >> effects${number}; echo out ${name}`;
    return { toolCalls: [{ name: 'ExecuteCommand', args: { command } }] };
  }
  if (lastToolResults.some(({ text }) => /^Edited |exactly once/.test(text))) return { text: `done ${name}` };
  const file = { file_path: `s${number}.txt` };
  const read = { ...file, limit: 100 + stepOfMessage };
  const edit = { ...file, old_string: 'end', new_string: `token ${name};\nend` };
  return {
    toolCalls: [
      { name: 'ReadFile', args: read },
      { name: 'EditTool', args: edit },
    ],
  };
}

export const turnsGoals = ({ unrecordedCalls, leftOver }: TurnsResult): readonly Goal[] => [
  atMost('calls of the model that the journal does not know of', unrecordedCalls, 0, 'calls'),
  atMost('temporary files left over', leftOver.length, 0, 'files'),
];

export const turnsNotes = ({ messages, redisKills, modelCallsAgain, findings }: TurnsResult): readonly string[] => [
  `${messages} messages, each submitted twice; Redis was killed ${redisKills} times`,
  `${modelCallsAgain} calls of the model were made again, since a kill had left them without an answer`,
  ...findings,
];
