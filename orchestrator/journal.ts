// The journal as its owner sees it: claim a session, append, finish (DURABILITY 3 to 5). Event ids are `<epoch>-<n>`: a claim
// begins a new epoch, and Redis itself then refuses what an older owner still sends.
// Appends of one moment travel together, one batch is under way at a time, and a batch is one script: so a reply lost with the
// connection, after which ioredis sends the batch again, neither doubles nor reorders anything.
// Reading is journal-read.ts. A claim does not protect files from an older owner that still runs: that is the caller's (DURABILITY 6).

import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventOf, JournalEvent, Journaled } from '../shared/events.ts';
import { ulid } from '../shared/ids.ts';
import { isMode, type Mode } from '../shared/modes.ts';
import { Bug } from '../shared/outcome.ts';
import { Fenced, type JournalPort } from '../shared/ports.ts';
import { type InboxMessage, messageOf } from './inbox-message.ts';
import { decode, encode, readLog, startAfter } from './journal-read.ts';
import { keys } from './keys.ts';
import { selfIdentity } from './process-identity.ts';
import type { OdinRedis } from './redis.ts';
import type { Turn } from './turn-ticket.ts';

export interface SessionJournal extends JournalPort {
  readonly epoch: number;
  /** Id of the newest event appended, durable or not yet. */
  readonly lastId: string;
  /** Appends msg.done, waits until it and all before it are durable, and moves the session on to its next message. */
  finish(event: EventOf<'msg.done'>): Promise<Turn | null>;
}

export interface ClaimRequest {
  readonly sid: string;
  readonly seq: number;
  readonly ws: string;
  readonly claim: EventOf<'claim'>;
  /** What the caller has folded already; the log begins after it. Default: nothing. */
  readonly after?: string;
  /** The job that runs it, so that another process can put it back when this one dies. */
  readonly job?: { readonly id: string; readonly token: string };
}

export type ClaimResult =
  /** The message is done already. */
  | { readonly status: 'done' }
  /** Another message comes first. */
  | { readonly status: 'notyet' }
  | {
      readonly status: 'ok';
      readonly journal: SessionJournal;
      /** As it was submitted or changed since. A removed one is finished at once, as cancelled. */
      readonly message: InboxMessage;
      /** All events so far after `after`, the new claim last. */
      readonly log: readonly Journaled[];
    };

/** Who runs a session, in keys.owners(host). */
export interface Owner {
  readonly pid: number;
  readonly startTime: string;
  readonly ws: string;
  readonly jobId: string;
  readonly token: string;
}

/**
 * Names the job that a running session got after it was claimed, so that another process can put it back when this one dies.
 * A session that has ended meanwhile leaves an entry that nobody needs and the next claim overwrites.
 */
export async function nameJob(
  redis: OdinRedis,
  {
    sid,
    ws,
    job,
  }: { readonly sid: string; readonly ws: string; readonly job: { readonly id: string; readonly token: string } },
): Promise<void> {
  const owner: Owner = { ...selfIdentity(), ws, jobId: job.id, token: job.token };
  await redis.hset(keys.owners(hostname()), sid, JSON.stringify(owner));
}

const LOG_IN_CLAIM = 1000;

/** Claims the session for a message: one round trip that also brings the message and the log (its first 1,000 events). */
export async function claimSession(redis: OdinRedis, request: ClaimRequest): Promise<ClaimResult> {
  const { sid, seq, ws, claim, job, after = '0' } = request;
  const session = keys.session(sid);
  const writer = ulid();
  const owner: Owner = {
    pid: claim.pid,
    startTime: claim.startTime,
    ws,
    jobId: job?.id ?? '',
    token: job?.token ?? '',
  };
  const [status, ...rest] = await redis.oclaim(
    [session.meta, session.log, session.inbox, session.changes, keys.owners(hostname()), keys.workspace(ws).sessions],
    [seq, encode(writer, claim), sid, JSON.stringify(owner), Date.now(), startAfter(after), LOG_IN_CLAIM],
  );
  if (status === 'done' || status === 'notyet') return { status };
  const [epoch, fields, mode, body, removed, entries] = rest as [number, string[], string, string, number, Entries];
  const log = entries.map(decode);
  const last = log.at(-1)?.id ?? after;
  return {
    status: 'ok',
    journal: ownedJournal(redis, { sid, seq, ws, epoch, writer }),
    message: messageOf(seq, fields, { mode, body, removed: removed === 1 }),
    log: log.length < LOG_IN_CLAIM ? log : [...log, ...(await readLog(redis, sid, last))],
  };
}

type Entries = [id: string, fields: string[]][];

const BATCH_EVENTS = 200;
/** How long an event that nobody waits for may wait for others to travel with. */
const GATHER_MS = 2;

interface Ownership {
  readonly sid: string;
  readonly seq: number;
  readonly ws: string;
  readonly epoch: number;
  readonly writer: string;
}

interface Queued {
  readonly text: string;
  readonly id: string;
  readonly settled: PromiseWithResolvers<string>;
}

function ownedJournal(redis: OdinRedis, own: Ownership): SessionJournal {
  const session = keys.session(own.sid);
  const queued: Queued[] = [];
  let appended = 0;
  let sent = 0;
  let finished = false;
  let fenced: Fenced | null = null;
  let sending: Promise<void> | null = null;
  let wanted = Promise.withResolvers<void>();

  /** Nothing more is written: all that waits, and all that is still appended, is refused. */
  const fence = (verdict: string): Fenced => {
    fenced ??= new Fenced(
      verdict === 'rewound'
        ? `Redis has lost events of session ${own.sid} that it had acknowledged; its files are older than they were.`
        : `Another process has taken over session ${own.sid}.`,
    );
    for (const entry of queued.splice(0)) entry.settled.reject(fenced);
    return fenced;
  };

  const sendAll = async (): Promise<void> => {
    // Nobody waits yet: what is appended in the next moment travels along, with one fsync for all of it.
    await Promise.race([wanted.promise, delay(GATHER_MS)]);
    while (queued.length > 0) {
      const batch = queued.splice(0, BATCH_EVENTS);
      try {
        const [verdict] = await redis.oappend([session.log], [own.epoch, sent + 1, ...batch.map(({ text }) => text)]);
        if (verdict !== 'ok') throw fence(verdict);
        sent += batch.length;
        for (const entry of batch) entry.settled.resolve(entry.id);
      } catch (error) {
        // Refused by Redis itself (out of memory, read-only) or closed by us: the events of later batches must not overtake.
        const cause = fenced ?? (error as Error);
        for (const entry of [...batch, ...queued.splice(0)]) entry.settled.reject(cause);
        fenced ??= new Fenced(`The journal of session ${own.sid} cannot be written: ${cause.message}`);
      }
    }
    sending = null;
    wanted = Promise.withResolvers<void>();
  };

  const append = (event: JournalEvent): Promise<string> => {
    if (finished) throw new Bug(`${event.type} was appended to a message that is done.`);
    if (fenced !== null) return quiet(Promise.reject(fenced));
    appended += 1;
    const id = `${own.epoch}-${appended}`;
    const entry = { id, text: encode(own.writer, event), settled: Promise.withResolvers<string>() };
    queued.push(entry);
    sending ??= sendAll();
    return quiet(entry.settled.promise);
  };

  const flushed = async (): Promise<void> => {
    if (sending !== null) wanted.resolve();
    while (sending !== null) await sending;
    if (fenced !== null) throw fenced;
  };

  return {
    epoch: own.epoch,
    get lastId() {
      return `${own.epoch}-${appended}`;
    },
    append,
    flushed,
    async finish(event) {
      finished = true;
      await flushed();
      const workspace = keys.workspace(own.ws);
      const [verdict, next, mode] = await redis.odone(
        [
          session.meta,
          session.log,
          session.inbox,
          session.changes,
          keys.owners(hostname()),
          workspace.pending,
          workspace.sessions,
        ],
        [own.epoch, sent + 1, own.seq, own.sid, Date.now(), encode(own.writer, event)],
      );
      if (verdict !== 'ok') throw fence(verdict);
      appended += 1;
      return next === 0 ? null : { sid: own.sid, seq: next, mode: modeOf(mode), gen: 0 };
    },
  };
}

/** A caller that does not wait for an append hears of its failure from the next flushed(), not as an unhandled rejection. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function modeOf(text: string): Mode {
  if (!isMode(text)) throw new Bug(`A queued message has the mode ${JSON.stringify(text)}.`);
  return text;
}
