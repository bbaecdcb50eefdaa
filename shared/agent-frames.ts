// What a subagent's thread and the orchestrator say to each other over the agent's port (DURABILITY 9). The thread orders its agent's
// events while it lives: what the orchestrator has to add goes to the thread, and comes back with its place.
//
// Flow control is in the protocol itself: the loop asks for nothing before what it recorded is acknowledged.

import type { EventOf, JournalEvent, LiveEvent, ToolCallSummary } from './events.ts';
import type { EndReason } from './limits.ts';
import type { ToolSpec } from './messages.ts';
import type { Failure, Outcome } from './outcome.ts';
import type { SmallPrompt } from './ports.ts';
import type { CachedFileInfo } from './state.ts';

export const FRAMES_VERSION = 1;

interface FrameHead {
  readonly v: typeof FRAMES_VERSION;
  readonly aid: string;
  /** The thread's incarnation: words of one that is over are dropped. */
  readonly inc: number;
}

/** From the thread. */
export type ThreadWord =
  | { readonly k: 'up'; readonly thread: number }
  /** Recorded here: number `n`, in this order. `echo`: it came from the orchestrator, as its number. */
  | { readonly k: 'evt'; readonly n: number; readonly event: JournalEvent; readonly echo?: number }
  | { readonly k: 'req'; readonly id: number; readonly body: ThreadRequest }
  /** The model's words as they come: for the eye alone, in no order with the rest. */
  | { readonly k: 'live'; readonly events: readonly LiveEvent[] }
  /** The calls of the step are to stop. */
  | { readonly k: 'cancelTools' }
  /** The planner's call is over. */
  | { readonly k: 'settle' }
  | { readonly k: 'end'; readonly end: ThreadEnd };

export interface ThreadEnd {
  readonly status: EndReason;
  readonly answer: string;
  readonly failure: Failure | null;
  readonly steps: number;
}

export type ThreadRequest =
  | { readonly op: 'tools'; readonly calls: readonly ToolCallSummary[] }
  | {
      readonly op: 'room';
      readonly model: string;
      readonly inputTokens: number;
      readonly maxOutputTokens: number;
      /** What the provider has counted of it before. */
      readonly base: { readonly model: string; readonly tokens: number } | null;
    }
  | { readonly op: 'small'; readonly prompt: SmallPrompt }
  /** Whether hooks let the model be asked. */
  | {
      readonly op: 'before';
      readonly opId: string;
      readonly step: number;
      readonly model: string;
      readonly messages: number;
    };

/** What the requests come back with. */
export interface ThreadReplies {
  readonly tools: null;
  readonly room: number | null;
  readonly small: Outcome<string>;
  /** Null: hooks were against it, and that is recorded. */
  readonly before: { readonly note: string | null } | null;
}

/** To the thread. */
export type HostWord =
  /** To be recorded; comes back as an evt with `echo`. */
  | { readonly k: 'evt'; readonly id: number; readonly event: JournalEvent; readonly cached: readonly CachedFileInfo[] }
  /** Everything up to number `n` is durable. */
  | { readonly k: 'ack'; readonly n: number; readonly near: string | null }
  | { readonly k: 'res'; readonly id: number; readonly body: unknown };

export type ThreadFrame = FrameHead & ThreadWord;
export type HostFrame = FrameHead & HostWord;

/** What a loop in a thread is started with. Plain data; `providers` holds keys, and goes nowhere but into the thread's memory. */
export interface AgentTask {
  readonly aid: string;
  readonly inc: number;
  /** The agent's own session id, for prompts' cache keys. */
  readonly sid: string;
  readonly root: string;
  readonly start: EventOf<'msg.start'>;
  /** Its own events so far, after its start. */
  readonly past: readonly JournalEvent[];
  readonly specs: readonly ToolSpec[];
  readonly instructions: string;
  readonly role: string;
  /** By `provider/name`: how to reach it, and its sizes. */
  readonly models: Readonly<Record<string, AgentModel>>;
  readonly context: unknown;
  readonly stepTimeoutMs: number;
  readonly cached: readonly CachedFileInfo[];
  readonly near: string | null;
  /** Hooks are to be asked before the model is. */
  readonly asksHooks: boolean;
}

export interface AgentModel {
  /** llm/known-providers.ts's KnownProvider. */
  readonly provider: unknown;
  readonly window: number;
  readonly maxOutputTokens: number;
}
