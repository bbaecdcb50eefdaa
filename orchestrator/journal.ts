// How a process becomes the owner of a session for one message (DURABILITY 3 to 5). Event ids are `<epoch>-<n>`: a claim begins a
// new epoch, and Redis itself then refuses what an older owner still sends. What the owner does with it is journal-owner.ts, reading
// is journal-read.ts. A claim does not protect files from an older owner that still runs: that is the caller's (DURABILITY 6).

import { hostname } from 'node:os';
import type { EventOf, Journaled } from '../shared/events.ts';
import { ulid } from '../shared/ids.ts';
import { type InboxMessage, messageOf } from './inbox-message.ts';
import type { Marks } from './journal-marks.ts';
import { type JournalWaits, ownedJournal, type SessionJournal } from './journal-owner.ts';
import { decode, encode, readLog, startAfter } from './journal-read.ts';
import { keys } from './keys.ts';
import { selfIdentity } from './process-identity.ts';
import type { OdinRedis } from './redis.ts';

export interface ClaimRequest {
  readonly sid: string;
  readonly seq: number;
  readonly ws: string;
  readonly claim: EventOf<'claim'>;
  /** What the caller has folded already; the log begins after it. Default: nothing. */
  readonly after?: string;
  /** Where this machine notes how far journals have come. Absent: a Redis that goes back goes unnoticed. */
  readonly marks?: Marks;
  readonly waits?: JournalWaits;
  /** The job that runs it, so that another process can put it back when this one dies. */
  readonly job?: { readonly id: string; readonly token: string };
  /** The caller saw the process die that ran the message alone. */
  readonly sawCrash?: boolean;
}

export type ClaimResult =
  /** The message is done already. */
  | { readonly status: 'done' }
  /** Another message comes first. */
  | { readonly status: 'notyet' }
  /** The session is another project's: whoever woke it here is not one of ours (SAFETY 6). */
  | { readonly status: 'foreign' }
  /** Redis has lost events of the session that it had acknowledged. */
  | { readonly status: 'rewound'; readonly newest: string }
  | {
      readonly status: 'ok';
      readonly journal: SessionJournal;
      /** As it was submitted or changed since. A removed one is finished at once, as cancelled. */
      readonly message: InboxMessage;
      /** Where the log begins: the request's `after`, or '0' when the journal does not have that event. */
      readonly after: string;
      /** All events so far after `after`, the new claim last. */
      readonly log: readonly Journaled[];
      /** Processes that died while they ran this message, perhaps of another one's fault. */
      readonly crashes: number;
      /** Those of them that ran nothing else, and whose parent saw it. */
      readonly crashesAlone: number;
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
 * Nothing is named where the session has ended meanwhile or is another's.
 */
export async function nameJob(
  redis: OdinRedis,
  {
    sid,
    ws,
    job,
  }: { readonly sid: string; readonly ws: string; readonly job: { readonly id: string; readonly token: string } },
): Promise<void> {
  const unnamed: Owner = { ...selfIdentity(), ws, jobId: '', token: '' };
  const owner: Owner = { ...unnamed, jobId: job.id, token: job.token };
  await redis.oname([keys.owners(HOST)], [sid, JSON.stringify(unnamed), JSON.stringify(owner)]);
}

const HOST = hostname();
const LOG_IN_CLAIM = 1000;

const NO_WAITS: JournalWaits = { signal: AbortSignal.abort(), onPause: () => {} };

/** Claims the session for a message: one round trip that also brings the message and the log (its first 1,000 events). */
export async function claimSession(redis: OdinRedis, request: ClaimRequest): Promise<ClaimResult> {
  const { sid, seq, ws, claim, job, marks, waits, after = '0' } = request;
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
    [session.meta, session.log, session.inbox, session.changes, keys.owners(HOST), keys.workspace(ws).sessions],
    [
      ...[seq, encode(writer, claim), sid, JSON.stringify(owner), Date.now(), startAfter(after), LOG_IN_CLAIM],
      ...[marks?.read(sid)?.id ?? '', after === '0' ? '' : after, request.sawCrash ? 1 : 0],
    ],
  );
  if (status === 'done' || status === 'notyet' || status === 'foreign') return { status };
  if (status === 'rewound') return { status, newest: String(rest[0]) };
  // What was folded is not what is there: from the beginning, then.
  if (status === 'stale') return claimSession(redis, { ...request, after: '0' });
  const [epoch, fields, mode, body, removed, entries, crashes, crashesAlone, limits] = rest as Claimed;
  const log = entries.map(decode);
  const last = log.at(-1)?.id ?? after;
  return {
    status: 'ok',
    journal: ownedJournal(redis, {
      ...{ sid, seq, ws, epoch, writer },
      pen: marks?.open(sid, seq) ?? null,
      waits: waits ?? NO_WAITS,
    }),
    message: messageOf(seq, fields, { mode, body, limits, removed: removed === 1 }),
    after,
    log: log.length < LOG_IN_CLAIM ? log : [...log, ...(await readLog(redis, sid, last))],
    crashes,
    crashesAlone,
  };
}

type Claimed = [
  epoch: number,
  fields: string[],
  mode: string,
  body: string,
  removed: number,
  entries: [id: string, fields: string[]][],
  crashes: number,
  crashesAlone: number,
  limits: string,
];
