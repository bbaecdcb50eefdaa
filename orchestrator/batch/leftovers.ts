// What a process that was killed left behind after a task's result was kept: its session in Redis, its folder on disk.

import { readdir, rmdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { archiveSession } from '../archive-move.ts';
import { beat } from '../jobs/workers.ts';
import { isAlive } from '../process-identity.ts';
import type { RedisHandle } from '../redis.ts';
import { removeTree } from './copy-tree.ts';
import type { BatchStore } from './store.ts';
import { removeShared, taskOfFolder, workingCopies } from './working-copy.ts';

interface LeftoversPlace {
  readonly home: string;
  readonly handle: RedisHandle;
  readonly store: BatchStore;
  /** A worker that is cleaning up nothing now, though it lives: the one that looks, before its first task or after its last. '': none. */
  readonly self: string;
}

/**
 * Clears what belongs to tasks that are done. What a worker that lives has done is left to that one, and a batch that this Redis does not
 * know may be another's, and stays.
 */
export async function clearLeftovers({ home, handle, store, self }: LeftoversPlace): Promise<void> {
  const bids = await names(workingCopies(home));
  if (bids.length === 0) return;
  const living = await livingWorkers(handle, self);
  for (const bid of bids) {
    const status = await store.status(bid);
    if (status === null) continue;
    const folder = join(workingCopies(home), bid);
    const entries = (await names(folder)).flatMap((name) => {
      const item = taskOfFolder(name);
      return item === null ? [] : [{ item, copy: join(folder, name) }];
    });
    const results = await store.results(
      bid,
      entries.map(({ item }) => item),
    );
    for (const [i, { copy }] of entries.entries()) {
      const result = results[i];
      if (!result || result.kept === copy) continue;
      if (result.worker !== null && living.has(result.worker)) continue;
      if (result.session !== null) await archiveSession({ redis: handle.client, home }, result.session);
      await removeTree(copy);
    }
    if (status.endedAt === null) await rmdir(folder).catch(() => {});
    else await removeShared(home, bid);
  }
}

const names = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** A worker of this machine that was killed just now is listed still. */
async function livingWorkers({ client }: RedisHandle, self: string): Promise<ReadonlySet<string>> {
  const listed = await beat(client, null);
  const others = listed.filter((worker) => worker.id !== self && (worker.host !== hostname() || isAlive(worker)));
  return new Set(others.map(({ id }) => id));
}
