// What was used, by day, model and project (SPEC E16): a fold of journals, those of old sessions in their files included. Each call counts
// as it does in its session's accounts, once: what a fork has copied counts where it happened, and what a batch's tasks do in their working
// copies counts for the project. What a price is not known for is told apart, never counted as nothing.

import { type Accounts, foldAccounts } from '../../agent/accounts.ts';
import type { EventOf, JournalEvent, Journaled } from '../../shared/events.ts';
import { addUsage, NO_USAGE, type Usage } from '../../shared/messages.ts';
import { NOTHING_SPENT, type Rates } from '../../shared/spending.ts';
import { archivedEvents, archivedSessions, readArchive } from '../archive-file.ts';
import { openBatchStore } from '../batch/store.ts';
import { decode, isAfter } from '../journal-read.ts';
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
  /** Calls that were answered by a result of before, and what they have spared: the time that such a call takes on average, less their own. */
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
  /** One project, its root and its workspace; absent: all that this Redis and home hold. */
  readonly only?: { readonly root: string; readonly ws: string };
  readonly rates: Rates;
  /** Nothing before it. */
  readonly sinceMs: number;
}

const PAGE = 1000;
/** The result cache says so in the call's description (middleware/result-cache.ts). */
const AS_BEFORE = / \(as before\)$/;

export async function usageReport(question: UsageQuestion): Promise<UsageReport> {
  const { redis, home, only } = question;
  const count = createCount(question);
  const damaged: string[] = [];
  const inRedis = new Set<string>();
  const taskRoots = await rootsOfTasks(redis, only?.root);
  for await (const { sid, root } of sessionsInRedis(question, taskRoots)) {
    inRedis.add(sid);
    const session = count.session(taskRoots.get(sid) ?? root);
    for await (const entry of eventsOf(redis, sid)) session(entry);
  }
  for (const sid of await archivedSessions(home)) {
    if (inRedis.has(sid)) continue;
    try {
      const archive = await readArchive(home, sid);
      if (archive === null) continue;
      const taskRoot = taskRoots.get(sid);
      if (only !== undefined && taskRoot === undefined && archive.header.ws !== only.ws) continue;
      const session = count.session(taskRoot ?? archive.header.root);
      for (const entry of archivedEvents(archive)) session(entry);
    } catch {
      damaged.push(sid);
    }
  }
  return { ...count.report(), damaged };
}

/** The sessions of the batches' tasks, and the project that each works for: of one project, or of all. */
async function rootsOfTasks(redis: OdinRedis, root: string | undefined): Promise<ReadonlyMap<string, string>> {
  const store = openBatchStore(redis);
  const roots = new Map<string, string>();
  for (const batch of await store.list()) {
    if (root !== undefined && batch.root !== root) continue;
    for (const sids of (await store.sessions(batch.bid)).values()) for (const sid of sids) roots.set(sid, batch.root);
  }
  return roots;
}

async function* sessionsInRedis(
  { redis, only }: UsageQuestion,
  tasks: ReadonlyMap<string, string>,
): AsyncGenerator<{ sid: string; root: string }> {
  const rootOf = (sid: string) => redis.hget(keys.session(sid).meta, 'root');
  if (only !== undefined) {
    const own = await redis.zrevrange(keys.workspace(only.ws).sessions, 0, -1);
    for (const sid of new Set([...own, ...tasks.keys()])) {
      const root = await rootOf(sid);
      if (root !== null) yield { sid, root };
    }
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
      yield { sid, root: (await rootOf(sid)) ?? '' };
    }
  } while (cursor !== '0');
}

async function* eventsOf(redis: OdinRedis, sid: string): AsyncGenerator<Journaled> {
  let after = '-';
  for (;;) {
    const entries = await redis.xrange(keys.session(sid).log, after, '+', 'COUNT', PAGE);
    for (const entry of entries) yield decode(entry);
    if (entries.length < PAGE) return;
    after = `(${entries.at(-1)?.[0] ?? ''}`;
  }
}

function createCount({ rates, sinceMs }: UsageQuestion) {
  const models = new Map<string, UsageRow>();
  const tools = new Map<string, ToolRow>();
  /** What the calls of a tool that ran and went well took, whenever. */
  const plain = new Map<string, { calls: number; ms: number }>();
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
    if (AS_BEFORE.test(event.description)) {
      row.cached += 1;
      row.savedMs -= event.durationMs;
    } else if (event.kind === 'ok') {
      const ran = plain.get(tool) ?? { calls: 0, ms: 0 };
      plain.set(tool, { calls: ran.calls + 1, ms: ran.ms + event.durationMs });
    }
  };

  return {
    /** Takes the events of one session, in order. */
    session(project: string): (entry: Journaled) => void {
      let counted = false;
      /** Up to here it is a copy of another session. */
      let copied = '';
      /** The open request of the session, '', and of each subagent. */
      const requests = new Map<string, Accounts['request']>();
      const take = (who: string, event: JournalEvent, isCounted: boolean): void => {
        // From nothing, so that what is spent is what this event adds: at most one call of one model.
        const { spending, request } = foldAccounts(
          { spending: NOTHING_SPENT, request: requests.get(who) ?? null },
          event,
        );
        requests.set(who, request);
        // A subagent's own events, with what its model and tools did.
        if (event.type === 'agent.ev') return take(event.aid, event.event, isCounted);
        const at = event.at ?? 0;
        if (!isCounted || at < sinceMs) return;
        if (!counted) sessions += 1;
        counted = true;
        if (event.type === 'msg.start') messages += 1;
        for (const [model, { usage }] of Object.entries(spending)) spend(at, project, model, usage);
        if (event.type === 'tool.done') toolDone(project, event);
      };
      return ({ id, event }) => {
        if (event.type === 'session.forked') copied = event.upTo;
        else take('', event, copied === '' || isAfter(id, copied));
      };
    },
    report(): Omit<UsageReport, 'damaged'> {
      for (const row of tools.values()) {
        const ran = plain.get(row.tool);
        // Of a tool that was never seen to run it is not known what it takes.
        row.savedMs =
          ran && row.cached > 0 ? Math.max(0, Math.round((row.cached * ran.ms) / ran.calls + row.savedMs)) : 0;
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
