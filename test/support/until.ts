// Waits for a condition of another process, which tells nobody when it holds.

import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;

/** Resolves once `holds` does; the test's own time limit ends a wait for what never comes. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(POLL_MS);
}
