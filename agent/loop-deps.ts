// What the agent's loop needs of the world around it. In the orchestrator these are the real things; in a thread they are words over a
// port (workers/agents.ts). The loop is the same in both.

import type { ProcessorSettings } from '../llm/context/processors/registry.ts';
import type { TokenMemory } from '../llm/context/token-estimate.ts';
import type { AgentEffect } from '../machines/agent/events.ts';
import type { EventOf, JournalEvent, ToolCallSummary } from '../shared/events.ts';
import type { ImageRef } from '../shared/images.ts';
import type { EndReason } from '../shared/limits.ts';
import type { ModelRequest, ToolSpec } from '../shared/messages.ts';
import type { Failure } from '../shared/outcome.ts';
import type { LivePort, ModelProvider, SmallModelPort } from '../shared/ports.ts';
import type { Scrub } from '../shared/scrub.ts';
import type { CachedFileInfo } from '../shared/state.ts';
import type { AgentMemory } from './memory.ts';

/** How the context is kept below the window (SPEC E4, O21). */
export interface ContextSettings {
  /** Shares of the window: when it is made smaller, and how small. */
  readonly compactAt: number;
  readonly target: number;
  readonly keepRecent: number;
  readonly summaryTimeoutMs: number;
  /** Absent: the processors' own defaults. */
  readonly processors?: readonly ProcessorSettings[] | undefined;
}

/** Whoever brings events into the journal, in order. */
export interface EventRecorder {
  record(event: JournalEvent): void;
  /** Resolves when everything recorded so far is durable; rejects when the journal is no longer ours. */
  flushed(): Promise<void>;
}

/** A call of the planner's model that is about to be made. */
export interface BudgetedCall {
  /** `provider/name`. */
  readonly model: string;
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
}

/** The message's budget, as its planner sees it (SPEC E7). */
export interface PlannerBudget {
  /** The longest answer that there is room for. A limit is recorded, which ends the message, and comes back as null. */
  plannerRoom(call: BudgetedCall, signal: AbortSignal): number | null | Promise<number | null>;
  /** The planner's call is over, whatever came of it, and its end is recorded. */
  settlePlanner(): void;
  /** A line for the planner when a limit is near; null while none is. */
  near(): string | null;
  /** Records the limit in time when it is reached; not while `isOver`. Returns how to stop the clock. */
  startClock(isOver: () => boolean): () => void;
}

export interface LoopEnd {
  readonly status: EndReason;
  readonly answer: string;
  readonly failure: Failure | null;
  readonly steps: number;
}

type Effect<T extends AgentEffect['type']> = Extract<AgentEffect, { readonly type: T }>;

/** Where hooks come in, all but those of a tool call (SPEC E5). */
export interface LoopHooks {
  /** `call` is made when no hook is against it, with what hooks have to say to the model. */
  askModel(
    effect: Effect<'callModel'>,
    call: (note: string | null) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  compacting(effect: Effect<'compact'>): void;
  recorded(event: JournalEvent): void;
  /** Null when nobody waits for the end. */
  readonly done: ((end: LoopEnd) => Promise<void>) | null;
  /** The message's end is not to wait for hooks any longer. */
  abort(): void;
}

/** A call of a step, from the loop's side: it settles by its tool.done. */
export interface StartedCall {
  cancel(): void;
}

export interface LoopDeps {
  readonly sid: string;
  readonly root: string;
  /** What a subagent is told to be; absent: the session's own agent. */
  readonly role?: string;
  readonly memory: AgentMemory;
  readonly recorder: EventRecorder;
  readonly live: LivePort;
  readonly scrub: Scrub;
  clean(text: string): string;
  record(event: JournalEvent): void;
  /** The provider of a `provider/name`, its SDK loaded. */
  provider(model: string): Promise<ModelProvider>;
  maxOutputTokens(model: string): number;
  /** How many tokens a model takes, its answer included. */
  contextWindow(model: string): number;
  readonly contextSettings: ContextSettings;
  readonly budget: PlannerBudget;
  /** Has the tokenizer count what was guessed, if that matters; returns at once. */
  recount(tokens: TokenMemory, request: ModelRequest, window: number): void;
  /** The lesser model (SPEC O3), within the message's budget and in its accounts. */
  readonly smallModel: SmallModelPort;
  /** How long one answer of the model may take in all. */
  readonly stepTimeoutMs: number;
  /** How long to wait after try number `attempt` failed. */
  retryDelayMs(attempt: number, retryAfterMs: number | undefined): number;
  cachedFiles(): readonly CachedFileInfo[];
  /** Base64 of those pictures that the model takes and that there is room for, by hash. Absent: messages have none. */
  pictures?(model: string, refs: readonly ImageRef[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Asked before a call of the model leaves, when others spend from the same budget elsewhere: the longest answer that it may have; null: it
   * must not be made. Absent: nobody else is asked.
   */
  leave?(op: string, attempt: number, signal: AbortSignal): Promise<number | null>;
  /** What the user wants told to the message while it runs, to be journaled with the request that tells it. Absent: nothing. */
  waitingWords?(): readonly EventOf<'word'>[];
  now(): number;
}

/** What a loop is started with, besides its deps. */
export interface LoopStart {
  readonly start: EventOf<'msg.start'>;
  /** The message's events so far, from msg.start on, folded into the memory already. Empty for a new one. */
  readonly past: readonly JournalEvent[];
  readonly specs: readonly ToolSpec[];
  readonly hooks: LoopHooks;
  /** Starts the calls of a step that are not settled yet. */
  startTools(calls: readonly ToolCallSummary[], signal: AbortSignal): Promise<readonly StartedCall[]>;
  /** Called once the machine has come to its end, before the end is told. Null: nothing is waited for. */
  readonly ending?: (end: LoopEnd) => Promise<LoopEnd>;
}
