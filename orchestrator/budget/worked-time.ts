// How long Odin has worked on a message (SPEC E7's limit in time): from its start, waiting for the model, for tools and for answers to
// questions included. What does not count is the time in which no Odin ran: from the last event that a process journaled to the claim of
// the next one. So a message that is resumed the day after has the time left that it had.

import type { JournalEvent } from '../../shared/events.ts';

/** What the journal says of earlier processes; the present one's own time comes on top. */
export function workedMs(past: readonly JournalEvent[]): number {
  let total = 0;
  let before: number | null = null;
  for (const event of past) {
    if (!('at' in event)) continue;
    if (before !== null && event.type !== 'claim') total += Math.max(0, event.at - before);
    before = event.at;
  }
  return total;
}
