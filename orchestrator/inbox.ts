// The messages of a workspace's sessions before they run: submit, look, change, remove (SPEC O6), and the list of sessions.
// A message is accepted once per client id, numbered densely from 1, and runs when all before it are done. What runs or has run is
// the journal's (journal.ts); the job that wakes its owner is the queue's (queue.ts).

import { hostname } from 'node:os';
import { ulid } from '../shared/ids.ts';
import type { Limits } from '../shared/limits.ts';
import type { Mode } from '../shared/modes.ts';
import { Bug, UserError } from '../shared/outcome.ts';
import type { SessionSummary } from './api.ts';
import type { ArchivedSessions } from './archive.ts';
import type { Blobs } from './blobs.ts';
import { type InboxMessage, type MessageOptions, messageOf } from './inbox-message.ts';
import type { Owner } from './journal.ts';
import { keys } from './keys.ts';
import { isAlive } from './process-identity.ts';
import type { OdinRedis } from './redis.ts';
import { refusedWith } from './redis-pause.ts';
import type { Turn } from './turn-ticket.ts';

/** Messages that may wait in one session. */
export const INBOX_LIMIT = 100;
const TITLE_CHARS = 80;

export interface Submission {
  readonly sid: string;
  readonly mid: string;
  readonly mode: Mode;
  readonly body: string;
  readonly limits: Partial<Limits>;
  readonly options?: MessageOptions;
  /** False: the session must exist. */
  readonly create: boolean;
}

export interface Submitted {
  readonly seq: number;
  /** Messages before it that are not done. */
  readonly position: number;
  /** True when this client id had been accepted before: it is the same message. */
  readonly duplicate: boolean;
  /** For the queue when it is the session's next; null when it waits for others or is done. */
  readonly wake: Turn | null;
}

export interface Head {
  /** Number of the newest message, 0 when there is none. */
  readonly seq: number;
  /** Number of the newest message that is done. */
  readonly cursor: number;
  /** Number of the newest message that was started. */
  readonly claimed: number;
}

export interface Inbox {
  submit(submission: Submission): Promise<Submitted>;
  /** What has not been started, in order, as changed; removed ones are left out. */
  waiting(sid: string): Promise<readonly InboxMessage[]>;
  removeWaiting(sid: string, seq: number): Promise<void>;
  editWaiting(sid: string, seq: number, change: { readonly body?: string; readonly mode?: Mode }): Promise<void>;
  /** Two that wait exchange all that they say, pictures, limits and commands included; both or none. */
  swapWaiting(sid: string, seq: number, other: number): Promise<void>;
  /** Asks the owner, durably, to tell it to the message that runs; returns that one's number. Throws UserError when that cannot be. */
  steerWaiting(sid: string, seq: number, by: string): Promise<number>;
  /** The message that runs was told it: it is out of the queue. Does nothing when it is not there for that. */
  takeOutTold(sid: string, seq: number): Promise<void>;
  /** Newest activity first. */
  sessions(): Promise<readonly SessionSummary[]>;
  last(): Promise<string | null>;
  /** Throws UserError when this workspace has no such session. */
  head(sid: string): Promise<Head>;
}

/** `archive`: the sessions that are not in Redis any more. Absent: there are none. */
export function openInbox(redis: OdinRedis, blobs: Blobs, ws: string, root: string, archive?: ArchivedSessions): Inbox {
  const workspace = keys.workspace(ws);

  const change = async (sid: string, seq: number, args: readonly string[]): Promise<void> => {
    const { meta, inbox, changes } = keys.session(sid);
    const verdict = await redis.ochange([meta, inbox, changes], [seq, ...args]).catch(UNCHANGED);
    const refusal = REFUSALS[verdict];
    if (refusal !== undefined) throw new UserError(`Message ${seq} ${refusal}`);
  };

  const submit = async (submission: Submission, isRetry = false): Promise<Submitted> => {
    const { sid, mid, mode, body, limits, options, create } = submission;
    const { meta, inbox, mids } = keys.session(sid);
    const payload = await blobs.putPayload(body);
    const [status, first, cursor, gen] = await redis
      .oenq(
        [meta, inbox, mids, workspace.pending, workspace.sessions],
        [
          sid,
          mid,
          mode,
          JSON.stringify(payload),
          JSON.stringify({ ...limits, ...options }),
          Date.now(),
          ws,
          root,
          titleOf(body),
          create ? 1 : 0,
          INBOX_LIMIT,
        ],
      )
      .catch(refusedWith('The message was not taken: send it again then.'));
    if (status === 'unknown') {
      if (!archive || isRetry) throw unknownSession(sid);
      // Whoever comes second finds that it is back already.
      await archive.restore(sid);
      return submit(submission, true);
    }
    if (status === 'elsewhere') throw new UserError(`Session ${sid} belongs to ${first}. Start Odin there.`);
    if (status === 'full') {
      throw new UserError(
        `Session ${sid} has ${first} messages waiting, which is the most. Wait until some are done, or remove some.`,
      );
    }
    const seq = Number(first);
    const isHead = seq === Number(cursor) + 1;
    return {
      seq,
      position: Math.max(0, seq - 1 - Number(cursor)),
      duplicate: status === 'dup',
      wake: isHead ? { sid, seq, mode, gen: Number(gen) } : null,
    };
  };

  return {
    submit: (submission) => submit(submission),

    async waiting(sid) {
      const { meta, inbox, changes } = keys.session(sid);
      const [[, marks], [, entries], [, changed]] = (await redis
        .multi()
        .hmget(meta, 'cursor', 'claimed')
        .xrange(inbox, '-', '+')
        .hgetall(changes)
        .exec()) as [
        [null, (string | null)[]],
        [null, [id: string, fields: string[]][]],
        [null, Record<string, string>],
      ];
      const started = Math.max(...marks.map(Number));
      return entries
        .map(([id, fields]) => {
          const seq = Number.parseInt(id, 10);
          return messageOf(seq, fields, {
            mode: changed[`${seq}:m`] ?? '',
            body: changed[`${seq}:p`] ?? '',
            limits: changed[`${seq}:l`] ?? '',
            removed: `${seq}:x` in changed,
            steered: Number(marks[1]) > Number(marks[0]) && changed[`${seq}:s`] === marks[1],
          });
        })
        .filter((message) => message.seq > started && !message.removed);
    },

    removeWaiting: (sid, seq) => change(sid, seq, ['remove', '', '']),

    async editWaiting(sid, seq, { body, mode }) {
      const payload = body === undefined ? '' : JSON.stringify(await blobs.putPayload(body));
      await change(sid, seq, ['edit', mode ?? '', payload]);
    },

    async swapWaiting(sid, seq, other) {
      const { meta, inbox, changes } = keys.session(sid);
      const [verdict, about] = await redis.oswap([meta, inbox, changes], [seq, other, ulid()]).catch(UNCHANGED);
      const refusal = REFUSALS[verdict];
      if (refusal !== undefined) throw new UserError(`Message ${about} ${refusal}`);
    },

    async steerWaiting(sid, seq, by) {
      const { meta, inbox, changes } = keys.session(sid);
      const [verdict, running] = await redis
        .osteer([meta, inbox, changes, workspace.ctl], [seq, sid, by])
        .catch(UNCHANGED);
      const refusal = REFUSALS[verdict];
      if (refusal !== undefined) throw new UserError(`Message ${seq} ${refusal}`);
      return running;
    },

    async takeOutTold(sid, seq) {
      const { meta, inbox, changes } = keys.session(sid);
      await redis.ochange([meta, inbox, changes], [seq, 'told', '', '']);
    },

    async sessions() {
      const sids = await redis.zrevrange(workspace.sessions, 0, -1);
      const archived = (await archive?.list(ws)) ?? [];
      const [owners, ...metas] = await Promise.all([
        redis.hgetall(keys.owners(hostname())),
        ...sids.map((sid) => redis.hgetall(keys.session(sid).meta)),
      ]);
      const inRedis = sids.map((sid, i) => summaryOf(sid, metas[i] ?? {}, owners[sid]));
      return [...inRedis, ...archived.filter(({ sid }) => !sids.includes(sid))].toSorted(
        (a, b) => b.updatedAt - a.updatedAt,
      );
    },

    last: async () =>
      (await redis.zrevrange(workspace.sessions, 0, 0))[0] ?? (await archive?.list(ws))?.[0]?.sid ?? null,

    async head(sid) {
      const [ofWorkspace, seq, cursor, claimed] = await redis.hmget(
        keys.session(sid).meta,
        'ws',
        'seq',
        'cursor',
        'claimed',
      );
      if (ofWorkspace === null || ofWorkspace === undefined) {
        const old = await archive?.head(sid);
        if (old?.ws === ws) return { seq: old.seq, cursor: old.seq, claimed: old.seq };
      }
      if (ofWorkspace !== ws) throw unknownSession(sid);
      return { seq: Number(seq), cursor: Number(cursor), claimed: Number(claimed) };
    },
  };
}

const UNCHANGED = refusedWith('The queue is as it was: change it again then.');

const REFUSALS: Readonly<Record<string, string>> = {
  missing: 'does not exist. `odin queue` lists the messages that wait.',
  done: 'is done already; only messages that wait can change.',
  running: 'is running; only messages that wait can change. To stop it, cancel it.',
  removed: 'has been removed.',
  steered:
    'is on its way to the message that runs. If that ends first, it stays in the queue and can be changed again.',
  idle: 'cannot be told to a message that runs: none does.',
};

const unknownSession = (sid: string): UserError =>
  new UserError(`There is no session ${sid} in this project. \`odin sessions\` lists them.`);

/** The first line of what was asked, as a title. */
function titleOf(body: string): string {
  const line = body.trim().split('\n', 1)[0]?.trim() ?? '';
  return line.length <= TITLE_CHARS ? line : `${line.slice(0, TITLE_CHARS - 1)}…`;
}

/** A session from its hash in Redis; `ownerText` is who runs it on this host. */
export function summaryOf(
  sid: string,
  meta: Readonly<Record<string, string>>,
  ownerText: string | undefined,
): SessionSummary {
  const number = (name: string): number => Number(meta[name] ?? 0);
  const seq = number('seq');
  const cursor = number('cursor');
  const claimed = number('claimed');
  const queued = seq - Math.max(cursor, claimed) - number('removed');
  const started = claimed > cursor;
  if (queued < 0) throw new Bug(`Session ${sid} has ${queued} messages waiting.`);
  return {
    sid,
    title: meta['title'] ?? '',
    root: meta['root'] ?? '',
    createdAt: number('createdAt'),
    updatedAt: number('updatedAt'),
    messages: seq,
    queued,
    status: started ? (isRunning(ownerText) ? 'running' : 'interrupted') : queued > 0 ? 'queued' : 'idle',
  };
}

function isRunning(ownerText: string | undefined): boolean {
  return ownerText !== undefined && isAlive(JSON.parse(ownerText) as Owner);
}
