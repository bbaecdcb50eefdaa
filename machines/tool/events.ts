// The tool machine's types. Arguments and results stay with the runner; the machine knows only how far the call has come.

import type { Question, SettledKind } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';
import type { Failure } from '../../shared/outcome.ts';

export interface ToolInput {
  readonly op: OpId;
  readonly timeoutMs: number;
}

export interface ToolMachineContext {
  readonly op: OpId;
  readonly timeoutMs: number;
  /** True once the intent of an effect is in the journal: from then on the call can no longer be taken back. */
  readonly intended: boolean;
  readonly question: Question | null;
  readonly kind: SettledKind | null;
  readonly failure: Failure | null;
}

export type ToolEvent =
  | { readonly type: 'args.valid' }
  | { readonly type: 'args.invalid'; readonly failure: Failure }
  | { readonly type: 'gate.allowed' }
  | { readonly type: 'gate.asked'; readonly question: Question }
  | { readonly type: 'gate.denied'; readonly failure: Failure }
  | { readonly type: 'question.allowed' }
  | { readonly type: 'question.denied'; readonly failure: Failure }
  | { readonly type: 'intent.journaled' }
  | { readonly type: 'executed'; readonly kind: SettledKind; readonly failure: Failure | null }
  | { readonly type: 'shaped' }
  | { readonly type: 'time.up' }
  | { readonly type: 'grace.over' }
  | { readonly type: 'tool.cancel' };

export type ToolEffectRequest =
  | { readonly type: 'validate' }
  | { readonly type: 'gate' }
  | { readonly type: 'ask'; readonly question: Question }
  | { readonly type: 'execute'; readonly timeoutMs: number }
  /** Abort the signal; `executed` follows, or `grace.over` when it does not. */
  | { readonly type: 'abort'; readonly graceMs: number }
  /** Cap, scrub and store the result; `shaped` follows. */
  | { readonly type: 'shape'; readonly kind: SettledKind; readonly failure: Failure | null }
  | { readonly type: 'settle'; readonly kind: SettledKind }
  | { readonly type: 'noteUnexpected' };
