// Hands a session's public stream to the followers inside the owner's own process, without a detour through Redis.

import type { StreamEvent } from '../shared/stream-events.ts';

export interface EventBus {
  publish(sid: string, events: readonly StreamEvent[]): void;
  /** Events of a session from now on, until the signal aborts. A slow reader is buffered; it never slows the owner. */
  subscribe(sid: string, signal: AbortSignal): AsyncIterable<StreamEvent>;
}

export function createEventBus(): EventBus {
  const listeners = new Map<string, Set<(events: readonly StreamEvent[]) => void>>();
  return {
    publish(sid, events) {
      if (events.length === 0) return;
      for (const listen of listeners.get(sid) ?? []) listen(events);
    },
    subscribe(sid, signal) {
      const buffer: StreamEvent[] = [];
      let wake: (() => void) | null = null;
      // Woken a turn of the event loop later: showing an event must not delay what follows from it.
      const listen = (events: readonly StreamEvent[]) => {
        buffer.push(...events);
        if (buffer.length === events.length) setImmediate(() => wake?.());
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
