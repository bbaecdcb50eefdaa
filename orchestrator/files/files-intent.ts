// A change of several files as it is journaled: the intent of the call that makes it, and its result, from which undo and diff work.

import * as z from 'zod';
import type { FileIntent } from '../../shared/files-port.ts';
import type { Json } from '../../shared/json.ts';
import { fileIntentOf } from './resume-edit.ts';

export const intentJson = (changes: readonly FileIntent[]): Json => ({
  kind: 'files',
  changes: changes.map((change) => ({
    ...change,
    beforeBlob: change.beforeBlob && { ...change.beforeBlob },
    afterBlob: change.afterBlob && { ...change.afterBlob },
  })),
});

const filesSchema = z.object({ kind: z.literal('files'), changes: z.array(z.json()) });

/** The changes of a journaled intent or result; undefined when it is about something else. */
export function filesIntentOf(json: Json): readonly FileIntent[] | undefined {
  if (typeof json !== 'object' || json === null || !('kind' in json) || json.kind !== 'files') return undefined;
  const parsed = filesSchema.safeParse(json);
  return parsed.success ? parsed.data.changes.flatMap((change) => fileIntentOf(change as Json) ?? []) : undefined;
}
