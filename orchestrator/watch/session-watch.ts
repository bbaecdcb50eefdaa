// Watches all sessions of a workspace from outside of the process that runs them. It reads and nothing else: no orchestrator knows of it.
// One pass every so often asks the index which sessions have moved, reads the journals of those that somebody sees or that ask something
// and folds them into cards, and of the others a few and as many more as read-allowance.ts leaves room for, the one that waits longest
// first. So what it takes of the machine and of Redis has a bound, however much is journaled; idle sessions cost nothing but the first
// reading, archived ones are known by their header, and with nobody who wants to know nothing is read.

import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Journaled, Question } from '../../shared/events.ts';
import type { Rates } from '../../shared/spending.ts';
import type { OpenQuestion, SessionSummary } from '../api.ts';
import { summaryOf } from '../inbox.ts';
import { decode, isAfter, startAfter } from '../journal-read.ts';
import { readJournal } from '../journal-source.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';
import { openArchivedList } from './archived-list.ts';
import { createAllowance } from './read-allowance.ts';
import { type CardFold, createCardFold, type SessionCard } from './session-card.ts';
import { archivedSpending } from './session-costs.ts';
import { openSessionIndex } from './session-index.ts';
import { createSessionLooks } from './session-looks.ts';
import { createRunners, META, metaOf } from './session-meta.ts';

export interface WatchedSession extends SessionSummary, SessionCard {
  /** Of another place, such as the working copy of a batch's task: it is watched while somebody looks at it. */
  readonly isGuest: boolean;
  /** Its journal has been read to its end once: what the card says is so. Of an archived one, that its cost is known. */
  readonly isRead: boolean;
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
  /** Sessions whose journals may have grown since they were read. */
  unread(): number;
  /** Somebody wants to know now: the next pass begins at once. */
  wake(): void;
  /** Resolves when all that is there now has been read, or as much of it as `mostMs` allow. */
  catchUp(mostMs: number): Promise<void>;
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
  /** Whether anybody wants to know: nothing is read while nobody does. Default: always. */
  isWanted?(): boolean;
  /** The sessions that somebody sees in a list: they are read before the others. */
  seen?(): Iterable<string>;
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

/** What one answer of Redis says of a session. */
interface Answer {
  readonly meta: Readonly<Record<string, string>>;
  readonly isRun: boolean;
  /** Undefined: the journal was not asked for. */
  readonly log: readonly RawEntry[] | undefined;
}

const EVERY_MS = 300;
/** In so many passes once, what moves nothing in the index is looked at too: titles, edits of the queue, an owner that has died. */
const SWEEP_PASSES = 10;
/** The list of archived sessions, and what has left Redis, is looked up anew. */
const LIST_EVERY_MS = 30_000;
/** Sessions in one round trip, and events of each. */
const CHUNK = 32;
const PAGE = 64;
/** Of those that nobody looks at, what a pass reads however much the others have taken: all come to their turn. */
const FEW = 8;
/** Round trips in which one pass catches up with a session that somebody sees and that is far ahead. */
const MOST_ROUNDS = 8;
/** Archived ones whose costs one pass looks up. */
const MOST_FILES = 4;

export function watchSessions(options: WatchOptions): SessionWatch {
  const { redis, home, ws, rates } = options;
  const everyMs = options.everyMs ?? EVERY_MS;
  const workspace = keys.workspace(ws);
  const archivedList = openArchivedList(home, ws);
  const index = openSessionIndex(redis, ws);
  const allowance = createAllowance(everyMs);
  const entries = new Map<string, Entry>();
  const gone = new Map<string, number>();
  /** Those with questions that wait, as far as it is read. */
  const asked = new Set<string>();
  /** Read for what they ask, the one that waits longest for it first. */
  const askedNow = new Set<string>();
  const looks = createSessionLooks();
  /** Whose journals may have grown since they were read, the one that waits longest first. */
  const unread = new Set<string>();
  /** Up to which event a fork is a copy of another session: that was told when it happened. */
  const copies = new Map<string, string>();
  const listeners = new Set<() => void>();
  const stop = new AbortController();
  /** Those who wait until all that is there has been read. */
  let hurried: { readonly untilMs: number; done(): void }[] = [];
  let wakeUp = (): void => {};
  let rev = 0;
  let askedRev = 0;
  /** Those that were there in the beginning and have not been read yet; null before the first pass. */
  let first: Set<string> | null = null;
  let answered = new Set<string>();
  let passes = 0;
  let listedAt = Number.NEGATIVE_INFINITY;

  const put = (summary: SessionSummary, fold: CardFold, isAsked: boolean, more: Partial<WatchedSession>): void => {
    rev += 1;
    if (isAsked) askedRev = rev;
    const { sid } = summary;
    gone.delete(sid);
    const { isGuest = false, isRead = false } = entries.get(sid)?.shown ?? {};
    entries.set(sid, { summary, fold, rev, shown: { ...summary, ...fold.card(), isGuest, isRead, ...more, rev } });
  };
  const drop = (sid: string): void => {
    if (!entries.delete(sid)) return;
    index.forget(sid);
    asked.delete(sid);
    rev += 1;
    askedRev = rev;
    gone.set(sid, rev);
  };

  /** Of sessions whose journals have more than was read, the ids. */
  const read = async (sids: readonly string[], withLog: boolean, isAlive: Alive): Promise<readonly string[]> => {
    const more: string[] = [];
    for (let i = 0; i < sids.length; i += CHUNK) {
      const chunk = sids.slice(i, i + CHUNK);
      const pipeline = redis.pipeline();
      for (const sid of chunk) {
        const { meta, log } = keys.session(sid);
        const after = entries.get(sid)?.fold.upTo() ?? '0';
        pipeline.hmget(meta, ...META).hget(keys.owners(hostname()), sid);
        if (withLog) pipeline.xrange(log, startAfter(after), '+', 'COUNT', PAGE);
      }
      const replies = (await pipeline.exec()) ?? [];
      // A line that broke says nothing of any session; the next pass asks again.
      const cut = replies.find(([error]) => error !== null && error.name !== 'ReplyError');
      if (cut?.[0]) throw cut[0];
      const width = withLog ? 3 : 2;
      const takeReply = (sid: string, at: number): void => {
        const [meta, owner, log] = [0, 1, 2].map((part) =>
          part < width ? replies[width * at + part]?.[1] : undefined,
        );
        const raw = withLog ? ((log ?? []) as readonly RawEntry[]) : undefined;
        answered.add(sid);
        if (withLog) unread.delete(sid);
        let isAll = withLog;
        try {
          takeAnswer(sid, { meta: metaOf(meta), isRun: isAlive(owner as string | null | undefined), log: raw });
          if (raw?.length === PAGE) {
            more.push(sid);
            isAll = false;
          }
        } catch {
          // What a newer Odin wrote, or nobody: that session stays as it was seen last, and the others are watched all the same.
        }
        if (isAll) first?.delete(sid);
      };
      allowance.spend(() => chunk.forEach(takeReply));
      // What else this process does comes in between.
      await delay(0);
    }
    return more;
  };

  const takeAnswer = (sid: string, { meta, isRun, log }: Answer): void => {
    const entry = entries.get(sid);
    if (meta['ws'] === undefined) {
      asked.delete(sid);
      // It has left for its file while somebody looked: what it did last is read there.
      if (entry && entry.summary.status !== 'archived') looks.forget(sid);
      return;
    }
    const isGuest = meta['ws'] !== ws;
    if (isGuest && !looks.has(sid)) return;
    const told = summaryOf(sid, meta, undefined);
    const summary: SessionSummary = told.status === 'interrupted' && isRun ? { ...told, status: 'running' } : told;
    const fold = entry?.fold ?? createCardFold(rates);
    const before = fold.questions().length;
    if (log !== undefined) takeLog(sid, fold, log, isGuest);
    const after = fold.questions().length;
    if (after > 0 && !isGuest) asked.add(sid);
    else asked.delete(sid);
    const isAsked = before !== after || (log ?? []).some(([, [, text = '']]) => text.includes('"perm.'));
    const isRead = entry?.shown.isRead === true || (log !== undefined && log.length < PAGE);
    const isNews = (log ?? []).length > 0 || isRead !== entry?.shown.isRead;
    if (entry === undefined || isNews || !isSame(entry.summary, summary))
      put(summary, fold, isAsked, { isGuest, isRead });
  };

  const takeLog = (sid: string, fold: CardFold, log: readonly RawEntry[], isGuest: boolean): void => {
    // All or none of them: an event that nobody can read must not have those before it told again with every pass.
    const decoded = log.map((one) => ({ journaled: decode(one), bytes: one[1][1]?.length ?? 0 }));
    for (const { journaled, bytes } of decoded) {
      fold.take(journaled);
      looks.take(sid, journaled.event);
      if (journaled.event.type === 'session.forked') copies.set(sid, journaled.event.upTo);
      else if (!isGuest && isAfter(journaled.id, copies.get(sid) ?? '0-0')) {
        options.onEvent?.(sid, journaled, bytes);
      }
    }
    looks.tell(sid);
  };

  /** Of those whose questions are not what was read last; after a crash some may ask for long without a question, so all in turn. */
  const askNow = (asking: ReadonlySet<string>): readonly string[] => {
    const differ = asked.symmetricDifference(asking);
    for (const sid of askedNow) if (!differ.has(sid)) askedNow.delete(sid);
    const now = [...differ.difference(askedNow), ...askedNow].slice(0, CHUNK);
    // To the end of the line.
    for (const sid of now) askedNow.delete(sid);
    for (const sid of now) askedNow.add(sid);
    return now;
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
      if (summary) put(summary, fold, true, { isGuest: entry?.shown.isGuest ?? entry === undefined, isRead: true });
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
      index.forget(summary.sid);
      put(summary, entry?.fold ?? createCardFold(rates), false, {});
    }
  };

  /** Of archived sessions that somebody sees, what they have cost; their files are read once. */
  const readFiles = async (seen: ReadonlySet<string>): Promise<void> => {
    const wanted = [...seen].map((sid) => entries.get(sid)).filter((entry) => entry?.summary.status === 'archived');
    for (const entry of wanted.filter((one) => one?.shown.isRead === false).slice(0, MOST_FILES)) {
      if (entry === undefined) continue;
      const spending = await archivedSpending(home, entry.summary.sid).catch(() => null);
      const costUsd = spending === null ? null : rates.costOf(spending);
      put(entry.summary, entry.fold, false, { isRead: true, costUsd });
    }
  };

  const pass = async (untilMs: number): Promise<void> => {
    const before = rev;
    const wasReading = !isComplete();
    await list();
    for (const [sid, { shown }] of entries) if (shown.isGuest && !looks.has(sid)) drop(sid);
    await beginLooks();
    const isAlive = createRunners();
    const isWide = passes++ % SWEEP_PASSES === 0;
    const { moved, pending, asking, recent } = await index.read(isWide);
    allowance.begin(pending.size === 0);
    const seen = new Set([...looks.sids(), ...(options.seen?.() ?? [])]);
    const changed = new Set([...moved, ...(isWide ? [...pending, ...recent] : [])]);
    for (const sid of [...changed, ...pending]) unread.add(sid);
    first ??= new Set(moved);
    answered = new Set();
    const isInSight = (sid: string): boolean => seen.has(sid) && (unread.has(sid) || looks.has(sid));
    let near: readonly string[] = [...new Set([...[...seen].filter(isInSight), ...askNow(asking)])];
    for (let round = 0; near.length > 0 && round < MOST_ROUNDS; round++) near = await read(near, true, isAlive);
    for (const sid of near) unread.add(sid);
    for (let part = 0; unread.size > 0 && !stop.signal.aborted; part++) {
      const isFree = allowance.isLeft() || performance.now() < untilMs;
      if (part > 0 && !isFree) break;
      for (const sid of await read([...unread].slice(0, isFree ? CHUNK : FEW), true, isAlive)) unread.add(sid);
    }
    // What a list says of them all: how they stand, and how much waits.
    await read(
      [...changed].filter((sid) => !answered.has(sid)),
      false,
      isAlive,
    );
    await readFiles(seen);
    if (first.size === 0 && wasReading) rev += 1;
    if (rev !== before) for (const listener of listeners) listener();
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      if (hurried.length > 0 || (options.isWanted?.() ?? true)) {
        const waiting = hurried;
        hurried = [];
        // A Redis that is away, a journal that is none: the next pass looks again.
        await pass(Math.max(0, ...waiting.map(({ untilMs }) => untilMs))).catch(() => {});
        for (const { done } of waiting) done();
      }
      if (hurried.length === 0) await rest(allowance.restMs());
    }
    for (const { done } of hurried) done();
  };
  /** Who wakes it often does not make it run all the time. */
  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const earliest = performance.now() + Math.min(ms, everyMs / 3);
      let timer = setTimeout(resolve, stop.signal.aborted ? 0 : ms);
      wakeUp = () => {
        clearTimeout(timer);
        timer = setTimeout(resolve, stop.signal.aborted ? 0 : Math.max(0, earliest - performance.now()));
      };
    });
  const isComplete = (): boolean => first?.size === 0;
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
    since: (known) => ({
      sessions: [...entries.values()].filter((entry) => entry.rev > known).map(({ shown }) => shown),
      gone: [...gone].flatMap(([sid, at]) => (at > known ? [sid] : [])),
      asked: askedRev > known,
    }),
    isComplete,
    unread: () => unread.size,
    wake: () => wakeUp(),
    catchUp: (mostMs) =>
      new Promise((resolve) => {
        if (stop.signal.aborted) return resolve();
        hurried.push({ untilMs: performance.now() + mostMs, done: resolve });
        wakeUp();
      }),
    look(sid, onState) {
      const end = looks.begin(sid, onState);
      wakeUp();
      return end;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      stop.abort();
      wakeUp();
      await running;
    },
  };
}

type Alive = (owner: string | null | undefined) => boolean;

/** A message that has ended asks nothing: of an archived session, its end may not have been read here. */
const openIn = ({ summary: { sid, status }, fold }: Entry): OpenQuestion[] =>
  status === 'archived'
    ? []
    : fold.questions().map(({ op, question, at }) => ({ ...(question satisfies Question), sid, op, askedAt: at }));

const isSame = (a: SessionSummary, b: SessionSummary): boolean =>
  a.updatedAt === b.updatedAt && a.status === b.status && a.queued === b.queued && a.messages === b.messages;
