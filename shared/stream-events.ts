// The public stream (SPEC G4): what `odin run --json` prints, one event a line, and what terminal, dashboard and attached
// clients follow. Names and fields are stable; docs/events.md is their reference. New fields and new types may be added,
// so readers ignore what they do not know. stream-view.ts makes these from the journal and the live stream.

import type { AgentEndKind } from './agents.ts';
import type { AuxPurpose, CompactReason, InstructionFile, QuestionPath, SettledKind } from './events.ts';
import type { Json } from './json.ts';
import type { EndReason, LimitKind } from './limits.ts';
import type { Usage } from './messages.ts';
import type { Mode } from './modes.ts';
import type { Phase } from './phase.ts';
import type { SpentOn } from './spending.ts';
import type { Todo } from './state.ts';

/** Tokens in a model's context window, and its size. */
export interface WindowUse {
  readonly tokens: number;
  readonly size: number;
}

interface Base {
  /** Session. */
  readonly session: string;
  /** Place in the journal, `<epoch>-<n>`; null for events of the live stream, which are never replayed. */
  readonly id: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Number of the message in its session, from 1; 0 before the first. */
  readonly seq: number;
  /** The subagent whose event it is; absent: the session's own. A PermissionAsked names it in words instead. */
  readonly agent?: string;
}

export type StreamEvent =
  | (Base & {
      readonly type: 'SessionOpened';
      readonly root: string;
      /** The files whose text the planner has as instructions. */
      readonly instructions: readonly InstructionFile[];
    })
  /** What the session is called, by the lesser model; it may come behind the end of a message. */
  | (Base & { readonly type: 'SessionTitled'; readonly title: string })
  | (Base & { readonly type: 'MessageQueued'; readonly mode: Mode; readonly body: string; readonly position: number })
  | (Base & {
      readonly type: 'MessageStarted';
      readonly mode: Mode;
      readonly body: string;
      readonly model: string;
      /** Names of the pictures that go with it. Absent: none. */
      readonly images?: readonly string[];
    })
  | (Base & { readonly type: 'StepStarted'; readonly step: number; readonly attempt: number })
  | (Base & { readonly type: 'StreamText'; readonly delta: string })
  | (Base & { readonly type: 'StreamThinking'; readonly delta: string })
  /** The model's whole text of one step; with tool calls following it is what it says before it acts. */
  | (Base & { readonly type: 'StepText'; readonly step: number; readonly text: string })
  | (Base & {
      readonly type: 'ToolCallStart';
      readonly op: string;
      readonly callId: string;
      readonly tool: string;
      readonly args: Json;
    })
  | (Base & { readonly type: 'ToolProgress'; readonly op: string; readonly text: string })
  | (Base & {
      readonly type: 'ToolCallEnd';
      readonly op: string;
      readonly callId: string;
      readonly tool: string;
      readonly status: SettledKind;
      readonly durationMs: number;
    })
  | (Base & {
      readonly type: 'ToolResult';
      readonly op: string;
      readonly callId: string;
      readonly tool: string;
      readonly status: SettledKind;
      readonly description: string;
      readonly text: string;
      readonly affectedFiles: readonly string[];
    })
  /** What the work of the message is at now, from its calls. A message begins with explore. */
  | (Base & { readonly type: 'PhaseChanged'; readonly phase: Phase })
  | (Base & { readonly type: 'TodosChanged'; readonly todos: readonly Todo[] })
  | (Base & {
      readonly type: 'Usage';
      readonly step: number;
      readonly model: string;
      readonly usage: Usage;
      /** The server counted nothing. */
      readonly estimated: boolean;
      /** Of this call; null when the price is not known. */
      readonly costUsd: number | null;
      /** What the model's window holds now. */
      readonly window: WindowUse;
    })
  /** A call of the lesser model. */
  | (Base & {
      readonly type: 'AuxUsage';
      readonly purpose: AuxPurpose;
      readonly model: string;
      readonly usage: Usage;
      readonly estimated: boolean;
      readonly costUsd: number | null;
    })
  /** The context is about to be made smaller, and why. */
  | (Base & {
      readonly type: 'ContextFull';
      readonly why: CompactReason;
      readonly tokens: number;
      readonly window: number;
    })
  | (Base & {
      readonly type: 'ContextCompacted';
      readonly why: CompactReason;
      readonly processors: readonly string[];
      /** Messages that a summary, or nothing, stands for from here on. */
      readonly replaced: number;
      /** The model's window in tokens; 0 in journals of old. */
      readonly window: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    })
  | (Base & { readonly type: 'LimitReached'; readonly limit: LimitKind; readonly message: string })
  | (Base & {
      readonly type: 'HookRan';
      readonly op: string | null;
      readonly event: string;
      readonly name: string;
      readonly outcome: 'denied' | 'changed' | 'failed' | 'noted';
      readonly message: string;
      /** Changed: the arguments that are run instead; null otherwise. */
      readonly args: Json;
    })
  | (Base & {
      readonly type: 'RetryScheduled';
      readonly code: string;
      readonly message: string;
      readonly dueAt: number;
      /** The try that is waited for, from 2, and how many there are; 0 in journals of old. */
      readonly attempt: number;
      readonly attempts: number;
    })
  /** A fallback model is asked from here on, and why (SPEC E9). */
  | (Base & {
      readonly type: 'ModelChanged';
      readonly from: string;
      readonly to: string;
      readonly code: string;
      readonly message: string;
    })
  /** An answer was cut off at the output limit, or empty; the model is asked to go on, a few times. */
  | (Base & { readonly type: 'AnswerCut'; readonly step: number; readonly why: 'output_limit' | 'empty' })
  | (Base & {
      readonly type: 'PermissionAsked';
      readonly questionId: string;
      readonly title: string;
      readonly reasons: readonly string[];
      readonly detail: string;
      readonly agent: string;
      readonly paths: readonly QuestionPath[];
      readonly rule: string | null;
      /** Only for a question about a page of the web: its host. */
      readonly host?: string;
      readonly expiresAt: number | null;
    })
  | (Base & {
      readonly type: 'PermissionAnswered';
      readonly questionId: string;
      readonly decision: string;
      readonly by: string;
    })
  /** A subagent begins (SPEC O19). Its own events follow among the others, with its id as `agent`. */
  | (Base & {
      readonly type: 'AgentSpawned';
      readonly agent: string;
      /** The call that started it. */
      readonly op: string;
      readonly title: string;
      /** Name of its agent file; null for a plain one. */
      readonly kind: string | null;
      readonly mode: Mode;
      readonly model: string;
      readonly background: boolean;
      readonly tools: readonly string[];
      readonly prompt: string;
    })
  /** A subagent begins with a worker; or, `worker` null, in a thread of the orchestrator after all. What it did before counts no more. */
  | (Base & {
      readonly type: 'AgentPlaced';
      readonly agent: string;
      readonly title: string;
      readonly worker: string | null;
      /** Why it is not with a worker; '' when it is. */
      readonly why: string;
    })
  /** After each step of a subagent: how far it is. */
  | (Base & {
      readonly type: 'AgentProgress';
      readonly agent: string;
      readonly step: number;
      /** The calls that it makes now, or what else it does. */
      readonly doing: string;
      readonly tokens: number;
      readonly costUsd: number | null;
    })
  | (Base & {
      readonly type: 'AgentEnded';
      readonly agent: string;
      readonly title: string;
      readonly end: AgentEndKind;
      /** Which limit, when it was one. */
      readonly limit: LimitKind | 'steps' | null;
      readonly answer: string;
      readonly steps: number;
      readonly durationMs: number;
      /** Null when a price is not known. */
      readonly costUsd: number | null;
      readonly background: boolean;
    })
  /** What the user said to an agent at work, or to the message that runs. `queued`: the message of the queue that it was. */
  | (Base & { readonly type: 'UserWord'; readonly text: string; readonly by: string; readonly queued?: number })
  | (Base & { readonly type: 'CancelRequested'; readonly by: string })
  | (Base & { readonly type: 'AgentError'; readonly code: string; readonly message: string; readonly step: number })
  /** The message as it enters the audit trail. */
  | (Base & {
      readonly type: 'PersistMessage';
      readonly mode: Mode;
      readonly status: EndReason;
      readonly answer: string;
      readonly steps: number;
    })
  /** The last event of a message. */
  | (Base & {
      readonly type: 'AgentDone';
      readonly status: EndReason;
      readonly answer: string;
      readonly steps: number;
      /** The planner's tokens. */
      readonly usage: Usage;
      /** Of both models together; null when a price is not known. */
      readonly costUsd: number | null;
      /** By model. Empty in journals of old. */
      readonly spending: readonly SpentOn[];
    });

export type StreamEventType = StreamEvent['type'];
