// A session's public stream for whoever wants to see it (SPEC O4): from the owner's own bus, or from Redis in any other process.

import type { EventOf, JournalEvent } from '../shared/events.ts';
import type { Rates } from '../shared/spending.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import { createStreamView, type StreamView } from '../shared/stream-view.ts';
import type { Blobs } from './blobs.ts';
import type { EventBus } from './event-bus.ts';
import { followLog, isAfter } from './journal-read.ts';
import { type JournalSource, newestId, readArchivedAfter, readJournal } from './journal-source.ts';
import { withInlinePayload } from './payloads.ts';
import type { RedisHandle } from './redis.ts';

export interface FollowOptions {
  readonly from: string;
  readonly signal: AbortSignal;
  /** What comes so long after an event is taken together with it. Absent: all comes at once. */
  readonly gatherMs?: number;
  /** Price what is followed. Absent: costs and windows are unknown. */
  readonly rates?: Rates;
}

/** Any process: the journal after `from` and the live stream, through Redis. What `from` means is fixed when this is called. */
export function followFromRedis(
  handle: RedisHandle,
  source: JournalSource,
  blobs: Blobs,
  sid: string,
  { from, gatherMs = 0, signal, rates }: FollowOptions,
): AsyncIterable<StreamEvent> {
  const start = from === '$' ? newestId(source, sid) : Promise.resolve(from);
  start.catch(() => {});
  return (async function* () {
    let after = await start;
    const view = await viewUpTo(source, blobs, sid, after, rates);
    // An archived one is not in Redis; what is in its file comes first, then whatever follows when it comes back.
    for (const { id, event } of await readArchivedAfter(source, sid, after)) {
      yield* view.journaled(id, await inline(blobs, event));
      after = id;
    }
    for await (const item of followLog(handle, sid, after, signal, gatherMs)) {
      if (item.kind === 'live') yield* view.live(item.event, Date.now());
      else if (item.kind === 'lost') yield* lostView(view, item.event);
      else yield* view.journaled(item.id, await inline(blobs, item.event));
    }
  })();
}

/**
 * The owner: the journal after `from` out of Redis, then its own bus, without a gap or a double between the two. A reader that falls
 * far behind catches up from the journal.
 */
export function followOwn(
  source: JournalSource,
  blobs: Blobs,
  bus: EventBus,
  sid: string,
  { from, signal, rates }: FollowOptions,
): AsyncIterable<StreamEvent> {
  let live = bus.subscribe(sid, signal);
  return (async function* () {
    // Of the journal, everything up to here has been read.
    let read = '0';
    const catchUp = async function* (isWanted: (id: string) => boolean) {
      const view = createStreamView(sid, rates);
      for (const { id, event } of await readJournal(source, sid)) {
        const events = view.journaled(id, await inline(blobs, event));
        read = id;
        if (isWanted(id)) yield* events;
      }
    };
    if (from !== '$') yield* catchUp((id) => isAfter(id, from));
    for (;;) {
      for await (const event of live) {
        if (event.id === null || isAfter(event.id, read)) yield event;
      }
      const { lostFrom } = live;
      if (lostFrom === null || signal.aborted) return;
      live = bus.subscribe(sid, signal);
      yield* catchUp((id) => !isAfter(lostFrom, id));
    }
  })();
}

/** The end of a message that has no place in the journal. */
export const lostView = (view: StreamView, end: EventOf<'msg.done'>): readonly StreamEvent[] =>
  view.journaled('', end).map((event) => ({ ...event, id: null }));

/** A view that knows what came before `id`: which message runs and which calls are open. */
async function viewUpTo(
  source: JournalSource,
  blobs: Blobs,
  sid: string,
  id: string,
  rates: Rates | undefined,
): Promise<StreamView> {
  const view = createStreamView(sid, rates);
  if (id === '0' || id === '0-0') return view;
  for (const { id: seen, event } of await readJournal(source, sid)) {
    if (isAfter(seen, id)) break;
    view.journaled(seen, await inline(blobs, event));
  }
  return view;
}

const inline = (blobs: Blobs, event: JournalEvent): Promise<JournalEvent> =>
  withInlinePayload(event, (blob) => blobs.getPayload({ blob }));
