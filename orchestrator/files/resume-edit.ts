// Finishes a file change whose process died between the intent and the result (DURABILITY 8): made already, to be made now, or
// in conflict with what somebody else did. So every change happens exactly once, or is reported.

import { unlinkSync } from 'node:fs';
import * as z from 'zod';
import type { FileChange, FileIntent } from '../../shared/files-port.ts';
import type { Json } from '../../shared/json.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { tempNameFor } from './atomic-write.ts';
import { textFor } from './change-file.ts';
import type { Files } from './files.ts';
import { lineDiff } from './line-diff.ts';
import { keptBytes, moveChange } from './undo.ts';

const blobSchema = z.object({ sha256: z.string(), bytes: z.number() });
const intentSchema = z.object({
  kind: z.literal('file'),
  path: z.string(),
  beforeHash: z.string().nullable(),
  afterHash: z.string().nullable(),
  beforeBlob: blobSchema.nullable(),
  afterBlob: blobSchema.nullable(),
  mode: z.number(),
  madeFolder: z.string().optional(),
});

/** The intent of a file change, when a journaled intent is one. */
export function fileIntentOf(intent: Json): FileIntent | undefined {
  // Most data of tools is something else, and finding that out by the schema is dear.
  if (typeof intent !== 'object' || intent === null || !('kind' in intent) || intent.kind !== 'file') return undefined;
  const parsed = intentSchema.safeParse(intent);
  if (!parsed.success) return undefined;
  const { madeFolder, ...known } = parsed.data;
  return madeFolder === undefined ? known : { ...known, madeFolder };
}

export interface ResumedEdit {
  /** already: it was made before the crash; applied: it was made now. */
  readonly how: 'already' | 'applied';
  readonly change: FileChange;
}

/** Of an operation with several intents only the last counts: the others were not carried out. */
export async function resumeEdit(files: Files, intent: FileIntent): Promise<Outcome<ResumedEdit>> {
  // Under its lock: others have begun to change the file already, with a temporary file of the same name.
  await files.locks.with(intent.path, 'write', async () => removeLeftOver(intent.path));
  // No new intent: the one that is journaled says all that this does.
  const moved = await moveChange(files, intent, 'redo', async () => {});
  if (!moved.ok) {
    if (moved.failure.code !== 'conflict') return moved;
    const message =
      `${intent.path} was being changed when Odin was interrupted, and it is neither as it was before nor as it should be after: ` +
      `somebody else changed it. Read it and decide what is still to be done. ${moved.failure.message}`;
    return fail(
      'failed',
      'conflict',
      message,
      moved.failure.details === undefined ? {} : { details: moved.failure.details },
    );
  }
  const [before, after] = [await keptBytes(files, intent.beforeBlob), await keptBytes(files, intent.afterBlob)];
  // The change is made; without what was there before, it cannot be shown.
  const diff =
    before.ok && after.ok
      ? await lineDiff(intent.path, textFor(before.value), textFor(after.value))
      : { diff: '', added: 0, removed: 0 };
  return ok({ how: moved.value.already ? 'already' : 'applied', change: { ...intent, ...diff, rebased: false } });
}

function removeLeftOver(path: string): void {
  try {
    unlinkSync(tempNameFor(path));
  } catch {
    // There is none, as a rule.
  }
}
