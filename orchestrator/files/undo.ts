// Moves one recorded change backwards or forwards (SPEC E14), byte for byte from its blobs. Creating and deleting are changes
// from and to no file. Refuses, and shows the difference, when the file is neither as the change left it nor as it found it.

import type { FileChange, FileIntent, Intend } from '../../shared/files-port.ts';
import { sha256 } from '../../shared/ids.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { keepInCache, type Moved, moveFile, readForChange, textFor } from './change-file.ts';
import type { Files } from './files.ts';
import { lineDiff } from './line-diff.ts';
import { targetFile } from './target-file.ts';

export type Direction = 'undo' | 'redo';

/** `already`: the file was in that state before. */
export interface MovedBack {
  readonly already: boolean;
  readonly change: FileIntent | FileChange;
}

const MAX_TRIES = 20;

/** Undo several changes from the last to the first, redo them from the first to the last. */
export async function moveChange(
  files: Files,
  change: FileIntent,
  direction: Direction,
  intend: Intend,
): Promise<Outcome<MovedBack>> {
  const { path } = change;
  const target = targetFile(path, files.root, true);
  if (!target.ok) return target;
  if (target.value.real !== path) {
    return fail(
      'failed',
      'conflict',
      `${path} leads to ${target.value.real} now: a folder was replaced by a link. Nothing was changed.`,
    );
  }
  const [fromHash, toHash] =
    direction === 'undo' ? [change.afterHash, change.beforeHash] : [change.beforeHash, change.afterHash];
  const [fromBlob, toBlob] =
    direction === 'undo' ? [change.afterBlob, change.beforeBlob] : [change.beforeBlob, change.afterBlob];
  if (fromHash === toHash) return ok({ already: true, change });
  return files.locks.with(path, 'write', async (): Promise<Outcome<MovedBack>> => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const disk = readForChange(path);
      if (!disk.ok) return disk;
      const current = disk.value?.hash ?? null;
      if (current === toHash) return ok({ already: true, change });
      if (current !== fromHash)
        return changedSince(path, direction, fromBlob && (await files.blobs.get(fromBlob)), disk.value?.bytes ?? null);
      const bytes = toBlob && (await files.blobs.get(toBlob));
      if ((bytes && sha256(bytes)) !== toHash) {
        return fail(
          'failed',
          'blob_damaged',
          `The kept content of ${path} is damaged or missing. Nothing was changed.`,
        );
      }
      const moved = await moveFile(
        { path, before: disk.value, after: bytes, mode: change.mode, rebased: false },
        files.blobs,
        intend,
      );
      if (!moved.ok) return moved;
      if (moved.value) return ok(settle(files, moved.value, bytes));
    }
    return fail(
      'failed',
      'conflict',
      `${path} is being changed by somebody else all the time. Nothing was changed; try again later.`,
    );
  });
}

function settle(files: Files, moved: Moved, bytes: Buffer | null): MovedBack {
  keepInCache(files.cache, moved, bytes);
  return { already: false, change: moved.change };
}

async function changedSince(
  path: string,
  direction: Direction,
  expected: Buffer | null,
  current: Buffer | null,
): Promise<Outcome<never>> {
  const { diff } = await lineDiff(path, textFor(expected), textFor(current));
  const what = current === null ? 'was deleted' : expected === null ? 'was made again' : 'was changed';
  return fail(
    'failed',
    'conflict',
    `${path} ${what} by somebody else since; ${direction} would lose that. Nothing was changed. What changed since:\n${diff}`,
    { details: { path, diff } },
  );
}
