// The subagent machine's types: the life of one agent around its loop, which runs in a thread.

import type { AgentEndKind } from '../../shared/agents.ts';
import type { LimitKind } from '../../shared/limits.ts';
import type { Failure } from '../../shared/outcome.ts';

/** As what a subagent has ended, and what it said. */
export interface SubagentEnd {
  readonly end: AgentEndKind;
  readonly limit: LimitKind | 'steps' | null;
  readonly answer: string;
  readonly failure: Failure | null;
  readonly steps: number;
}

export interface SubagentInput {
  /** How often a thread that was lost under it is replaced. */
  readonly maxRespawns: number;
}

export interface SubagentContext {
  readonly maxRespawns: number;
  /** Number of the thread's incarnation, from 1. */
  readonly inc: number;
  readonly end: SubagentEnd | null;
}

export type SubagentEvent =
  | { readonly type: 'loop.started' }
  | { readonly type: 'loop.ended'; readonly end: SubagentEnd }
  /** The thread is silent: it loops, or it is stopped. */
  | { readonly type: 'thread.silent' }
  | { readonly type: 'thread.lost'; readonly why: string }
  | { readonly type: 'cancel.requested'; readonly by: string }
  | { readonly type: 'grace.over' }
  | { readonly type: 'reported' };

export type SubagentEffect =
  /** Start its loop in a thread, from what is journaled of it. */
  | { readonly type: 'spawnLoop'; readonly inc: number }
  /** Tell the loop to end; `grace.over` follows when it does not. */
  | { readonly type: 'cancelLoop'; readonly by: string }
  /** Nothing that the loop says counts any more. */
  | { readonly type: 'dropLoop' }
  /** Journal the end, give the result to the parent; `reported` follows. */
  | { readonly type: 'report'; readonly end: SubagentEnd }
  | { readonly type: 'noteUnexpected' };
