// How long to wait before the model is asked again (SPEC E9): soon at first, then ever longer, never less than the provider asks,
// and spread by chance, so that many agents that failed together do not come back together.

import { MAX_RETRY_AFTER_MS } from '../machines/agent/planner-failure.ts';

const FIRST_MS = 500;
const FACTOR = 3;
const LONGEST_MS = 30_000;

/** No wait is longer: the machine takes no Retry-After over its limit. */
export const LONGEST_DELAY_MS = MAX_RETRY_AFTER_MS + FIRST_MS;

/** Milliseconds to wait after try number `attempt` (from 1) failed. */
export function retryDelayMs(
  attempt: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(FIRST_MS * FACTOR ** (attempt - 1), LONGEST_MS);
  const own = ceiling / 2 + (random() * ceiling) / 2;
  const asked = retryAfterMs === undefined ? 0 : retryAfterMs + random() * FIRST_MS;
  return Math.round(Math.max(own, asked));
}
