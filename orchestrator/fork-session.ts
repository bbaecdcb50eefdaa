// A new session that goes on from any point of another (SPEC E14): the journal up to that point, under the same event ids, behind a
// first event that says where it came from. What was under way there is ended, so that no call dangles. Blobs are shared, being
// named by their content; files in the project are not moved, and messages that wait do not come along.

import { answerText, foldSaid, NOTHING_SAID } from '../agent/answer-text.ts';
import type { EventOf, JournalEvent, Journaled } from '../shared/events.ts';
import { ulid } from '../shared/ids.ts';
import { addUsage, NO_USAGE } from '../shared/messages.ts';
import { UserError } from '../shared/outcome.ts';
import type { RawEntry } from './archive-file.ts';
import type { Blobs } from './blobs.ts';
import { claimEvent } from './claim-event.ts';
import { installSession } from './install-session.ts';
import { encode } from './journal-read.ts';
import { unknownResult } from './journal-rewound.ts';
import { type JournalSource, readJournal } from './journal-source.ts';
import { withBlob, withInlinePayload } from './payloads.ts';
import { replayMessage } from './replay-message.ts';

export interface ForkRequest {
  readonly sid: string;
  readonly title: string;
  readonly ws: string;
  readonly root: string;
  /** An event's id, or a message's number for its end. Absent: the whole journal. */
  readonly at?: string;
  now(): number;
}

export interface Forked {
  readonly sid: string;
  /** The last event that was copied. */
  readonly at: string;
  readonly messages: number;
  /** Number of the message that was under way there and is ended in the fork, or null. */
  readonly cut: number | null;
}

/** Throws UserError when there is no such session or event. */
export async function forkSession(source: JournalSource, blobs: Blobs, request: ForkRequest): Promise<Forked> {
  const { sid, title, ws, root } = request;
  const log = await readJournal(source, sid);
  if (log.length === 0) throw new UserError(`Session ${sid} has no events yet: there is nothing to fork.`);
  const copied = copyOf(log.slice(0, cutAt(log, sid, request.at) + 1));
  const at = copied.at(-1)?.id ?? '0-0';
  const fork = ulid(request.now());
  const writer = ulid();
  const ending = await endingOf(copied, blobs, request.now);
  const epoch = Number.parseInt(at, 10);
  const origin: JournalEvent = { type: 'session.forked', sid: fork, from: sid, upTo: at, at: request.now() };
  const entries: RawEntry[] = [
    ['0-1', encode(writer, origin)],
    ...copied.map(({ id, event }): RawEntry => [id, encode(writer, event)]),
    ...ending.map((event, n): RawEntry => [`${epoch + 1}-${n}`, encode(writer, event)]),
  ];
  const messages = Math.max(0, ...[...copied.map(({ event }) => event), ...ending].map(numberOf));
  await installSession(source.redis, {
    ...{ sid: fork, ws, root, title, createdAt: request.now(), updatedAt: request.now(), entries },
    seq: messages,
    epoch: ending.length > 0 ? epoch + 1 : epoch,
    mids: Object.fromEntries(
      copied.flatMap(({ event }) => (event.type === 'msg.start' ? [[event.mid, event.seq]] : [])),
    ),
  });
  return { sid: fork, at, messages, cut: ending.length > 0 ? messages : null };
}

/** Claims name processes that own the other session, not this one; those at the end have nothing behind them. */
function copyOf(log: readonly Journaled[]): readonly Journaled[] {
  const end = log.findLastIndex(({ event }) => event.type !== 'claim') + 1;
  return log.slice(0, end).map(({ id, event }) => ({
    id,
    event: event.type === 'claim' ? { ...event, pid: 0, startTime: 'forked' } : event,
  }));
}

/** Index of the last event to copy. */
function cutAt(log: readonly Journaled[], sid: string, at: string | undefined): number {
  if (at === undefined) return log.length - 1;
  const isMessage = /^\d+$/.test(at);
  const found = isMessage
    ? log.findLastIndex(({ event }) => event.type === 'msg.done' && event.seq === Number(at))
    : log.findIndex(({ id }) => id === at);
  if (found >= 0) return found;
  throw new UserError(
    isMessage
      ? `Session ${sid} has no message ${at} that is done. \`odin sessions show ${sid}\` shows its messages.`
      : `Session ${sid} has no event ${at}. \`odin sessions export ${sid}\` shows its events; an id looks like ${log.at(-1)?.id}.`,
  );
}

/** A message is there once it has begun or ended; a claim alone leaves its number to the next one. */
const numberOf = (event: JournalEvent): number =>
  event.type === 'msg.start' || event.type === 'msg.done' ? event.seq : 0;

const CUT =
  'Not known here: the session was forked before this call had its result. Make it again if it is still needed.';

/**
 * What ends the message that was under way, as its machine would: a claim, a cancel, a result for every open call, the end. Nothing when
 * none was.
 */
async function endingOf(
  copied: readonly Journaled[],
  blobs: Blobs,
  now: () => number,
): Promise<readonly JournalEvent[]> {
  const from = copied.findLastIndex(({ event }) => event.type === 'msg.start' || event.type === 'msg.done');
  const start = copied[from]?.event;
  if (start?.type !== 'msg.start') return [];
  const { seq } = start;
  const replayed = replayMessage(start);
  const past: JournalEvent[] = [];
  for (const { event } of copied.slice(from))
    past.push(await withInlinePayload(event, (blob) => blobs.getPayload({ blob })));
  for (const event of past) replayed.take(event);
  const ending: JournalEvent[] = [claimEvent(seq, now())];
  // Cut between its last step and its end, it has come to that end.
  if (replayed.finish() === null) {
    ending.push(
      { type: 'cancel', seq, by: 'fork', at: now() },
      ...openCalls(past).map((call) => unknownResult(call, CUT, now())),
    );
    for (const event of ending) replayed.take(event);
  }
  const { status, failure, steps } = replayed.finish() ?? { status: 'cancelled', failure: null, steps: 0 };
  const said = past.reduce(foldSaid, NOTHING_SAID);
  const finish = { type: 'finish', status, failure, steps } as const;
  ending.push({
    ...{ type: 'msg.done', seq, status, steps },
    answer: { inline: start.command ? '[Cancelled.]' : answerText(finish, said, start.limits.maxSteps) },
    ...(failure === null ? {} : { failure }),
    usage: past.reduce((sum, event) => (event.type === 'llm.res' ? addUsage(sum, event.usage) : sum), NO_USAGE),
    at: now(),
  });
  return Promise.all(ending.map((event) => withBlob(event, (text) => blobs.put(text))));
}

/** Calls of the newest answer that have no result. */
function openCalls(past: readonly JournalEvent[]): EventOf<'llm.res'>['calls'] {
  const answer = past.findLast((event) => event.type === 'llm.res');
  const settled = new Set(past.flatMap((event) => (event.type === 'tool.done' ? [event.op] : [])));
  return answer?.stop === 'tool_calls' ? answer.calls.filter(({ op }) => !settled.has(op)) : [];
}
