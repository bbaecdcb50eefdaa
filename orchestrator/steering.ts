// What waits in the queue and is to be told to the message that runs (SPEC O6). A request for it is durable (control.ts); the words wait
// here until the next request to the model takes them into the journal, and leave the queue once they are in it. So a message that ends
// before leaves them in the queue, and a crash in between only means that they are taken out again.

import type { EventOf, JournalEvent } from '../shared/events.ts';

/** A message of the queue, by its number there. */
export interface QueuedWord {
  readonly queued: number;
  readonly text: string;
  readonly by: string;
}

export interface Steering {
  /** Twice is once, also when it was told before a crash. */
  add(word: QueuedWord): void;
  /** What the next request takes along, as it is to be journaled. */
  waiting(): readonly EventOf<'word'>[];
  recorded(event: JournalEvent): void;
  /** Out of the queue as soon as it is in the journal. */
  durable(event: JournalEvent): void;
  /** Whether nothing that was told is in the queue. */
  isSettled(): boolean;
  /** Resolves when all that was told is out of the queue: before that the message must not end, or it would be run too. */
  settled(): Promise<void>;
}

export function createSteering(deps: {
  readonly seq: number;
  /** The message's events so far. */
  readonly past: readonly JournalEvent[];
  takeOut(queued: number): Promise<void>;
  now(): number;
}): Steering {
  const { seq, past, takeOut, now } = deps;
  const pending = new Map<number, QueuedWord>();
  const told = new Set<number>();
  const leaving = new Map<number, Promise<unknown>>();

  const recorded = (event: JournalEvent): void => {
    if (event.type !== 'word' || event.queued === undefined) return;
    pending.delete(event.queued);
    told.add(event.queued);
  };
  for (const event of past) recorded(event);

  return {
    add(word) {
      if (!told.has(word.queued)) pending.set(word.queued, word);
    },
    waiting: () =>
      [...pending.values()]
        .toSorted((a, b) => a.queued - b.queued)
        .map(({ queued, text, by }) => ({ type: 'word', seq, queued, text, by, at: now() })),
    recorded,
    durable(event) {
      if (event.type !== 'word' || event.queued === undefined || leaving.has(event.queued)) return;
      // What fails now is tried again before the message ends.
      leaving.set(
        event.queued,
        takeOut(event.queued).then(
          () => told.delete(event.queued as number),
          () => {},
        ),
      );
    },
    isSettled: () => told.size === 0,
    async settled() {
      await Promise.all(leaving.values());
      await Promise.all([...told].map(takeOut));
    },
  };
}
