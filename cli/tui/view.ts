// What the terminal shows, as plain data (SPEC G1, G4, O5): model.ts folds it from the public stream, the components draw it.

import type { SettledKind } from '../../shared/events.ts';
import type { Json } from '../../shared/json.ts';
import type { Mode } from '../../shared/modes.ts';
import type { Phase } from '../../shared/phase.ts';
import type { Todo } from '../../shared/state.ts';
import type { WindowUse } from '../../shared/stream-events.ts';
import type { AskedEvent } from '../question-text.ts';

export interface TextItem {
  readonly kind: 'text' | 'thinking';
  readonly text: string;
  /** Still streams in. */
  readonly isOpen: boolean;
}

export interface ToolItem {
  readonly kind: 'tool';
  readonly op: string;
  readonly tool: string;
  readonly args: Json;
  readonly status: 'running' | SettledKind;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly description: string;
  readonly text: string;
  /** The last live lines of what runs. */
  readonly progress: readonly string[];
}

export interface NoteItem {
  readonly kind: 'note';
  /** table: lines as they are, wrapped below their last column. */
  readonly tone: 'dim' | 'warn' | 'bad' | 'diff' | 'table';
  readonly text: string;
}

/** What the user said while the message ran. */
export interface WordItem {
  readonly kind: 'word';
  readonly text: string;
}

export type Item = TextItem | ToolItem | NoteItem | WordItem;

/** One message of the user and what became of it; seq 0: what stands before the first. */
export interface Turn {
  readonly seq: number;
  readonly mode: Mode;
  readonly body: string;
  /** Names of the pictures that go with it. */
  readonly images?: readonly string[];
  readonly items: readonly Item[];
  readonly isDone: boolean;
}

/** A subagent of the running message (SPEC O25). */
export interface AgentLine {
  readonly id: string;
  readonly title: string;
  readonly mode: Mode;
  readonly step: number;
  readonly doing: string;
  readonly tokens: number;
  readonly todos: readonly Todo[];
  /** Null while it works. */
  readonly end: string | null;
}

export interface View {
  readonly turns: readonly Turn[];
  /** Older turns that are no longer kept. */
  readonly folded: number;
  /** The message that runs, and since when. */
  readonly running: { readonly seq: number; readonly startedAt: number; readonly mode: Mode } | null;
  readonly activity: string;
  readonly phase: Phase | null;
  readonly model: string;
  readonly todos: readonly Todo[];
  readonly window: WindowUse | null;
  /** What the session cost: finished messages, and the calls of the running one. Null: a price is not known. */
  readonly doneUsd: number | null;
  readonly liveUsd: number | null;
  readonly isEstimated: boolean;
  readonly questions: readonly AskedEvent[];
  /** Of the newest message, in the order they began. */
  readonly agents: readonly AgentLine[];
  /** Code of the running message's error. */
  readonly failed: string | null;
  /** How the newest message ended, for what follows it. */
  readonly ended: { readonly seq: number; readonly mode: Mode; readonly status: string } | null;
}

export const EMPTY_VIEW: View = {
  turns: [],
  folded: 0,
  running: null,
  activity: '',
  phase: null,
  model: '',
  todos: [],
  window: null,
  doneUsd: 0,
  liveUsd: 0,
  isEstimated: false,
  questions: [],
  agents: [],
  failed: null,
  ended: null,
};
