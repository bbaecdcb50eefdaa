// The agent machine's types: what it is given, what it remembers, what may happen to it and what it asks for.

import type { CompactReason, SettledKind, ToolCallSummary } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';
import type { EndReason, Limits } from '../../shared/limits.ts';
import type { StopReason } from '../../shared/messages.ts';
import type { Failure } from '../../shared/outcome.ts';

export interface AgentInput {
  readonly seq: number;
  readonly limits: Limits;
  /** Models that may be asked: the planner's own, then its fallbacks. */
  readonly models: number;
}

/** JSON only; messages and results stay in the journal. */
export interface AgentContext {
  readonly seq: number;
  readonly limits: Limits;
  readonly models: number;
  /** The model in use: 0 is the planner's own. Once changed it stays changed for the message. */
  readonly model: number;
  /** Number of the current planner step, from 1; 0 before the first. */
  readonly turn: number;
  /** Tries of the current request so far, with whatever model; and with the model in use. */
  readonly attempt: number;
  readonly tries: number;
  readonly calls: readonly ToolCallSummary[];
  /** Result hashes of this step's settled calls. */
  readonly settled: Readonly<Record<OpId, string>>;
  /** Compactions in this step. */
  readonly compactions: number;
  /** Answers in a row that were cut off at the output limit, or empty. */
  readonly cuts: number;
  /** Calls and results of the last steps, one hash each, newest last. */
  readonly lastSteps: readonly string[];
  /** How many times in a row the last step, or the last few steps together, came back the same. */
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
      /** It said nothing, and made no call that can be run. */
      readonly isEmpty: boolean;
    }
  | { readonly type: 'model.failed'; readonly op: OpId; readonly failure: Failure }
  /** The next request would not fit, or a smaller context was asked for. */
  | { readonly type: 'context.full'; readonly op: OpId; readonly why: CompactReason }
  | { readonly type: 'context.compacted'; readonly op: OpId }
  | { readonly type: 'compaction.failed'; readonly op: OpId; readonly failure: Failure }
  | { readonly type: 'tool.settled'; readonly op: OpId; readonly kind: SettledKind; readonly resultHash: string }
  | { readonly type: 'timer.due'; readonly op: OpId }
  | { readonly type: 'budget.exceeded'; readonly code: string; readonly message: string }
  | { readonly type: 'cancel.requested' };

export type AgentEffect =
  /** Build the prompt, journal the request, stream the answer. */
  | {
      readonly type: 'callModel';
      readonly op: OpId;
      readonly turn: number;
      readonly attempt: number;
      readonly repeats: number;
      readonly model: number;
    }
  /** Make the context smaller; its end is context.compacted or compaction.failed. */
  | { readonly type: 'compact'; readonly op: OpId; readonly why: CompactReason; readonly model: number }
  /** Start all calls of the step together; each ends in its own tool.settled. */
  | { readonly type: 'startTools'; readonly calls: readonly ToolCallSummary[] }
  | { readonly type: 'abortModel' }
  | { readonly type: 'abortTools' }
  /** Set a journaled timer for the model's try number `attempt` of `attempts`; its end is timer.due. */
  | {
      readonly type: 'scheduleRetry';
      readonly op: OpId;
      readonly attempt: number;
      readonly attempts: number;
      readonly failure: Failure;
    }
  | { readonly type: 'finish'; readonly status: EndReason; readonly failure: Failure | null; readonly steps: number }
  | { readonly type: 'noteUnexpected' };
