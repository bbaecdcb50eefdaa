// How long a thread itself has worked. On a busy machine it may have waited for most of a time that it is given, and is not to blame.

import type { Worker } from 'node:worker_threads';

/** A thread may wait for so many times what it is given; one that is stopped works as little as one that the machine keeps waiting. */
export const PATIENCE = 8;

/** Its time on the processors in all its life; null when it has ended. Only a thread that takes turns or runs JavaScript ever answers. */
export async function workedMs(worker: Worker): Promise<number | null> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1_000;
  } catch {
    return null;
  }
}
