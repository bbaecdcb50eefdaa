// Which file changes each message of a session made, as the fold of its journal (SPEC E14): what `diff` shows and what `undo` and
// `redo` move, message by message. Pure; moving the files is move-changes.ts's work.

import type { JournalEvent } from '../../shared/events.ts';
import type { FileIntent } from '../../shared/files-port.ts';
import { filesIntentOf } from './files-intent.ts';
import { fileIntentOf } from './resume-edit.ts';

/** One message's changes, one for each path: from before its first change to after its last. */
export interface MessageChanges {
  readonly seq: number;
  readonly changes: readonly FileIntent[];
}

export interface FileHistory {
  /** Oldest first. */
  readonly done: readonly MessageChanges[];
  /** The next one to redo is the last. */
  readonly undone: readonly MessageChanges[];
}

export const EMPTY_FILE_HISTORY: FileHistory = { done: [], undone: [] };

/** The history after one more event. */
export function foldFileHistory(history: FileHistory, event: JournalEvent): FileHistory {
  if (event.type === 'agent.ev') return foldFileHistory(history, event.event);
  if (event.type === 'tool.done' && event.kind === 'ok' && event.data !== undefined) {
    const change = fileIntentOf(event.data);
    const changes = change ? [change] : (filesIntentOf(event.data) ?? []);
    return changes.reduce((sum, one) => addChange(sum, Number(event.op.split('.')[0]), one), history);
  }
  if (event.type === 'files.moved') return move(history, event.direction, event.seqs.length);
  return history;
}

/** A new change ends what could be redone: it may stand on what was undone. */
function addChange({ done }: FileHistory, seq: number, change: FileIntent): FileHistory {
  const last = done.at(-1);
  if (last?.seq !== seq) return { done: [...done, { seq, changes: [change] }], undone: [] };
  return { done: [...done.slice(0, -1), { seq, changes: merge(last.changes, change) }], undone: [] };
}

function merge(changes: readonly FileIntent[], next: FileIntent): readonly FileIntent[] {
  const earlier = changes.find(({ path }) => path === next.path);
  if (!earlier) return [...changes, next];
  const { beforeHash, beforeBlob, madeFolder } = earlier;
  const { madeFolder: _, ...last } = next;
  const sum = { ...last, beforeHash, beforeBlob, ...(madeFolder === undefined ? {} : { madeFolder }) };
  return changes.map((change) => (change === earlier ? sum : change));
}

function move({ done, undone }: FileHistory, direction: 'undo' | 'redo', count: number): FileHistory {
  if (direction === 'undo') {
    return { done: done.slice(0, done.length - count), undone: [...undone, ...done.slice(-count).toReversed()] };
  }
  return { done: [...done, ...undone.slice(-count).toReversed()], undone: undone.slice(0, undone.length - count) };
}

/** What is to be moved, in the order it must be moved in. */
export function nextToMove(history: FileHistory, direction: 'undo' | 'redo', count: number): readonly MessageChanges[] {
  return (direction === 'undo' ? history.done : history.undone).slice(-count).toReversed();
}

/** The session's changes in sum, one for each path, sorted by it, without those that came to nothing. */
export function netChanges(history: FileHistory): readonly FileIntent[] {
  const net = history.done.reduce<readonly FileIntent[]>(
    (sum, { changes }) => changes.reduce((all, change) => merge(all, change), sum),
    [],
  );
  return net
    .filter(({ beforeHash, afterHash }) => beforeHash !== afterHash)
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
