// One session in Redis: its journal, and whether what stands beside the journal (how far it came, what waits, where it is listed) is
// what the journal says. The journal is right; the rest is made from it.

import { hostname } from 'node:os';
import type { RawEntry } from '../archive-file.ts';
import { claimEvent } from '../claim-event.ts';
import type { Marks } from '../journal-marks.ts';
import { isAfter } from '../journal-read.ts';
import { closeRewound } from '../journal-rewound.ts';
import { keys } from '../keys.ts';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';
import type { OdinRedis } from '../redis.ts';
import { type CheckedJournal, checkJournal } from './check-journal.ts';
import type { Finding } from './finding.ts';

export interface CheckedSession {
  readonly sid: string;
  readonly ws: string;
  readonly journal: CheckedJournal;
  readonly events: number;
  readonly findings: readonly Finding[];
  /** All that the session says, for whoever looks for what it mentions. */
  readonly texts: readonly string[];
}

const PAGE = 1000;

export async function checkSession(redis: OdinRedis, marks: Marks, sid: string): Promise<CheckedSession | null> {
  const session = keys.session(sid);
  const ws = await redis.hget(session.meta, 'ws');
  if (ws === null) return null;
  const workspace = keys.workspace(ws);
  // Before the journal is looked at: it only grows.
  const mark = marks.read(sid);
  // At one moment; the journal, which only grows, is read up to there.
  const replies = await redis
    .multi()
    .hgetall(session.meta)
    .xrevrange(session.log, '+', '-', 'COUNT', 1)
    .xrange(session.inbox, '-', '+')
    .hgetall(session.changes)
    .sismember(workspace.pending, sid)
    .zscore(workspace.sessions, sid)
    .hget(keys.owners(hostname()), sid)
    .exec();
  const [meta, newest, inbox, changes, pending, listed, owner] = (replies ?? []).map(([, reply]) => reply) as [
    Record<string, string>,
    [string][],
    [string, string[]][],
    Record<string, string>,
    number,
    string | null,
    string | null,
  ];
  const entries = await readRaw(redis, session.log, newest[0]?.[0] ?? '0-0');
  const journal = checkJournal(sid, entries);
  const found: Finding[] = [...journal.findings];
  const number = (field: string): number => Number(meta[field] ?? 0);
  const add = (finding: Omit<Finding, 'where' | 'severity'>) =>
    found.push({ severity: 'warning', where: sid, ...finding });
  const set = (field: string, value: number) => ({
    what: `set ${field} to ${value}`,
    run: async () => void (await redis.hset(session.meta, field, value)),
    ws,
  });

  const readable = !journal.findings.some(({ code }) => code === 'journal_undecodable' || code === 'journal_messages');
  if (readable && number('cursor') !== journal.ended) {
    add({
      code: 'session_cursor',
      message: `Its keys say that ${number('cursor')} messages are done; its journal has ended ${journal.ended}.`,
      repair: set('cursor', journal.ended),
    });
  }
  if (number('epoch') < journal.epoch) {
    add({
      code: 'session_epoch',
      message: `Its keys say epoch ${number('epoch')}; its journal has come to epoch ${journal.epoch}.`,
      repair: set('epoch', journal.epoch),
    });
  }
  if (readable && number('claimed') < Math.max(journal.begun, journal.ended)) {
    const claimed = Math.max(journal.begun, journal.ended);
    add({
      code: 'session_claimed',
      message: `Its keys say that message ${number('claimed')} was begun last; its journal has begun message ${claimed}.`,
      repair: set('claimed', claimed),
    });
  }
  const waiting = new Set(inbox.map(([id]) => Number.parseInt(id, 10)));
  const gone: number[] = [];
  for (let seq = Math.max(journal.ended, number('cursor')) + 1; seq <= number('seq'); seq++) {
    if (!waiting.has(seq)) gone.push(seq);
  }
  if (gone.length > 0) {
    found.push({
      severity: 'error',
      code: 'session_message_lost',
      where: sid,
      message: `Message ${gone.join(', ')} was accepted and is not there any more. Send it again in a new session: odin sessions fork ${sid}`,
    });
  }
  const isPending = number('seq') > Math.max(journal.ended, number('cursor'));
  if (isPending !== (pending === 1)) {
    add({
      code: 'session_pending',
      message: isPending
        ? 'A message waits and nobody is told.'
        : 'It is said to have messages that wait, and has none.',
      repair: {
        what: isPending ? 'tell who runs the project' : 'take it from the list of those that wait',
        run: async () =>
          void (await (isPending ? redis.sadd(workspace.pending, sid) : redis.srem(workspace.pending, sid))),
        ws,
      },
    });
  }
  if (listed === null) {
    add({
      code: 'session_unlisted',
      message: "It is missing from the list of its project's sessions.",
      repair: {
        what: 'list it',
        run: async () => void (await redis.zadd(workspace.sessions, meta['updatedAt'] ?? 0, sid)),
      },
    });
  }
  if (owner !== null && !isPending && !isAlive(JSON.parse(owner) as ProcessIdentity)) {
    add({
      code: 'owner_dead',
      message: 'A process that is gone is named as its owner, and nothing of it is under way.',
      repair: { what: 'take the name away', run: async () => void (await redis.hdel(keys.owners(hostname()), sid)) },
    });
  }
  if (mark !== null && isAfter(mark.id, journal.lastId)) {
    found.push({
      severity: 'error',
      code: 'session_rewound',
      where: sid,
      message: `Redis came back with older data: events after ${journal.lastId}, up to ${mark.id}, are lost. Restore a newer copy of Redis, or let --repair end what was under way; files stay as they are.`,
      repair: {
        what: 'end the messages that were begun, without running anything again',
        ws,
        run: async () => {
          const now = Date.now;
          const claim = (seq: number) => claimEvent(seq, now());
          const written = await closeRewound({ redis, marks, ws, sid, claim, now });
          return `ended ${written.filter(({ event }) => event.type === 'msg.done').length} messages`;
        },
      },
    });
  }
  const texts = [
    ...entries.map(([, text]) => text),
    ...inbox.map(([, fields]) => fields.join(' ')),
    ...Object.values(changes),
  ];
  return { sid, ws, journal, events: entries.length, findings: found, texts };
}

async function readRaw(redis: OdinRedis, log: string, lastId: string): Promise<readonly RawEntry[]> {
  const entries: RawEntry[] = [];
  for (let from = '-'; ; from = `(${entries.at(-1)?.[0]}`) {
    const page = await redis.xrange(log, from, lastId, 'COUNT', PAGE);
    for (const [id, fields] of page) entries.push([id, fields[1] ?? '']);
    if (page.length < PAGE) return entries;
  }
}
