// What the owner of a session holds in memory: the folds of its journal. Rebuilt from the journal at any time.

import { type AgentMemory, emptyAgentMemory, foldAgentMemory } from '../agent/memory.ts';
import type { JournalEvent } from '../shared/events.ts';
import { EMPTY_FILE_HISTORY, type FileHistory, foldFileHistory } from './files/file-history.ts';
import { noteSeenFiles, type SeenFiles } from './files/seen-files.ts';

export interface SessionMemory extends AgentMemory {
  files: FileHistory;
  /** What its main agent has read. */
  readonly seen: SeenFiles;
  /** Id of the last event that is in the folds; where the next read of the log goes on. */
  upTo: string;
}

export const emptyMemory = (sid: string): SessionMemory => ({
  ...emptyAgentMemory(sid),
  files: EMPTY_FILE_HISTORY,
  seen: {},
  upTo: '0-0',
});

/** Folds one more event, payloads inline. `id` is unknown while its append is under way. */
export function remember(memory: SessionMemory, event: JournalEvent, id: string | null): void {
  foldAgentMemory(memory, event, id ?? memory.state.upTo);
  memory.files = foldFileHistory(memory.files, event);
  noteSeenFiles(memory.seen, event);
  if (id !== null) memory.upTo = id;
}
