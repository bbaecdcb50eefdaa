// How far a message may go, and the ways in which it ends.

/** Hard limits of one message (SPEC E7): reached, the message stops, says which it was and keeps its state. */
export interface Limits {
  readonly maxSteps: number;
  /** Spent by planner and lesser model together, in USD. */
  readonly usd?: number;
  /** Input and output tokens of both models together. */
  readonly tokens?: number;
  /** From the message's start, waiting for answers to questions included. */
  readonly timeoutMs?: number;
}

export type LimitKind = 'usd' | 'tokens' | 'time';

/** How a message ended (SPEC O2). Each has its own name and the answer says which. */
export type EndReason =
  | 'completed'
  | 'step_limit'
  | 'budget'
  | 'cancelled'
  | 'repeated_calls'
  | 'planner_failure'
  /** A command (undo, redo) that cannot be done; the answer says why. */
  | 'refused';
