// What the inner folders may ask of the outer world. Composition roots supply these; tests supply small real ones.

import type { AuxPurpose, JournalEvent, LiveEvent, PermissionDecision, Question } from './events.ts';
import type { ModelAnswer, ModelRequest, Usage } from './messages.ts';
import type { Outcome } from './outcome.ts';

/**
 * The journal of one session, held by its one owner. `append` numbers and sends the event at once, in call order, and
 * resolves with its id when it is durable. It rejects with Fenced when another owner has taken over: abort the turn, write nothing more.
 */
export interface JournalPort {
  append(event: JournalEvent): Promise<string>;
  /** Resolves when all that was appended so far is durable. Await it before any effect that leaves the process. */
  flushed(): Promise<void>;
}

/** Thrown by a journal whose epoch is over. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/** What streams in while a model answers. Deltas never carry meaning that the answer lacks. */
export type ModelDelta =
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'thinking'; readonly delta: string }
  | { readonly type: 'args'; readonly callId: string; readonly name: string; readonly delta: string };

export interface ModelCallOptions {
  readonly signal: AbortSignal;
  /** The request is made ready at once and leaves when this resolves; the call rejects when it rejects. */
  readonly ready?: Promise<void>;
  /** The whole answer must be there after this (SPEC E11); absent: it may take as long as the line is alive. */
  readonly timeoutMs?: number;
  onDelta?(delta: ModelDelta): void;
  /** What the provider has counted so far, for an answer that breaks off. */
  onUsage?(usage: Usage): void;
}

/**
 * One provider (SPEC E1, G7). `stream` resolves with the whole answer, so that without `onDelta` it is a plain chat. It never throws
 * and never retries: failures come back with a code from this list,
 * as `transient` when a later try may succeed: rate_limit, overloaded, network, stalled_stream, cut_stream, server_error;
 * as `failed` when not: auth, quota, bad_request, bad_response, context_too_long, unknown_model, refusal, step_timeout; as `cancelled`
 * on abort.
 */
export interface ModelProvider {
  readonly name: string;
  stream(request: ModelRequest, options: ModelCallOptions): Promise<Outcome<ModelAnswer>>;
  listModels(signal: AbortSignal): Promise<Outcome<readonly string[]>>;
  /** For a call of about so many tokens that another client makes: waits for its turn; null when the signal aborts before. Absent: no limits. */
  permit?(tokens: number, signal: AbortSignal): Promise<CallPermit | null>;
}

export interface CallPermit {
  /** The call is over. `tokens`: those it took; null when nobody knows. */
  done(tokens: number | null): void;
}

export interface SmallPrompt {
  /** What it is for: the accounts say so (SPEC E16). */
  readonly purpose: AuxPurpose;
  readonly system: string;
  readonly user: string;
}

/** The lesser model (SPEC O3), for edit validation, summaries, pages. One prompt, one text. Each call is counted and kept within the budget. */
export interface SmallModelPort {
  complete(prompt: SmallPrompt, signal: AbortSignal): Promise<Outcome<string>>;
}

export interface PermissionAnswer {
  readonly decision: PermissionDecision;
  readonly by: string;
  readonly word?: string;
}

/** Puts a question to the user (SPEC O24). With nobody to ask, the answer is deny, by `nobody`. */
export interface PermissionPort {
  /** How long a question waits before it counts as denied; null: for as long as it takes. */
  readonly timeoutMs: number | null;
  /** It is the user of another Odin who is asked, whose agent works here. */
  readonly isRelayed?: boolean;
  /** Whether the question waits already; asking it again then waits for the same answer. */
  isOpen(questionId: string): boolean;
  ask(question: Question, signal: AbortSignal): Promise<PermissionAnswer>;
}

/** Publishes what is only for eyes; never blocks, may drop. */
export interface LivePort {
  publish(event: LiveEvent): void;
}
