// The canonical State of SPEC O4–O7 as plain data. agent/state.ts folds it from the journal; nobody else changes it.

import type { AgentEndKind } from './agents.ts';
import type { OpId } from './ids.ts';
import type { ImageRef } from './images.ts';
import type { EndReason, LimitKind } from './limits.ts';
import type { Usage } from './messages.ts';
import type { AgentMode, Mode } from './modes.ts';
import type { PhaseTrail } from './phase.ts';
import type { Spending } from './spending.ts';

export type TodoStatus = 'pending' | 'in_progress' | 'completed';

export interface Todo {
  readonly id: string;
  readonly content: string;
  readonly status: TodoStatus;
}

/** One tool call of a message (SPEC O5). */
export interface ToolHistory {
  readonly op: OpId;
  readonly toolName: string;
  readonly affectedFiles: readonly string[];
  readonly description: string;
}

/** One user message and what became of it (SPEC O5). All of them together are the audit trail. */
export interface Message {
  readonly seq: number;
  readonly mid: string;
  readonly mode: Mode;
  readonly body: string;
  /** What the user said while it ran; absent: nothing. */
  readonly words?: readonly string[];
  readonly answerSummary: string;
  readonly todos: readonly Todo[];
  readonly toolHistory: readonly ToolHistory[];
  /** Live lines that tell the user what is going on; emptied when the message is done. */
  readonly updates: readonly string[];
  readonly status: 'running' | EndReason;
  readonly steps: number;
  /** The planner's alone. */
  readonly usage: Usage;
  /** By model, the lesser one's included. */
  readonly spending: Spending;
  /** It is not in the conversation with the planner: a command of the user, or declined by the model and taken out. */
  readonly outside?: 'command' | 'declined';
  readonly startedAt: number;
  readonly endedAt: number | null;
}

export interface QueuedMessage {
  readonly seq: number;
  readonly mid: string;
  readonly mode: Mode;
  readonly body: string;
  readonly timestamp: number;
  /** It is to be told to the message that runs, with its next step. */
  readonly steered?: boolean;
  readonly images?: readonly ImageRef[];
}

export interface SubAgent {
  readonly id: string;
  readonly title: string;
  readonly mode: Mode;
  readonly status: 'spawning' | 'running' | 'reporting';
  readonly todos: readonly Todo[];
  readonly background: boolean;
  readonly model: string;
  readonly steps: number;
  readonly usage: Usage;
  /** By model, the lesser one's included. */
  readonly spending: Spending;
  readonly request: OpenRequest | null;
  /** What it does now, in a few words. */
  readonly doing: string;
  /** The worker that it is with; absent: it works in a thread of the orchestrator. */
  readonly worker?: string;
  readonly startedAt: number;
}

/** A subagent that has ended, and what it gave. */
export interface AgentResult {
  readonly id: string;
  readonly title: string;
  readonly background: boolean;
  readonly end: AgentEndKind;
  readonly limit: LimitKind | 'steps' | null;
  readonly text: string;
  readonly steps: number;
}

/** What the user said to an agent at work, or to a message that runs. */
export interface UserWord {
  readonly at: number;
  readonly text: string;
}

export interface ContextItem {
  readonly content: string;
  readonly filePath?: string;
  readonly sourceCommand?: string;
}

/** What the planner and other processes may know of a cached file (SPEC O8); the contents stay with the orchestrator. */
export interface CachedFileInfo {
  readonly filePath: string;
  readonly size: number;
  readonly totalLines: number;
  readonly mtimeMs: number;
  readonly cachedAt: number;
  readonly isModified: boolean;
  /** True when only ranges are cached; `ranges` names them as "start-end". */
  readonly truncated: boolean;
  readonly ranges: readonly string[];
}

export interface OpenRequest {
  readonly op: OpId;
  /** `provider/name`. */
  readonly model: string;
  readonly estimate: number;
}

export interface State {
  readonly sid: string;
  /** By the lesser model. Absent: the first line of the first message. */
  readonly title?: string;
  readonly root: string;
  readonly agentMode: AgentMode;
  readonly messages: readonly Message[];
  readonly messageQueue: readonly QueuedMessage[];
  readonly isExecuting: boolean;
  /** Those at work (SPEC O25). */
  readonly subAgents: readonly SubAgent[];
  /** The newest that have ended, oldest first. */
  readonly agentResults: readonly AgentResult[];
  /** Of the running message. */
  readonly words: readonly UserWord[];
  readonly context: readonly ContextItem[];
  readonly customInstructions: string;
  readonly todos: readonly Todo[];
  /** In which phase the newest message is (SPEC E6), and the calls that say so. */
  readonly phase: PhaseTrail;
  readonly usage: Usage;
  readonly spending: Spending;
  /** Tokens in the planner's window after its newest answer; null before the first. */
  readonly window: { readonly model: string; readonly tokens: number } | null;
  /** The planner's request that has no answer yet. */
  readonly request: OpenRequest | null;
  /** The last event folded, `<epoch>-<n>`; readers continue from here. */
  readonly upTo: string;
}
