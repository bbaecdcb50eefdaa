// How long to wait before the model is asked again (SPEC E9): exponential with full jitter, never less than the provider asks.

const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/** Milliseconds to wait after try number `attempt` (from 1) failed. */
export function retryDelayMs(
  attempt: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(FIRST_MS * 2 ** (attempt - 1), LONGEST_MS);
  const delay = ceiling / 2 + (random() * ceiling) / 2;
  return Math.round(Math.max(delay, retryAfterMs ?? 0));
}
