// What a hook is (SPEC E5): functions of the user that are called at named points of a message. This file is the contract alone;
// run-hooks.ts calls them, command-hooks.ts makes them of the shell commands in the settings.

import type { ToolEffect } from '../../shared/define-tool.ts';
import type { CompactReason, SettledKind } from '../../shared/events.ts';
import type { Json, JsonObject } from '../../shared/json.ts';
import type { EndReason } from '../../shared/limits.ts';
import type { StopReason, Usage } from '../../shared/messages.ts';
import type { Mode } from '../../shared/modes.ts';
import type { Failure } from '../../shared/outcome.ts';

/** Where it happens. In all events. */
export interface HookPlace {
  readonly session: string;
  /** Number of the message in its session. */
  readonly seq: number;
  readonly mode: Mode;
  readonly root: string;
}

interface CallOf {
  readonly step: number;
  readonly op: string;
  readonly tool: string;
  /** Secrets are taken out. */
  readonly args: Json;
}

/** What is told with each event, besides the place. Plain JSON, texts without secrets. */
export interface HookDetails {
  /** Observed: the planner's next step begins. */
  readonly stepStart: { readonly step: number };
  /** Before: the model is asked for a step. Once a step: a retry sends the same. */
  readonly beforeLLM: { readonly step: number; readonly model: string; readonly messages: number };
  /** Observed: the model answered, or the try failed. */
  readonly afterLLM: {
    readonly step: number;
    readonly text: string;
    readonly stop: StopReason | null;
    readonly usage: Usage | null;
    readonly calls: readonly { readonly op: string; readonly tool: string }[];
    readonly failure: Failure | null;
  };
  /** Before: a call with valid arguments, not yet judged by its gate. */
  readonly toolCall: CallOf & { readonly effect: ToolEffect };
  /** After: a call that ran, well or not, whose result the model has not seen yet. */
  readonly toolResult: CallOf & {
    readonly status: SettledKind;
    readonly text: string;
    readonly description: string;
    readonly affectedFiles: readonly string[];
  };
  /** Observed: the conversation is about to be made smaller. */
  readonly summarize: { readonly step: number; readonly why: CompactReason };
  /** Observed: it was. */
  readonly historyChanged: {
    readonly step: number;
    readonly why: CompactReason;
    readonly processors: readonly string[];
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  };
  /** Observed: a piece of the model's text. Only in code: a process for each piece would be thousands. */
  readonly streamDelta: { readonly step: number; readonly kind: 'text' | 'thinking'; readonly delta: string };
  /** After: the message is at its end, which is journaled when all `done` hooks are through. */
  readonly done: {
    readonly status: EndReason;
    readonly answer: string;
    readonly steps: number;
    readonly failure: Failure | null;
  };
}

export type HookEvent = keyof HookDetails;

export type HookGiven<E extends HookEvent = HookEvent> = {
  readonly [K in E]: { readonly event: K } & HookPlace & HookDetails[K];
}[E];

/** What a hook may answer. `allow` and nothing at all mean the same: this hook has no objection; the gate judges as ever. */
export interface HookAnswers {
  readonly beforeLLM: {
    readonly decision?: 'allow' | 'deny';
    readonly reason?: string;
    /** Told to the model with this request. */
    readonly note?: string;
  };
  readonly toolCall: {
    readonly decision?: 'allow' | 'deny' | 'ask';
    readonly reason?: string;
    /** Instead of the call's own, whole. Checked against the tool's schema and judged by its gate like the model's. */
    readonly args?: JsonObject;
  };
  /** `note` is put behind the result's text, for the model. */
  readonly toolResult: { readonly note?: string };
}

export type HookAnswer<E extends HookEvent> = E extends keyof HookAnswers ? HookAnswers[E] : undefined;

type HookFunction<E extends HookEvent> = (
  given: HookGiven<E>,
  /** Aborts at the time limit and when the message is cancelled. */
  signal: AbortSignal,
) => HookAnswer<E> | undefined | void | Promise<HookAnswer<E> | undefined | void>;

/**
 * One hook. A function that throws, or is not through within `timeoutMs`, has failed: before an action (beforeLLM, toolCall) the
 * action is refused, everywhere else it is reported and harms nothing. toolCall and done may be called twice for the same thing,
 * when a crash or another hook's change came between.
 */
export type Hook = {
  readonly name: string;
  /** Default 10,000. */
  readonly timeoutMs?: number;
  /** Tools whose toolCall and toolResult it is called for. Default: all. */
  matches?(tool: string): boolean;
} & { readonly [E in HookEvent]?: HookFunction<E> };

export const HOOK_TIMEOUT_MS = 10_000;
