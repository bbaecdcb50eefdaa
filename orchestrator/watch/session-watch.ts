// Watches all sessions of a workspace from outside of the process that runs them: one pass every so often reads from Redis what has
// been added to their journals and folds it into cards. It reads and nothing else, and its cost is the reader's: no orchestrator
// knows of it. Idle sessions cost nothing but the first reading; archived ones are known by their header alone.

import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Journaled, Question } from '../../shared/events.ts';
import type { Rates } from '../../shared/spending.ts';
import type { OpenQuestion, SessionSummary } from '../api.ts';
import { openArchive } from '../archive.ts';
import { summaryOf } from '../inbox.ts';
import { decode } from '../journal-read.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';
import { type CardFold, createCardFold, type SessionCard } from './session-card.ts';

export interface WatchedSession extends SessionSummary, SessionCard {
  /** Counts the changes of all sessions: what is above a number that a reader has seen is news to it. */
  readonly rev: number;
}

export interface SessionWatch {
  /** Newest activity first. */
  all(): readonly WatchedSession[];
  get(sid: string): WatchedSession | undefined;
  /** Oldest first. */
  questions(): readonly OpenQuestion[];
  rev(): number;
  /** What changed after `rev`: sessions, those that are gone, and whether the questions did. */
  since(rev: number): {
    readonly sessions: readonly WatchedSession[];
    readonly gone: readonly string[];
    readonly asked: boolean;
  };
  /** Whether every session has been read once. */
  isComplete(): boolean;
  /** Called after every pass that changed something. Returns what ends it. */
  onChange(listener: () => void): () => void;
  /** Resolves when the pass that runs now is over. */
  close(): Promise<void>;
}

export interface WatchOptions {
  readonly redis: OdinRedis;
  readonly home: string;
  readonly ws: string;
  readonly rates: Rates;
  readonly everyMs?: number;
  /** Every event of a journal in Redis, in its session's order, with the bytes that it takes there. */
  onEvent?(sid: string, entry: Journaled, bytes: number): void;
}

interface Entry {
  summary: SessionSummary;
  fold: CardFold;
  rev: number;
  shown: WatchedSession;
}

const EVERY_MS = 300;
/** The list of archived sessions, and what has left Redis, is looked up anew. */
const LIST_EVERY_MS = 30_000;
/** Clocks of the machines that share a Redis differ by less. */
const SKEW_MS = 60_000;
/** Sessions in one round trip, and events of each. */
const CHUNK = 16;
const PAGE = 200;

export function watchSessions(options: WatchOptions): SessionWatch {
  const { redis, ws, rates } = options;
  const workspace = keys.workspace(ws);
  const entries = new Map<string, Entry>();
  const gone = new Map<string, number>();
  const listeners = new Set<() => void>();
  const stop = new AbortController();
  let rev = 0;
  let askedRev = 0;
  let complete = false;
  let newestScore = 0;
  let listedAt = Number.NEGATIVE_INFINITY;

  const put = (summary: SessionSummary, fold: CardFold, isAsked: boolean): void => {
    rev += 1;
    if (isAsked) askedRev = rev;
    const { sid } = summary;
    gone.delete(sid);
    entries.set(sid, { summary, fold, rev, shown: { ...summary, ...fold.card(), rev } });
  };
  const drop = (sid: string): void => {
    if (!entries.delete(sid)) return;
    rev += 1;
    askedRev = rev;
    gone.set(sid, rev);
  };

  /** Sessions in Redis that may have changed: those that were used lately, and those that have something to do. */
  const due = async (): Promise<readonly string[]> => {
    const since = newestScore === 0 ? 0 : newestScore - SKEW_MS;
    const [recent, pending] = await Promise.all([
      redis.zrevrangebyscore(workspace.sessions, '+inf', String(since), 'WITHSCORES'),
      redis.smembers(workspace.pending),
    ]);
    const sids = new Set<string>();
    for (let i = 0; i < recent.length; i += 2) {
      sids.add(recent[i] ?? '');
      newestScore = Math.max(newestScore, Number(recent[i + 1]));
    }
    for (const sid of pending) sids.add(sid);
    return [...sids];
  };

  const readChunk = async (sids: readonly string[], owners: Readonly<Record<string, string>>): Promise<boolean> => {
    const pipeline = redis.pipeline();
    for (const sid of sids) {
      const { meta, log } = keys.session(sid);
      const after = entries.get(sid)?.fold.upTo() ?? '0';
      pipeline.hgetall(meta).xrange(log, after === '0' ? '-' : `(${after}`, '+', 'COUNT', PAGE);
    }
    const replies = (await pipeline.exec()) ?? [];
    let more = false;
    sids.forEach((sid, i) => {
      const meta = replies[2 * i]?.[1] as Record<string, string> | undefined;
      const log = replies[2 * i + 1]?.[1] as [id: string, fields: string[]][] | undefined;
      if (meta?.['ws'] !== ws || log === undefined) return;
      take(sid, summaryOf(sid, meta, owners[sid]), log);
      more ||= log.length === PAGE;
    });
    return more;
  };

  const take = (sid: string, summary: SessionSummary, log: readonly [id: string, fields: string[]][]): void => {
    const entry = entries.get(sid);
    const fold = entry?.fold ?? createCardFold(rates);
    const before = fold.questions().length;
    for (const one of log) {
      const journaled = decode(one);
      fold.take(journaled);
      options.onEvent?.(sid, journaled, one[1][1]?.length ?? 0);
    }
    const isAsked = before !== fold.questions().length || log.some(([, [, text = '']]) => text.includes('"perm.'));
    if (entry === undefined || log.length > 0 || !isSame(entry.summary, summary)) put(summary, fold, isAsked);
  };

  const list = async (): Promise<void> => {
    if (performance.now() - listedAt < LIST_EVERY_MS) return;
    listedAt = performance.now();
    const [inRedis, archived] = await Promise.all([
      redis.zrevrange(workspace.sessions, 0, -1),
      openArchive({ redis, home: options.home }).list(ws),
    ]);
    const known = new Set([...inRedis, ...archived.map(({ sid }) => sid)]);
    for (const sid of entries.keys()) if (!known.has(sid)) drop(sid);
    const live = new Set(inRedis);
    for (const summary of archived) {
      const entry = entries.get(summary.sid);
      if (live.has(summary.sid) || (entry && isSame(entry.summary, summary))) continue;
      put(summary, entry?.fold ?? createCardFold(rates), false);
    }
  };

  const pass = async (): Promise<void> => {
    const before = rev;
    await list();
    const owners = await redis.hgetall(keys.owners(hostname()));
    let sids = await due();
    while (sids.length > 0 && !stop.signal.aborted) {
      const again: string[] = [];
      for (let i = 0; i < sids.length; i += CHUNK) {
        const chunk = sids.slice(i, i + CHUNK);
        if (await readChunk(chunk, owners)) again.push(...chunk);
        // What else this process does comes in between.
        await delay(0);
      }
      sids = complete ? [] : again;
    }
    complete = true;
    if (rev !== before) for (const listener of listeners) listener();
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      // A Redis that is away, a journal that is none: the next pass looks again.
      await pass().catch(() => {});
      await delay(options.everyMs ?? EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  const running = run();

  return {
    all: () => [...entries.values()].map(({ shown }) => shown).toSorted((a, b) => b.updatedAt - a.updatedAt),
    get: (sid) => entries.get(sid)?.shown,
    questions: () => [...entries.values()].flatMap(openIn).toSorted((a, b) => a.askedAt - b.askedAt),
    rev: () => rev,
    since: (seen) => ({
      sessions: [...entries.values()].filter((entry) => entry.rev > seen).map(({ shown }) => shown),
      gone: [...gone].flatMap(([sid, at]) => (at > seen ? [sid] : [])),
      asked: askedRev > seen,
    }),
    isComplete: () => complete,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      stop.abort();
      await running;
    },
  };
}

const openIn = ({ summary: { sid }, fold }: Entry): OpenQuestion[] =>
  fold.questions().map(({ op, question, at }) => ({ ...(question satisfies Question), sid, op, askedAt: at }));

const isSame = (a: SessionSummary, b: SessionSummary): boolean =>
  a.updatedAt === b.updatedAt && a.status === b.status && a.queued === b.queued && a.messages === b.messages;
