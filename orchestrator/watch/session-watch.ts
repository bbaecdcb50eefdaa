// Watches all sessions of a workspace from outside of the process that runs them: one pass every so often reads from Redis what has
// been added to their journals and folds it into cards. It reads and nothing else, and its cost is the reader's: no orchestrator
// knows of it. Idle sessions cost nothing but the first reading; archived ones are known by their header alone, until one is opened.

import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Journaled, Question } from '../../shared/events.ts';
import type { Rates } from '../../shared/spending.ts';
import type { OpenQuestion, SessionSummary } from '../api.ts';
import { summaryOf } from '../inbox.ts';
import { decode, isAfter } from '../journal-read.ts';
import { readJournal } from '../journal-source.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';
import { openArchivedList } from './archived-list.ts';
import { type CardFold, createCardFold, type SessionCard } from './session-card.ts';
import { createSessionLooks } from './session-looks.ts';
import { META, metaOf, runnersOf } from './session-meta.ts';

export interface WatchedSession extends SessionSummary, SessionCard {
  /** Of another place, such as the working copy of a batch's task: it is watched while somebody looks at it. */
  readonly isGuest: boolean;
  /** Counts the changes of all sessions: what is above a number that a reader has seen is news to it. */
  readonly rev: number;
}

export interface SessionWatch {
  /** Those of the workspace, newest activity first. */
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
  /**
   * Somebody looks at the session, which may be of another workspace: it is read at least as often as the others, and its agent
   * machine's state told, now and when it changes. Returns what ends it.
   */
  look(sid: string, onState: (state: string) => void): () => void;
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

type RawEntry = [id: string, fields: string[]];

interface Entry {
  summary: SessionSummary;
  fold: CardFold;
  rev: number;
  shown: WatchedSession;
}

const EVERY_MS = 300;
/** When many sessions are busy a pass takes its time; so much it leaves to others before the next, at the most. */
const MOST_WAIT_MS = 1_000;
const DUTY = 4;
/** The list of archived sessions, and what has left Redis, is looked up anew. */
const LIST_EVERY_MS = 30_000;
/** Clocks of the machines that share a Redis differ by less. */
const SKEW_MS = 60_000;
/** Sessions in one round trip, and events of each. */
const CHUNK = 32;
const PAGE = 64;
/** Round trips in which one pass catches up with the sessions that are far ahead. */
const MOST_ROUNDS = 8;

export function watchSessions(options: WatchOptions): SessionWatch {
  const { redis, home, ws, rates } = options;
  const workspace = keys.workspace(ws);
  const archivedList = openArchivedList(home, ws);
  const entries = new Map<string, Entry>();
  const gone = new Map<string, number>();
  const looks = createSessionLooks();
  /** Up to which event a fork is a copy of another session: that was told when it happened. */
  const copies = new Map<string, string>();
  const listeners = new Set<() => void>();
  const stop = new AbortController();
  let rev = 0;
  let askedRev = 0;
  let complete = false;
  let newestScore = 0;
  let listedAt = Number.NEGATIVE_INFINITY;

  const put = (summary: SessionSummary, fold: CardFold, isAsked: boolean, isGuest = false): void => {
    rev += 1;
    if (isAsked) askedRev = rev;
    const { sid } = summary;
    gone.delete(sid);
    entries.set(sid, { summary, fold, rev, shown: { ...summary, ...fold.card(), isGuest, rev } });
  };
  const drop = (sid: string): void => {
    if (!entries.delete(sid)) return;
    rev += 1;
    askedRev = rev;
    gone.set(sid, rev);
  };

  /** Sessions in Redis that may have changed: those that were used lately, those that have something to do, those looked at. */
  const due = async (): Promise<readonly string[]> => {
    const since = newestScore === 0 ? 0 : newestScore - SKEW_MS;
    const [recent, pending] = await Promise.all([
      redis.zrevrangebyscore(workspace.sessions, '+inf', String(since), 'WITHSCORES'),
      redis.smembers(workspace.pending),
    ]);
    const sids = new Set<string>(looks.sids());
    for (let i = 0; i < recent.length; i += 2) {
      sids.add(recent[i] ?? '');
      newestScore = Math.max(newestScore, Number(recent[i + 1]));
    }
    for (const sid of pending) sids.add(sid);
    return [...sids];
  };

  const readChunk = async (sids: readonly string[], isRun: (sid: string) => boolean): Promise<boolean> => {
    const pipeline = redis.pipeline();
    for (const sid of sids) {
      const { meta, log } = keys.session(sid);
      const after = entries.get(sid)?.fold.upTo() ?? '0';
      pipeline.hmget(meta, ...META).xrange(log, after === '0' ? '-' : `(${after}`, '+', 'COUNT', PAGE);
    }
    const replies = (await pipeline.exec()) ?? [];
    let more = false;
    sids.forEach((sid, i) => {
      const log = replies[2 * i + 1]?.[1] as readonly RawEntry[] | undefined;
      try {
        readOne(sid, metaOf(replies[2 * i]?.[1]), log, isRun);
        more ||= log?.length === PAGE;
      } catch {
        // What a newer Odin wrote, or nobody: that session stays as it was seen last, and the others are watched all the same.
      }
    });
    return more;
  };

  const readOne = (
    sid: string,
    meta: Readonly<Record<string, string>>,
    log: readonly RawEntry[] | undefined,
    isRun: (sid: string) => boolean,
  ): void => {
    if (meta['ws'] === undefined || log === undefined) {
      // It has left for its file while somebody looked: what it did last is read there.
      const entry = entries.get(sid);
      if (entry && entry.summary.status !== 'archived') looks.forget(sid);
      return;
    }
    const isGuest = meta['ws'] !== ws;
    if (isGuest && !looks.has(sid)) return;
    const summary = summaryOf(sid, meta, undefined);
    take(
      sid,
      summary.status === 'interrupted' && isRun(sid) ? { ...summary, status: 'running' } : summary,
      log,
      isGuest,
    );
  };

  const take = (sid: string, summary: SessionSummary, log: readonly RawEntry[], isGuest: boolean): void => {
    const entry = entries.get(sid);
    const fold = entry?.fold ?? createCardFold(rates);
    const before = fold.questions().length;
    // All or none of them: an event that nobody can read must not have those before it told again with every pass.
    for (const { journaled, bytes } of log.map((one) => ({ journaled: decode(one), bytes: one[1][1]?.length ?? 0 }))) {
      fold.take(journaled);
      looks.take(sid, journaled.event);
      if (journaled.event.type === 'session.forked') copies.set(sid, journaled.event.upTo);
      else if (!isGuest && isAfter(journaled.id, copies.get(sid) ?? '0-0')) {
        options.onEvent?.(sid, journaled, bytes);
      }
    }
    looks.tell(sid);
    const isAsked = before !== fold.questions().length || log.some(([, [, text = '']]) => text.includes('"perm.'));
    if (entry === undefined || log.length > 0 || !isSame(entry.summary, summary)) {
      put(summary, fold, isAsked, isGuest);
    }
  };

  /** What somebody has begun to look at: its state from the start of its newest message; of an archived one, also its card. */
  const beginLooks = async (): Promise<void> => {
    for (const sid of looks.unread()) {
      const entry = entries.get(sid);
      const isInRedis = (await redis.exists(keys.session(sid).meta)) === 1;
      // What is in Redis is read by the pass, which comes next.
      if (isInRedis && entry === undefined) continue;
      const fold = entry?.fold ?? createCardFold(rates);
      // A damaged file is told of where it is shown; the other sessions are watched all the same.
      const journal = await readJournal({ redis, home }, sid, fold.beforeMessage()).catch(() => []);
      looks.read(sid, fold, journal, !isInRedis);
      const summary = isInRedis ? null : await archivedList.one(sid);
      if (summary) put(summary, fold, true, entry?.shown.isGuest ?? entry === undefined);
    }
  };

  const list = async (): Promise<void> => {
    if (performance.now() - listedAt < LIST_EVERY_MS) return;
    listedAt = performance.now();
    const inRedis = new Set(await redis.zrevrange(workspace.sessions, 0, -1));
    const archived = await archivedList.read(inRedis);
    const known = new Set([...inRedis, ...archived.map(({ sid }) => sid)]);
    for (const [sid, { shown }] of entries) if (!known.has(sid) && !shown.isGuest) drop(sid);
    for (const summary of archived) {
      const entry = entries.get(summary.sid);
      if (entry && isSame(entry.summary, summary)) continue;
      put(summary, entry?.fold ?? createCardFold(rates), false);
    }
  };

  const pass = async (): Promise<void> => {
    const before = rev;
    await list();
    for (const [sid, { shown }] of entries) if (shown.isGuest && !looks.has(sid)) drop(sid);
    await beginLooks();
    const isRun = runnersOf(await redis.hgetall(keys.owners(hostname())));
    let sids = await due();
    for (let round = 0; sids.length > 0 && !stop.signal.aborted && (!complete || round < MOST_ROUNDS); round++) {
      const again: string[] = [];
      for (let i = 0; i < sids.length; i += CHUNK) {
        const chunk = sids.slice(i, i + CHUNK);
        if (await readChunk(chunk, isRun)) again.push(...chunk);
        // What else this process does comes in between.
        await delay(0);
      }
      sids = again;
    }
    complete = true;
    if (rev !== before) for (const listener of listeners) listener();
  };

  const run = async (): Promise<void> => {
    const everyMs = options.everyMs ?? EVERY_MS;
    while (!stop.signal.aborted) {
      const since = performance.now();
      // A Redis that is away, a journal that is none: the next pass looks again.
      await pass().catch(() => {});
      const waitMs = Math.max(everyMs, Math.min((performance.now() - since) * (DUTY - 1), MOST_WAIT_MS));
      await delay(waitMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  const running = run();
  const own = () => [...entries.values()].filter(({ shown }) => !shown.isGuest);

  return {
    all: () =>
      own()
        .map(({ shown }) => shown)
        .toSorted((a, b) => b.updatedAt - a.updatedAt),
    get: (sid) => entries.get(sid)?.shown,
    questions: () =>
      own()
        .flatMap(openIn)
        .toSorted((a, b) => a.askedAt - b.askedAt),
    rev: () => rev,
    since: (seen) => ({
      sessions: [...entries.values()].filter((entry) => entry.rev > seen).map(({ shown }) => shown),
      gone: [...gone].flatMap(([sid, at]) => (at > seen ? [sid] : [])),
      asked: askedRev > seen,
    }),
    isComplete: () => complete,
    look: (sid, onState) => looks.begin(sid, onState),
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
