// Hands a session's public stream to the followers inside the owner's own process, without a detour through Redis.

import type { StreamEvent } from '../shared/stream-events.ts';

export interface EventBus {
  /** Delivered a turn of the event loop later, in the order given: showing an event must not delay what follows from it. */
  publish(sid: string, events: () => readonly StreamEvent[]): void;
  /** Events of a session from now on, until the signal aborts. A slow reader is buffered; it never slows the owner. */
  subscribe(sid: string, signal: AbortSignal): AsyncIterable<StreamEvent>;
}

export function createEventBus(): EventBus {
  const listeners = new Map<string, Set<(events: readonly StreamEvent[]) => void>>();
  const due: { readonly sid: string; readonly events: () => readonly StreamEvent[] }[] = [];
  const deliver = () => {
    for (const { sid, events } of due.splice(0)) {
      const made = events();
      for (const listen of listeners.get(sid) ?? []) listen(made);
    }
  };
  return {
    publish(sid, events) {
      if (due.push({ sid, events }) === 1) setImmediate(deliver);
    },
    subscribe(sid, signal) {
      const buffer: StreamEvent[] = [];
      let wake: (() => void) | null = null;
      const listen = (events: readonly StreamEvent[]) => {
        buffer.push(...events);
        wake?.();
      };
      const set = listeners.get(sid) ?? new Set();
      listeners.set(sid, set.add(listen));
      signal.addEventListener('abort', () => wake?.(), { once: true });
      return (async function* () {
        try {
          while (!signal.aborted) {
            yield* buffer.splice(0);
            if (buffer.length > 0 || signal.aborted) continue;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            wake = null;
          }
          yield* buffer.splice(0);
        } finally {
          set.delete(listen);
          if (set.size === 0) listeners.delete(sid);
        }
      })();
    },
  };
}
