// What the journals, the files, the traces of commands and the model's own log of calls say of a run of turns.ts, each by itself.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { withInlinePayload } from '../../orchestrator/payloads.ts';
import type { RedisHandle } from '../../orchestrator/redis.ts';
import type { JournalEvent } from '../../shared/events.ts';
import { inlineOf } from '../../shared/payload.ts';
import { countOf, inversions, type KillResult } from '../support/kill-owner.ts';

/** A session of the run: its number is in every message, file and trace of it. */
export interface TurnsSession {
  readonly sid: string;
  readonly number: number;
  readonly project: string;
  readonly mids: readonly string[];
}

/** A process that was killed, and when it was seen to be gone. */
export interface Death {
  readonly pid: number;
  readonly at: number;
}

export interface TurnsResult extends KillResult {
  readonly messages: number;
  readonly redisKills: number;
  /** Calls of the model that were made again because a kill left them without an answer. */
  readonly modelCallsAgain: number;
  /** Requests that reached the model without a request in the journal before them. */
  readonly unrecordedCalls: number;
  readonly leftOver: readonly string[];
  /** What was found, one line each. */
  readonly findings: readonly string[];
}

export interface TurnsRun {
  readonly handle: RedisHandle;
  readonly home: string;
  readonly sessions: readonly TurnsSession[];
  readonly deaths: readonly Death[];
  readonly redisDeaths: number;
  /** How often the model was asked, by message. Counted when the request arrives. */
  readonly requests: ReadonlyMap<string, number>;
}

type Kind = 'lost' | 'doubled' | 'misordered';

export async function audit(run: TurnsRun): Promise<TurnsResult> {
  const findings: string[] = [];
  const sums = { lost: 0, doubled: 0, misordered: 0 };
  const found = (kind: Kind, count: number, what: string): void => {
    if (count === 0) return;
    sums[kind] += count;
    findings.push(`${kind}: ${count} ${what}`);
  };
  const resumeMs: number[] = [];
  let [unknown, modelCallsAgain, unrecordedCalls] = [0, 0, 0];
  for (const session of run.sessions) {
    const events = await eventsOf(run, session.sid);
    const name = `session ${session.number} (${session.sid})`;
    judgeJournal(session, events, (kind, count, what) => found(kind, count, `${what} in the journal of ${name}`));
    judgeTraces(session, events, (kind, count, what) => found(kind, count, `${what} of ${name}`));
    unknown += events.filter((event) => event.type === 'tool.done' && event.kind === 'unknown').length;
    resumeMs.push(...resumeTimes(events, run.deaths));
    for (let n = 0; n < session.mids.length; n++) {
      const ofMessage = events.filter((event) => 'op' in event && event.op.startsWith(`${n + 1}.`));
      const recorded = ofMessage.filter((event) => event.type === 'llm.req').length;
      const answered = ofMessage.filter((event) => event.type === 'llm.res').length;
      const asked = run.requests.get(`${session.number}.${n}`) ?? 0;
      unrecordedCalls += Math.max(0, asked - recorded);
      modelCallsAgain += asked - answered;
    }
  }
  const projects = [...new Set(run.sessions.map(({ project }) => project))];
  return {
    ...sums,
    kills: run.deaths.length,
    redisKills: run.redisDeaths,
    messages: run.sessions.reduce((sum, { mids }) => sum + mids.length, 0),
    unknown,
    resumeMs,
    modelCallsAgain,
    unrecordedCalls,
    leftOver: projects.flatMap((project) => readdirSync(project).filter((file) => file.includes('.odin-tmp'))),
    findings,
  };
}

async function eventsOf({ handle, home }: TurnsRun, sid: string): Promise<readonly JournalEvent[]> {
  const blobs = openBlobs(home);
  const log = await readLog(handle.client, sid, '0');
  return Promise.all(log.map(({ event }) => withInlinePayload(event, (blob) => blobs.getPayload({ blob }))));
}

function judgeJournal(
  { number, mids }: TurnsSession,
  events: readonly JournalEvent[],
  found: (kind: Kind, count: number, what: string) => void,
): void {
  const of = <T extends JournalEvent['type']>(type: T) =>
    events.filter((event): event is Extract<JournalEvent, { type: T }> => event.type === type);
  const starts = of('msg.start');
  const ends = of('msg.done');
  const right = ends.filter((end) => {
    const name = `done ${number}.${end.seq - 1}`;
    return end.status === 'completed' && inlineOf(end.answer) === name;
  });
  const wrong = ends.filter((end) => !right.includes(end)).map((end) => `${end.seq}: ${whatHappened(end, events)}`);
  const rightly = new Set(right.map((end) => end.seq));
  found('lost', mids.length - rightly.size, `messages without their end [${wrong.join('; ')}]`);
  found('doubled', ends.length - new Set(ends.map((end) => end.seq)).size, 'ends of messages');
  found('doubled', starts.length - new Set(starts.map((start) => start.seq)).size, 'starts of messages');
  found('misordered', inversions(ends.map((end) => end.seq)), 'ends of messages');
  found(
    'misordered',
    starts.filter((start) => start.mid !== mids[start.seq - 1]).length,
    'messages at another place than they were sent',
  );
  const answers = of('llm.res');
  found('doubled', answers.length - new Set(answers.map(({ op }) => op)).size, 'answers of the model');
  const results = new Map<string, number>();
  for (const { op } of of('tool.done')) results.set(op, (results.get(op) ?? 0) + 1);
  const calls = answers.flatMap((answer) => answer.calls);
  found('lost', calls.filter(({ op }) => !results.has(op)).length, 'results of calls');
  found('doubled', calls.filter(({ op }) => (results.get(op) ?? 0) > 1).length, 'results of calls');
}

function judgeTraces(
  { number, project, mids }: TurnsSession,
  events: readonly JournalEvent[],
  found: (kind: Kind, count: number, what: string) => void,
): void {
  const traces = {
    edits: numbersIn(join(project, `s${number}.txt`), /token \d+\.(\d+);/g),
    commands: numbersIn(join(project, `effects${number}`), /^\d+\.(\d+)$/gm),
  };
  for (const [what, numbers] of Object.entries(traces)) {
    const counts = countOf(numbers, mids.length);
    const lost = counts.flatMap((count, n) => (count === 0 ? [`${n + 1}: ${resultsOf(n + 1, events)}`] : []));
    found('lost', lost.length, `${what} [${lost.join('; ')}]`);
    found('doubled', counts.filter((count) => count > 1).length, what);
    found('misordered', inversions(numbers), what);
  }
}

const numbersIn = (path: string, pattern: RegExp): readonly number[] =>
  existsSync(path) ? [...readFileSync(path, 'utf8').matchAll(pattern)].map(([, n]) => Number(n)) : [];

/** From the death of a process until another one had claimed the message that it ran. */
function resumeTimes(events: readonly JournalEvent[], deaths: readonly Death[]): readonly number[] {
  const diedAt = new Map(deaths.map(({ pid, at }) => [pid, at]));
  const claims = events.flatMap((event) => (event.type === 'claim' ? [event] : []));
  return claims.flatMap((claim, i) => {
    const before = claims[i - 1];
    const at = before?.seq === claim.seq && before.pid !== claim.pid ? diedAt.get(before.pid) : undefined;
    return at === undefined ? [] : [Math.max(0, claim.at - at)];
  });
}

/** The newest results of a message that did not end as it should, for whoever looks for the cause. */
const whatHappened = (end: Extract<JournalEvent, { type: 'msg.done' }>, events: readonly JournalEvent[]): string =>
  `${end.status} ${JSON.stringify(end.failure ?? end.answer)} after ${resultsOf(end.seq, events)}`;

const resultsOf = (seq: number, events: readonly JournalEvent[]): string => {
  const results = events.flatMap((event) =>
    event.type === 'tool.done' && event.op.startsWith(`${seq}.`)
      ? [`${event.op} ${event.name} ${event.kind} ${JSON.stringify(inlineOf(event.text).slice(0, 300))}`]
      : [],
  );
  return results.slice(-6).join(', ');
};
