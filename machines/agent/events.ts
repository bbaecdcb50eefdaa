// The agent machine's types: what it is given, what it remembers, what may happen to it and what it asks for.

import type { EndReason, Limits, SettledKind, ToolCallSummary } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';
import type { StopReason } from '../../shared/messages.ts';
import type { Failure } from '../../shared/outcome.ts';

export interface AgentInput {
  readonly seq: number;
  readonly limits: Limits;
}

/** JSON only; messages and results stay in the journal. */
export interface AgentContext {
  readonly seq: number;
  readonly limits: Limits;
  /** Number of the current planner step, from 1; 0 before the first. */
  readonly turn: number;
  /** Tries of the current model call so far. */
  readonly attempt: number;
  readonly calls: readonly ToolCallSummary[];
  /** Result hashes of this step's settled calls. */
  readonly settled: Readonly<Record<OpId, string>>;
  /** Calls and results of the last step in one hash, and how many steps in a row it came back. */
  readonly lastStep: string;
  readonly repeats: number;
  readonly end: EndReason | null;
  readonly failure: Failure | null;
}

export type AgentEvent =
  | { readonly type: 'message.started' }
  | {
      readonly type: 'model.answered';
      readonly op: OpId;
      readonly stop: StopReason;
      readonly calls: readonly ToolCallSummary[];
    }
  | { readonly type: 'model.failed'; readonly op: OpId; readonly failure: Failure }
  | { readonly type: 'tool.settled'; readonly op: OpId; readonly kind: SettledKind; readonly resultHash: string }
  | { readonly type: 'timer.due'; readonly op: OpId }
  | { readonly type: 'budget.exceeded'; readonly message: string }
  | { readonly type: 'cancel.requested' };

export type AgentEffect =
  /** Build the prompt, journal the request, stream the answer. */
  | {
      readonly type: 'callModel';
      readonly op: OpId;
      readonly turn: number;
      readonly attempt: number;
      readonly repeats: number;
    }
  /** Start all calls of the step together; each ends in its own tool.settled. */
  | { readonly type: 'startTools'; readonly calls: readonly ToolCallSummary[] }
  | { readonly type: 'abortModel' }
  | { readonly type: 'abortTools' }
  /** Set a journaled timer; its end is timer.due. */
  | { readonly type: 'scheduleRetry'; readonly op: OpId; readonly attempt: number; readonly failure: Failure }
  | { readonly type: 'finish'; readonly status: EndReason; readonly failure: Failure | null; readonly steps: number }
  | { readonly type: 'noteUnexpected' };
