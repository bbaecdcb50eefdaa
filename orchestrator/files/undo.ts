// Moves one recorded change backwards or forwards (SPEC E14), byte for byte from its blobs. Creating and deleting are changes
// from and to no file. Refuses, and shows the difference, when the file is neither as the change left it nor as it found it.

import { rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FileChange, FileIntent, Intend } from '../../shared/files-port.ts';
import { sha256 } from '../../shared/ids.ts';
import { fail, type Outcome, ok, UserError } from '../../shared/outcome.ts';
import type { BlobRef } from '../../shared/payload.ts';
import { keepInCache, type Moved, moveFile, readForChange, textFor } from './change-file.ts';
import type { Files } from './files.ts';
import { insist } from './insist.ts';
import { lineDiff } from './line-diff.ts';
import { targetFile } from './target-file.ts';

export type Direction = 'undo' | 'redo';

/** `already`: the file was in that state before. */
export interface MovedBack {
  readonly already: boolean;
  readonly change: FileIntent | FileChange;
}

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
  const attempt = async (): Promise<Outcome<MovedBack> | undefined> => {
    const disk = readForChange(path);
    if (!disk.ok) return disk;
    const current = disk.value?.hash ?? null;
    if (current === toHash) return ok({ already: true, change });
    if (current !== fromHash) {
      return changedSince(path, direction, await keptBytes(files, fromBlob), disk.value?.bytes ?? null);
    }
    const kept = await keptBytes(files, toBlob);
    if (!kept.ok) return fail('failed', 'not_kept', `${kept.failure.message} ${path} was not changed.`);
    const bytes = kept.value;
    if ((bytes && sha256(bytes)) !== toHash) {
      return fail('failed', 'not_kept', `The kept content of ${path} is not what was written. Nothing was changed.`);
    }
    const move = { path, before: disk.value, after: bytes, mode: change.mode, rebased: false };
    const moved = await moveFile(move, files, intend);
    return moved?.ok ? ok(settle(files, moved.value, bytes)) : moved;
  };
  return files.locks.with(path, 'write', async () => {
    const moved = (await insist(attempt)) ?? busy(path);
    if (moved.ok && direction === 'undo' && toHash === null) removeMadeFolders(change, files.root);
    return moved;
  });
}

/** What is kept of one side of a change; a failure that says so when it is lost. */
export async function keptBytes(files: Files, ref: BlobRef | null): Promise<Outcome<Buffer | null>> {
  try {
    return ok(ref && (await files.blobs.get(ref)));
  } catch (error) {
    if (error instanceof UserError) return fail('failed', 'not_kept', error.message);
    throw error;
  }
}

/** Only those that were made for the file, from the innermost on, as long as they are empty. */
function removeMadeFolders({ path, madeFolder }: FileIntent, root: string): void {
  if (madeFolder === undefined) return;
  for (let dir = dirname(path); dir === madeFolder || dir.startsWith(`${madeFolder}/`); dir = dirname(dir)) {
    try {
      if (dir === root) return;
      rmdirSync(dir);
    } catch (error) {
      // Gone already when this was interrupted; otherwise it is not empty.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return;
    }
  }
}

function settle(files: Files, moved: Moved, bytes: Buffer | null): MovedBack {
  keepInCache(files.cache, moved, bytes);
  return { already: false, change: moved.change };
}

async function changedSince(
  path: string,
  direction: Direction,
  expected: Outcome<Buffer | null>,
  current: Buffer | null,
): Promise<Outcome<never>> {
  const what =
    current === null ? 'was deleted' : expected.ok && expected.value === null ? 'was made again' : 'was changed';
  const why = `${path} ${what} by somebody else since; ${direction} would lose that. Nothing was changed.`;
  if (!expected.ok) return fail('failed', 'conflict', `${why} ${expected.failure.message}`);
  const { diff } = await lineDiff(path, textFor(expected.value), textFor(current));
  return fail('failed', 'conflict', `${why} What changed since:\n${diff}`, { details: { path, diff } });
}

const busy = (path: string): Outcome<never> =>
  fail(
    'failed',
    'conflict',
    `${path} is being changed by somebody else all the time. Nothing was changed; try again later.`,
  );
