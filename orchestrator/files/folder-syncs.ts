// Puts renames on disk: a new name survives a power failure only when its folder is synced. That need not hold up the edit, but
// it must come before the journal says that the edit was made (session-runner.ts sees to that); till then it is an intent.

import { closeSync, constants, fsync, openSync } from 'node:fs';
import { promisify } from 'node:util';

export interface FolderSyncs {
  /** Begins to sync the folder, its entries as they are now. */
  begin(folder: string): void;
  /** Null when nothing is under way; else resolves when all that has begun is on disk. */
  underWay(): Promise<void> | null;
}

const sync = promisify(fsync);

export function createFolderSyncs(): FolderSyncs {
  const pending = new Set<Promise<void>>();
  return {
    begin(folder) {
      const done = syncFolder(folder).finally(() => pending.delete(done));
      pending.add(done);
    },
    underWay: () => (pending.size === 0 ? null : Promise.all(pending).then(() => {})),
  };
}

async function syncFolder(folder: string): Promise<void> {
  try {
    const fd = openSync(folder, constants.O_RDONLY);
    await sync(fd).finally(() => closeSync(fd));
  } catch {
    // Some network file systems cannot; the rename itself has happened.
  }
}
