// `undo` and `redo` as messages of a session (SPEC E14): they wait their turn like any other, run under the session's epoch, and
// are finished after a crash. No planner is asked.

import type { JournalEvent } from '../shared/events.ts';
import type { FileCommand } from '../shared/message-command.ts';
import { fail, type Outcome } from '../shared/outcome.ts';
import { type FileHistory, nextToMove } from './files/file-history.ts';
import type { Files } from './files/files.ts';
import { moveMessages } from './files/move-changes.ts';
import type { TurnEnd } from './turn.ts';

/** Moves the files and records it. */
export async function runFileCommand(
  files: Files,
  root: string,
  history: FileHistory,
  command: FileCommand,
  record: (event: JournalEvent) => void,
): Promise<TurnEnd> {
  const messages = nextToMove(history, command.type, command.count);
  const moved =
    messages.length < command.count
      ? tooFew(command, messages.length)
      : await moveMessages(files, messages, command.type);
  if (!moved.ok) {
    return { status: 'refused', answer: `[Refused: ${moved.failure.message}]`, failure: moved.failure, steps: 0 };
  }
  const paths = moved.value.map((path) => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path));
  const seqs = messages.map(({ seq }) => seq);
  record({ type: 'files.moved', direction: command.type, seqs, paths, at: Date.now() });
  const verb = command.type === 'undo' ? 'Undone' : 'Redone';
  const answer = `${verb}: the file changes of message ${seqs.join(', ')} (${paths.join(', ')}).`;
  return { status: 'completed', answer, failure: null, steps: 0 };
}

function tooFew({ type, count }: FileCommand, have: number): Outcome<never> {
  const what =
    have === 0
      ? `There is nothing to ${type}`
      : `Only ${have} of ${count} messages can be ${type === 'undo' ? 'undone' : 'redone'}`;
  return fail('failed', 'nothing_to_move', `${what}: no other message of this session has changed files.`);
}
