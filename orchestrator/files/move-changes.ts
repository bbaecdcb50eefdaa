// Undo and redo of whole messages (SPEC E14): every file is looked at before the first one is moved, so that a conflict leaves all
// as it is. Interrupted in the middle it is simply done again: a file that has been moved already is left alone.

import type { FileIntent } from '../../shared/files-port.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { readForChange } from './change-file.ts';
import type { MessageChanges } from './file-history.ts';
import type { Files } from './files.ts';
import { type Direction, moveChange } from './undo.ts';

/** The paths that were moved. */
export async function moveMessages(
  files: Files,
  messages: readonly MessageChanges[],
  direction: Direction,
): Promise<Outcome<readonly string[]>> {
  const moves = messages.flatMap(({ changes }) => (direction === 'undo' ? changes.toReversed() : changes));
  const conflicts = await findConflicts(files, moves, direction);
  if (conflicts.length > 0) return fail('failed', 'conflict', conflicts.join('\n\n'));
  for (const change of moves) {
    // No intent of its own: the message that asked for it is in the journal, and doing it twice is doing it once.
    const moved = await moveChange(files, change, direction, () => Promise.resolve());
    if (!moved.ok) return moved;
  }
  return ok([...new Set(moves.map(({ path }) => path))]);
}

/** One text for each file that is neither as the changes left it nor as they found it. */
async function findConflicts(files: Files, moves: readonly FileIntent[], direction: Direction): Promise<string[]> {
  const expected = new Map<string, string | null>();
  const conflicts: string[] = [];
  for (const change of moves) {
    const [from, to] =
      direction === 'undo' ? [change.afterHash, change.beforeHash] : [change.beforeHash, change.afterHash];
    const current = expected.has(change.path) ? expected.get(change.path) : hashOf(change.path);
    if (current !== from && current !== to) {
      const refused = await moveChange(files, change, direction, () => Promise.resolve());
      // Its message shows the difference. If it went through, the file has just become what it should be.
      if (!refused.ok) conflicts.push(refused.failure.message);
    }
    expected.set(change.path, to);
  }
  return conflicts;
}

function hashOf(path: string): string | null | undefined {
  const disk = readForChange(path);
  return disk.ok ? (disk.value?.hash ?? null) : undefined;
}
