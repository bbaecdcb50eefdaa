// A formatter that runs behind an edit changes the file once more. That change is the edit's: diff, undo and redo go by what the file is
// then (SPEC E14), not by what it was for a moment.

import type { FileChange } from '../../shared/files-port.ts';
import { sha256 } from '../../shared/ids.ts';
import type { Json } from '../../shared/json.ts';
import { UserError } from '../../shared/outcome.ts';
import { readForChange, textFor } from '../files/change-file.ts';
import type { Files } from '../files/files.ts';
import { lineDiff } from '../files/line-diff.ts';
import { fileIntentOf } from '../files/resume-edit.ts';
import { keptBytes } from '../files/undo.ts';

/** A file change brought up to the file as it is; null when it is no file change, or the file is as the change left it. */
export async function takeUpChange(files: Files, data: Json): Promise<Json | null> {
  const change = fileIntentOf(data);
  if (!change) return null;
  try {
    return await files.locks.with(change.path, 'write', async () => {
      const disk = readForChange(change.path);
      // Gone or unreadable: undo finds out, and says so.
      if (!disk.ok || disk.value === null || disk.value.hash === change.afterHash) return null;
      const { bytes } = disk.value;
      const before = await keptBytes(files, change.beforeBlob);
      if (!before.ok) return null;
      const { diff, added, removed } = await lineDiff(change.path, textFor(before.value), textFor(bytes));
      const now = {
        ...change,
        afterHash: sha256(bytes),
        afterBlob: await files.blobs.put(bytes),
        added,
        removed,
        diff,
      };
      return { ...(data as object), ...now } satisfies Partial<FileChange> as unknown as Json;
    });
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}
