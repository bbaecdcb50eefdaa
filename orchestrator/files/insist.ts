// A change that somebody outside disturbs is done again on what they left. Short growing pauses let a burst of theirs pass, and
// only who has been tried for long and often is reported: neither a slow disk nor a quick editor alone makes a change fail.

import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 2_000;
const MIN_TRIES = 20;
const MAX_PAUSE_MS = 25;

/** Undefined when every attempt was disturbed or the signal aborted. An attempt says undefined when it was, and did nothing. */
export async function insist<T>(attempt: () => Promise<T | undefined>, signal?: AbortSignal): Promise<T | undefined> {
  const start = performance.now();
  for (let tries = 1; !signal?.aborted; tries++) {
    const done = await attempt();
    if (done !== undefined) return done;
    if (tries >= MIN_TRIES && performance.now() - start > PATIENCE_MS) return undefined;
    await pause(Math.min(2 ** (tries - 1), MAX_PAUSE_MS));
  }
  return undefined;
}
