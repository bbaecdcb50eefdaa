// What a process that was killed left behind after a task's result was kept: its session in Redis, its clone on disk.

import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveSession } from '../archive-move.ts';
import type { RedisHandle } from '../redis.ts';
import { removeFolder } from './git.ts';
import { workingCopies } from './run-task.ts';
import type { BatchStore } from './store.ts';

/** Clears what belongs to tasks that are done. A batch that this Redis does not know may be another's, and stays. */
export async function clearLeftovers({
  home,
  handle,
  store,
}: {
  readonly home: string;
  readonly handle: RedisHandle;
  readonly store: BatchStore;
}): Promise<void> {
  const names = (folder: string) => readdir(folder).catch((): string[] => []);
  for (const bid of await names(workingCopies(home))) {
    if ((await store.status(bid)) === null) continue;
    const folder = join(workingCopies(home), bid);
    const copies = await names(folder);
    const results = await store.results(
      bid,
      copies.map((name) => name.replace(/\.\d+(\.new)?$/, '')),
    );
    for (const [i, name] of copies.entries()) {
      const result = results[i];
      const copy = join(folder, name);
      if (!result || result.kept === copy) continue;
      if (result.session !== null) await archiveSession({ redis: handle.client, home }, result.session);
      await removeFolder(copy);
    }
    await rmdir(folder).catch(() => {});
  }
}
