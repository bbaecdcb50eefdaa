// What was used, by day, model and project (SPEC E16): a fold of journals, those of old sessions in their files included. Tokens are as
// they were counted; what a price is not known for is told apart, never counted as nothing.

import type { EventOf, JournalEvent } from '../../shared/events.ts';
import { addUsage, NO_USAGE, type Usage } from '../../shared/messages.ts';
import type { Rates } from '../../shared/spending.ts';
import { archivedEvents, archivedSessions, readArchive } from '../archive-file.ts';
import { decode } from '../journal-read.ts';
import { keys, PREFIX } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

export interface UsageRow {
  /** The local day, YYYY-MM-DD. */
  readonly day: string;
  readonly project: string;
  /** `provider/name`; '' in the row of what no model did. */
  readonly model: string;
  calls: number;
  usage: Usage;
  /** Of the calls whose price is known. */
  costUsd: number;
  unpriced: number;
  /** What the provider's cache has spared, at its price for input that is not cached. */
  savedUsd: number;
}

export interface ToolRow {
  readonly day: string;
  readonly project: string;
  readonly tool: string;
  calls: number;
  ok: number;
  totalMs: number;
  /** Calls that were answered by a result of before, and the time that the calls of that tool that were not took on average for each. */
  cached: number;
  savedMs: number;
}

export interface UsageReport {
  readonly models: readonly UsageRow[];
  readonly tools: readonly ToolRow[];
  readonly sessions: number;
  readonly messages: number;
  /** Archives that could not be read; `odin fsck` says more. */
  readonly damaged: readonly string[];
}

export interface UsageQuestion {
  readonly redis: OdinRedis;
  readonly home: string;
  /** One workspace; absent: all that this Redis and home hold. */
  readonly ws?: string;
  readonly rates: Rates;
  /** Nothing before it. */
  readonly sinceMs: number;
}

const PAGE = 1000;
/** The result cache says so in the call's description (middleware/result-cache.ts). */
const AS_BEFORE = / \(as before\)$/;

export async function usageReport(question: UsageQuestion): Promise<UsageReport> {
  const count = createCount(question);
  const damaged: string[] = [];
  const inRedis = new Set<string>();
  for await (const { sid, root } of sessionsInRedis(question)) {
    inRedis.add(sid);
    const session = count.session(root);
    for await (const event of eventsOf(question.redis, sid)) session(event);
  }
  for (const sid of await archivedSessions(question.home)) {
    if (inRedis.has(sid)) continue;
    try {
      const archive = await readArchive(question.home, sid);
      if (archive === null || (question.ws !== undefined && archive.header.ws !== question.ws)) continue;
      const session = count.session(archive.header.root);
      for (const { event } of archivedEvents(archive)) session(event);
    } catch {
      damaged.push(sid);
    }
  }
  return { ...count.report(), damaged };
}

async function* sessionsInRedis({ redis, ws }: UsageQuestion): AsyncGenerator<{ sid: string; root: string }> {
  if (ws !== undefined) {
    const sids = await redis.zrevrange(keys.workspace(ws).sessions, 0, -1);
    for (const sid of sids) yield { sid, root: (await redis.hget(keys.session(sid).meta, 'root')) ?? '' };
    return;
  }
  let cursor = '0';
  const seen = new Set<string>();
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${PREFIX}:s:*:meta`, 'COUNT', 500);
    cursor = next;
    for (const key of found) {
      const sid = key.slice(`${PREFIX}:s:`.length, -':meta'.length);
      if (seen.has(sid)) continue;
      seen.add(sid);
      yield { sid, root: (await redis.hget(key, 'root')) ?? '' };
    }
  } while (cursor !== '0');
}

async function* eventsOf(redis: OdinRedis, sid: string): AsyncGenerator<JournalEvent> {
  let after = '-';
  for (;;) {
    const entries = await redis.xrange(keys.session(sid).log, after, '+', 'COUNT', PAGE);
    for (const entry of entries) yield decode(entry).event;
    if (entries.length < PAGE) return;
    after = `(${entries.at(-1)?.[0] ?? ''}`;
  }
}

function createCount({ rates, sinceMs }: UsageQuestion) {
  const models = new Map<string, UsageRow>();
  const tools = new Map<string, ToolRow>();
  let sessions = 0;
  let messages = 0;

  const spend = (at: number, project: string, model: string, usage: Usage): void => {
    const day = dayOf(at);
    const id = JSON.stringify([day, project, model]);
    const row: UsageRow = models.get(id) ?? {
      ...{ day, project, model, calls: 0, usage: NO_USAGE },
      ...{ costUsd: 0, unpriced: 0, savedUsd: 0 },
    };
    models.set(id, row);
    row.calls += 1;
    row.usage = addUsage(row.usage, usage);
    const usd = rates.costOfCall(model, usage);
    if (usd === null) row.unpriced += 1;
    else {
      row.costUsd += usd;
      row.savedUsd += (rates.costOfCall(model, { ...usage, cacheRead: 0, cacheWrite: 0 }) ?? usd) - usd;
    }
  };
  const toolDone = (project: string, event: EventOf<'tool.done'>): void => {
    const day = dayOf(event.at);
    // A name that no tool has is the model's own, and could be any.
    const tool = event.kind === 'invalid' ? '(invalid)' : event.name;
    const id = JSON.stringify([day, project, tool]);
    const row = tools.get(id) ?? { day, project, tool, calls: 0, ok: 0, totalMs: 0, cached: 0, savedMs: 0 };
    tools.set(id, row);
    row.calls += 1;
    if (event.kind === 'ok') row.ok += 1;
    row.totalMs += event.durationMs;
    if (AS_BEFORE.test(event.description)) row.cached += 1;
  };

  return {
    /** Takes the events of one session, in order. */
    session(project: string): (event: JournalEvent) => void {
      let asked = '';
      let counted = false;
      const take = (event: JournalEvent): void => {
        if (event.type === 'llm.req') asked = event.model;
        const at = event.at ?? 0;
        if (at < sinceMs) return;
        if (!counted) sessions += 1;
        counted = true;
        if (event.type === 'msg.start') messages += 1;
        if (event.type === 'llm.res') spend(at, project, asked === '' ? event.model : asked, event.usage);
        if (event.type === 'llm.fail' && event.usage !== undefined) spend(at, project, asked, event.usage);
        if (event.type === 'aux.used') spend(at, project, event.model, event.usage);
        if (event.type === 'tool.done') toolDone(project, event);
        // A subagent's own events, with what its model and tools did.
        if (event.type === 'agent.ev') agentTake(event.aid, event.event);
      };
      const agents = new Map<string, string>();
      const agentTake = (aid: string, event: JournalEvent): void => {
        const before = asked;
        asked = agents.get(aid) ?? '';
        take(event);
        agents.set(aid, asked);
        asked = before;
      };
      return take;
    },
    report(): Omit<UsageReport, 'damaged'> {
      for (const row of tools.values()) {
        const done = row.calls - row.cached;
        if (done > 0) row.savedMs = Math.round((row.cached * row.totalMs) / done);
      }
      const byDay = <T extends { readonly day: string; readonly project: string }>(a: T, b: T): number =>
        b.day.localeCompare(a.day) || a.project.localeCompare(b.project);
      return {
        models: [...models.values()].toSorted((a, b) => byDay(a, b) || a.model.localeCompare(b.model)),
        tools: [...tools.values()].toSorted((a, b) => byDay(a, b) || b.calls - a.calls),
        sessions,
        messages,
      };
    },
  };
}

const dayOf = (at: number): string => new Date(at).toLocaleDateString('sv-SE');
