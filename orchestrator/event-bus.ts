// Hands a session's public stream to the followers inside the owner's own process, without a detour through Redis.

import type { StreamEvent } from '../shared/stream-events.ts';

export interface EventBus {
  /**
   * Delivered when the event loop has gone round twice without a new one, in the order given: showing an event must not delay what
   * follows from it, and a request to the model that does leaves a turn later (Node's fetch first looks whether the connection stands).
   */
  publish(sid: string, events: () => readonly StreamEvent[]): void;
  /** Events of a session from now on, until the signal aborts. A slow reader never slows the owner: see `lostFrom`. */
  subscribe(sid: string, signal: AbortSignal): Subscription;
}

export interface Subscription extends AsyncIterable<StreamEvent> {
  /**
   * A reader so slow that its events would fill the memory loses what waits for it, and its subscription ends there. This is then the
   * id of the first event of the journal that it did not get; it reads on from there. Null: it got everything.
   */
  readonly lostFrom: string | null;
}

const QUIET_TURNS = 2;
/** Where something is published in every turn, nobody waits longer than this. */
const MOST_TURNS = 16;

/** Events that wait for one reader. What is only for eyes is dropped first. */
const MOST_WAITING = 10_000;

export function createEventBus(): EventBus {
  const listeners = new Map<string, Set<(events: readonly StreamEvent[]) => void>>();
  const due: { readonly sid: string; readonly events: () => readonly StreamEvent[] }[] = [];
  const deliver = () => {
    for (const { sid, events } of due.splice(0)) {
      const made = events();
      for (const listen of listeners.get(sid) ?? []) listen(made);
    }
  };
  let turns = 0;
  let quietTurns = 0;
  const turn = () => {
    turns += 1;
    quietTurns += 1;
    if (quietTurns < QUIET_TURNS && turns < MOST_TURNS) setImmediate(turn);
    else deliver();
  };
  return {
    publish(sid, events) {
      quietTurns = 0;
      if (due.push({ sid, events }) > 1) return;
      turns = 0;
      setImmediate(turn);
    },
    subscribe(sid, signal) {
      let buffer: StreamEvent[] = [];
      let lostFrom: string | null = null;
      let wake: (() => void) | null = null;
      const set = listeners.get(sid) ?? new Set();
      const stop = () => {
        signal.removeEventListener('abort', leave);
        set.delete(listen);
        if (set.size === 0 && listeners.get(sid) === set) listeners.delete(sid);
      };
      // Also when nobody has begun to read: what is iterated never is never ended either.
      const leave = () => {
        stop();
        wake?.();
      };
      const listen = (events: readonly StreamEvent[]) => {
        buffer.push(...events);
        if (buffer.length > MOST_WAITING) buffer = buffer.filter(({ id }) => id !== null);
        if (buffer.length > MOST_WAITING) {
          lostFrom = buffer[0]?.id ?? null;
          buffer = [];
          stop();
        }
        wake?.();
      };
      listeners.set(sid, set.add(listen));
      signal.addEventListener('abort', leave, { once: true });
      const events = (async function* () {
        try {
          while (!signal.aborted && lostFrom === null) {
            yield* buffer.splice(0);
            if (buffer.length > 0 || signal.aborted || lostFrom !== null) continue;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            wake = null;
          }
          yield* buffer.splice(0);
        } finally {
          stop();
        }
      })();
      return {
        [Symbol.asyncIterator]: () => events,
        get lostFrom() {
          return lostFrom;
        },
      };
    },
  };
}
