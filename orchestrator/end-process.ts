// Ends a process that must not do anything more, and waits until it is gone (DURABILITY 6: the one fence that also holds back a
// rename or a command that is under way). It is told from a later process with the same pid by when it started.

import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from './process-identity.ts';

/** How long the kernel may take to end it; one that hangs in a dead disk stays. */
const PATIENCE_MS = 5_000;

/** True when it is gone. False: it is somebody else's, or does not go. */
export async function endProcess(identity: ProcessIdentity): Promise<boolean> {
  if (identity.pid === process.pid) return false;
  const until = performance.now() + PATIENCE_MS;
  while (isAlive(identity)) {
    try {
      process.kill(identity.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
      return false;
    }
    if (performance.now() > until) return false;
    await delay(2);
  }
  return true;
}
