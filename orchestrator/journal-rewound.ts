// What becomes of a session whose journal Redis has lost the end of (DURABILITY 15, test 9): restored from an older dump, or crashed
// without having synced. What the lost events did to files and to the world is done, so nothing of it may run again: every message
// that was begun, as far as this machine's mark knows, is ended with one sentence that says so. Ids go on above the lost ones, so that
// followers see it and an older owner stays out. Messages that had not begun run as ever.

import type { EventOf, JournalEvent, Journaled } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import { NO_USAGE } from '../shared/messages.ts';
import type { Failure } from '../shared/outcome.ts';
import { claimSession } from './journal.ts';
import type { Marks } from './journal-marks.ts';
import { lastLogId } from './journal-read.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';

export interface RewoundSession {
  readonly redis: OdinRedis;
  readonly marks: Marks;
  readonly ws: string;
  readonly sid: string;
  claim(seq: number): EventOf<'claim'>;
  now(): number;
}

/** Ends what was begun, and returns the events that say so. Killed in the middle, it does the rest the next time. */
export async function closeRewound({
  redis,
  marks,
  ws,
  sid,
  claim,
  now,
}: RewoundSession): Promise<readonly Journaled[]> {
  const mark = marks.read(sid);
  const { meta } = keys.session(sid);
  if (mark === null || (await redis.orewound([meta], [Number.parseInt(mark.id, 10)])) === 0) return [];
  const written: Journaled[] = [];
  for (;;) {
    const seq = (await cursorOf(redis, sid)) + 1;
    if (seq > mark.seq) break;
    const claimed = await claimSession(redis, { sid, seq, ws, claim: claim(seq) });
    if (claimed.status !== 'ok') break;
    const { journal, log } = claimed;
    const append = async (event: JournalEvent) => written.push({ id: await journal.append(event), event });
    for (const call of openCalls(log)) await append(unknownResult(call, LOST, now()));
    const end = rewoundEnd(seq, now());
    await journal.finish(end);
    written.push({ id: journal.lastId, event: end });
    journal.release();
  }
  const pen = marks.open(sid, await cursorOf(redis, sid));
  pen.note(await lastLogId(redis, sid));
  pen.close();
  return written;
}

/** The end of a message that was begun and of which Redis no longer knows how far it came. */
export const rewoundEnd = (seq: number, at: number): EventOf<'msg.done'> => ({
  type: 'msg.done',
  seq,
  status: 'planner_failure',
  answer: { inline: `[Failed: ${REWOUND.message}]` },
  failure: REWOUND,
  usage: NO_USAGE,
  steps: 0,
  at,
});

const REWOUND: Failure = {
  kind: 'failed',
  code: 'journal_rewound',
  message:
    'Redis came back with older data, so the newest events of this session are lost. What they did to files stays done and is not done again: look at the files, then go on.',
};

const cursorOf = async (redis: OdinRedis, sid: string): Promise<number> =>
  Number(await redis.hget(keys.session(sid).meta, 'cursor'));

/** Calls of the newest answer that have no result. */
export function openCalls(log: readonly Journaled[]): EventOf<'llm.res'>['calls'] {
  const from = log.findLastIndex(({ event }) => event.type === 'llm.res' || event.type === 'msg.done');
  const answer = log[from]?.event;
  if (answer?.type !== 'llm.res' || answer.stop !== 'tool_calls') return [];
  const settled = new Set(log.slice(from).flatMap(({ event }) => (event.type === 'tool.done' ? [event.op] : [])));
  return answer.calls.filter(({ op }) => !settled.has(op));
}

const LOST = 'Whether this ran is unknown: Redis has lost what came of it. Check before you try again.';

/** The result of a call of which nobody knows what came of it. */
export function unknownResult(
  { op, callId, name }: EventOf<'llm.res'>['calls'][number],
  text: string,
  at: number,
): EventOf<'tool.done'> {
  return {
    ...{ type: 'tool.done', op, callId, name, kind: 'unknown' },
    text: { inline: text },
    description: text,
    affectedFiles: [],
    resultHash: sha256(`unknown|${text}`),
    durationMs: 0,
    at,
  };
}
