// Reading a session's journal: at once, or as it grows together with the live stream. Readers need no lock and no owner:
// the stream is ordered, complete and append-only, so whoever comes late reads from the id he has.

import { setTimeout as delay } from 'node:timers/promises';
import { type EventOf, JOURNAL_VERSION, type JournalEvent, type Journaled, type LiveEvent } from '../shared/events.ts';
import type { JsonObject } from '../shared/json.ts';
import { Bug } from '../shared/outcome.ts';
import { upcast } from './journal-upcast.ts';
import { keys } from './keys.ts';
import type { LiveEntry } from './live-stream.ts';
import { hangUpOnce, type OdinRedis, type RedisHandle } from './redis.ts';

export type Followed =
  | ({ readonly kind: 'journal' } & Journaled)
  | { readonly kind: 'live'; readonly event: LiveEvent }
  | { readonly kind: 'lost'; readonly event: EventOf<'msg.done'> };

type Entry = [id: string, fields: string[]];

const PAGE = 1000;

/**
 * The bytes of one entry. The writer's nonce makes them its own: nobody else's event at the same id looks the same. `v` is the
 * version the event was written in; 1 goes without saying.
 */
export const encode = (writer: string, event: JournalEvent): string =>
  JSON.stringify({ w: writer, ...(JOURNAL_VERSION === (1 as number) ? {} : { v: JOURNAL_VERSION }), e: event });

export const decode = ([id, fields]: Entry): Journaled => decodeText(id, fields[1] ?? '{}');

/** An entry from its bytes, in today's shape. */
export function decodeText(id: string, text: string): Journaled {
  const { v = 1, e } = JSON.parse(text) as { readonly v?: number; readonly e?: JsonObject };
  if (e === undefined) throw new Bug(`Event ${id} of the journal is not one.`);
  return { id, event: upcast(e, v) };
}

/** XRANGE's word for what comes after an id. */
export const startAfter = (id: string): string => (id === '0' ? '-' : `(${id}`);

/** Events after `fromId` ('0' = from the beginning), all of them or the first `count`. */
export async function readLog(redis: OdinRedis, sid: string, fromId: string, count?: number): Promise<Journaled[]> {
  const { log } = keys.session(sid);
  const events: Journaled[] = [];
  let after = fromId;
  while (count === undefined || events.length < count) {
    const page = Math.min(PAGE, (count ?? Number.POSITIVE_INFINITY) - events.length);
    const entries = await redis.xrange(log, startAfter(after), '+', 'COUNT', page);
    for (const entry of entries) events.push(decode(entry));
    if (entries.length < page) break;
    after = entries[entries.length - 1]?.[0] ?? after;
  }
  return events;
}

/** Id of the newest event, '0' when there is none. */
export async function lastLogId(redis: OdinRedis, sid: string): Promise<string> {
  return (await redis.xrevrange(keys.session(sid).log, '+', '-', 'COUNT', 1))[0]?.[0] ?? '0';
}

/**
 * The journal after `fromId` ('0' = all, '$' = what comes from now on) without gaps or doubles, and what the live stream brings
 * from now on, each live event behind the journal's event that it came after. Ends when the signal aborts.
 */
export async function* followLog(
  handle: RedisHandle,
  sid: string,
  fromId: string,
  signal: AbortSignal,
  gatherMs = 0,
): AsyncGenerator<Followed, void, undefined> {
  const { log, live } = keys.session(sid);
  const [newest, newestLive] = await Promise.all([
    fromId === '$' ? lastLogId(handle.client, sid) : fromId,
    handle.client.xrevrange(live, '+', '-', 'COUNT', 1),
  ]);
  let lastId = newest;
  let lastLive = newestLive[0]?.[0] ?? '0';
  if (signal.aborted) return;
  const reader = await handle.duplicate();
  const stop = hangUpOnce(reader);
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const replies = await reader.xread('COUNT', PAGE, 'BLOCK', 0, 'STREAMS', log, live, lastId, lastLive);
      const entriesOf = (key: string): Entry[] => (replies ?? []).find(([name]) => name === key)?.[1] ?? [];
      const [journaled, shown] = [entriesOf(log), entriesOf(live)];
      lastId = journaled.at(-1)?.[0] ?? lastId;
      lastLive = shown.at(-1)?.[0] ?? lastLive;
      yield* merge(journaled.map(decode), shown);
      // Far behind it goes on at once.
      if (gatherMs > 0 && journaled.length < PAGE) await delay(gatherMs, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** Puts live events, which say after which event they were sent, between the journal's. */
function* merge(journaled: readonly Journaled[], shown: readonly Entry[]): Generator<Followed, void, undefined> {
  let next = 0;
  for (const [, fields] of shown) {
    const { after, events, lost } = JSON.parse(fields[1] ?? '{}') as LiveEntry;
    for (; isUpTo(journaled[next]?.id, after); next++) yield { kind: 'journal', ...(journaled[next] as Journaled) };
    for (const event of events) yield { kind: 'live', event };
    if (lost) yield { kind: 'lost', event: lost };
  }
  for (const entry of journaled.slice(next)) yield { kind: 'journal', ...entry };
}

const isUpTo = (id: string | undefined, limit: string): boolean => id !== undefined && !isAfter(id, limit);

/** Whether event id `a` comes after `b`. */
export function isAfter(a: string, b: string): boolean {
  const [epoch = 0, n = 0] = a.split('-').map(Number);
  const [otherEpoch = 0, otherN = 0] = b.split('-').map(Number);
  return epoch > otherEpoch || (epoch === otherEpoch && n > otherN);
}
