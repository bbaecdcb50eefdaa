// Publishes what is only for eyes: text as it streams in, progress. Deltas are gathered and sent at 20 Hz, the first at once.
// It never makes the turn wait: what cannot be sent, because Redis is away or a reader's link is slow, is dropped.

import type { EventOf, LiveEvent } from '../shared/events.ts';
import type { OpId } from '../shared/ids.ts';
import type { LivePort } from '../shared/ports.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';

export interface LiveStream extends LivePort {
  /** Sends what is gathered now; await it before journaling what the events lead up to, so that readers get them first. */
  flush(): Promise<void>;
  /** Drops what is gathered of an operation, of a subagent's when it is named: its whole answer is in the journal now. */
  supersede(op: OpId, agent?: string): void;
}

const INTERVAL_MS = 50;
const MAX_ENTRIES = 2000;
const EXPIRE_S = 600;
const MAX_GATHERED_CHARS = 1_000_000;

/** One entry of the stream. */
export interface LiveEntry {
  /** The newest event of the journal when it was sent. */
  readonly after: string;
  readonly events: readonly LiveEvent[];
  /** The end of a message that has no place in the journal, for Redis has forgotten that there was one. */
  readonly lost?: EventOf<'msg.done'>;
}

/** Tells those who follow in other processes what has become of a message that Redis has forgotten. */
export async function publishLost(
  redis: OdinRedis,
  sid: string,
  after: string,
  lost: EventOf<'msg.done'>,
): Promise<void> {
  await add(redis, keys.session(sid).live, { after, events: [], lost });
}

async function add(redis: OdinRedis, key: string, entry: LiveEntry): Promise<void> {
  await Promise.all([
    redis.xadd(key, 'MAXLEN', '~', MAX_ENTRIES, '*', 'd', JSON.stringify(entry)),
    redis.expire(key, EXPIRE_S),
  ]).catch(() => {});
}

/** `position` tells the id of the newest event of the journal, so that readers can put the two streams in order. */
export function openLiveStream(redis: OdinRedis, sid: string, position: () => string): LiveStream {
  const key = keys.session(sid).live;
  let gathered: LiveEvent[] = [];
  let gatheredChars = 0;
  let timer: NodeJS.Timeout | null = null;
  let sentAt = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> | null = null;

  const send = async (): Promise<void> => {
    const events = gathered;
    gathered = [];
    gatheredChars = 0;
    if (events.length === 0 || redis.status !== 'ready') return;
    sentAt = performance.now();
    await add(redis, key, { after: position(), events });
  };
  const sendSoon = (): void => {
    if (timer !== null || sending !== null) return;
    timer = setTimeout(() => void flush(), Math.max(0, sentAt + INTERVAL_MS - performance.now()));
  };
  const flush = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    while (sending !== null) await sending;
    sending = send();
    await sending;
    sending = null;
    if (gathered.length > 0) sendSoon();
  };

  return {
    flush,
    supersede(op, agent) {
      gathered = gathered.filter((event) => event.op !== op || event.agent !== agent);
    },
    publish(event) {
      if (gatheredChars > MAX_GATHERED_CHARS) return;
      gatheredChars += 'delta' in event ? event.delta.length : event.text.length;
      const last = gathered.at(-1);
      const joined = last === undefined ? null : join(last, event);
      if (joined === null) gathered.push(event);
      else gathered[gathered.length - 1] = joined;
      sendSoon();
    },
  };
}

/** Two neighbours as one, when they are parts of one text or states of one progress. */
function join(last: LiveEvent, event: LiveEvent): LiveEvent | null {
  if (last.type !== event.type || last.op !== event.op || last.agent !== event.agent) return null;
  if (last.type === 'args' && event.type === 'args') {
    return last.callId === event.callId ? { ...event, delta: last.delta + event.delta } : null;
  }
  if ('delta' in last && 'delta' in event) return { ...event, delta: last.delta + event.delta };
  return null;
}
