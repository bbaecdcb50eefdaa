// The journal's events: one closed union, versioned, JSON only (ARCHITECTURE 6, DURABILITY 4). State is their fold, the
// machines' inputs are among them, and every public stream is a view of them (stream-events.ts).
// Rule: intent before effect, result after effect, and reducers see only what was appended here.

import type { OpId } from './ids.ts';
import type { Json } from './json.ts';
import type { AssistantPart, StopReason, Usage } from './messages.ts';
import type { Mode } from './modes.ts';
import { Bug, type Failure, type FailureKind } from './outcome.ts';
import type { Todo } from './state.ts';

/** The version of this union. A change of an event's shape raises it and brings an upcast (DURABILITY 13, golden logs). */
export const JOURNAL_VERSION = 1;

/** Content kept by hash in the blob store because it is over 16 KB. */
export interface BlobRef {
  readonly sha256: string;
  readonly bytes: number;
}

/** A payload: inline when small, else by reference. Blobs are on disk before the event that names them is appended. */
export type Payload<T extends Json | readonly AssistantPart[] = string> =
  | { readonly inline: T }
  | { readonly blob: BlobRef };

/** The content of a payload whose blob has been read; folds and views get only such. */
export function inlineOf<T>(payload: { readonly inline: T } | { readonly blob: BlobRef }): T {
  if ('inline' in payload) return payload.inline;
  throw new Bug('A payload was used before its blob was read.');
}

export interface ToolCallSummary {
  readonly op: OpId;
  readonly callId: string;
  readonly name: string;
  /** sha256 of the raw arguments: tells a repeated call without keeping the arguments in a machine's context. */
  readonly argsHash: string;
}

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

export type SettledKind = 'ok' | 'invalid' | 'refused' | 'failed' | 'cancelled' | 'unknown';

/** A message that is no question to the planner: it moves the session's file changes back or forth (SPEC E14). */
export interface FileCommand {
  readonly type: 'undo' | 'redo';
  /** How many messages' changes. */
  readonly count: number;
}

export interface Limits {
  readonly maxSteps: number;
}

export type JournalEvent =
  /** First event of every epoch: who owns the session from here on. */
  | {
      readonly type: 'claim';
      readonly seq: number;
      readonly pid: number;
      /** Process start time in clock ticks since boot (Linux), so that a reused pid is not taken for the owner. */
      readonly startTime: string;
      readonly host: string;
      readonly journal: number;
      readonly machines: string;
      readonly at: number;
    }
  | {
      readonly type: 'session.opened';
      readonly sid: string;
      readonly root: string;
      readonly cwd: string;
      /** ODIN.md, AGENTS.md: read once, so that the prompt's prefix stays the same when the file changes. */
      readonly instructions: string;
      readonly at: number;
    }
  | {
      readonly type: 'msg.start';
      readonly seq: number;
      readonly mid: string;
      readonly mode: Mode;
      readonly body: Payload;
      /** `provider/name` of the planner's model and of the lesser one (SPEC O3). */
      readonly model: string;
      readonly smallModel: string;
      readonly limits: Limits;
      readonly command?: FileCommand;
      readonly at: number;
    }
  | {
      readonly type: 'llm.req';
      readonly op: OpId;
      readonly model: string;
      readonly reqHash: string;
      readonly attempt: number;
      /** Volatile facts appended to the newest message of this request; kept so that the next prompt repeats them. */
      readonly facts?: string;
      readonly at: number;
    }
  | {
      readonly type: 'llm.res';
      readonly op: OpId;
      readonly parts: Payload<readonly AssistantPart[]>;
      readonly calls: readonly ToolCallSummary[];
      readonly stop: StopReason;
      readonly usage: Usage;
      readonly model: string;
      readonly at: number;
    }
  | { readonly type: 'llm.fail'; readonly op: OpId; readonly failure: Failure; readonly at: number }
  | {
      readonly type: 'tool.start';
      readonly op: OpId;
      readonly callId: string;
      readonly name: string;
      readonly version: string;
      readonly at: number;
    }
  /** Intent of an effect that may not simply be repeated (a write, a command). Journaled before it starts. */
  | {
      readonly type: 'tool.intent';
      readonly op: OpId;
      readonly key: string;
      readonly intent: Json;
      readonly at: number;
    }
  | {
      readonly type: 'tool.done';
      readonly op: OpId;
      readonly callId: string;
      readonly name: string;
      readonly kind: SettledKind;
      /** What the model gets. Never empty. */
      readonly text: Payload;
      readonly description: string;
      readonly affectedFiles: readonly string[];
      /** Data for programs and for undo; a tool's own shape. */
      readonly data?: Json;
      readonly todos?: readonly Todo[];
      readonly resultHash: string;
      readonly durationMs: number;
      readonly at: number;
    }
  | { readonly type: 'perm.ask'; readonly op: OpId; readonly question: Question; readonly at: number }
  | {
      readonly type: 'perm.answer';
      readonly op: OpId;
      readonly questionId: string;
      readonly decision: PermissionDecision;
      readonly by: string;
      readonly word?: string;
      readonly at: number;
    }
  | { readonly type: 'timer.set'; readonly op: OpId; readonly dueAt: number; readonly why: string }
  | { readonly type: 'timer.fired'; readonly op: OpId; readonly at: number }
  | { readonly type: 'cancel'; readonly seq: number; readonly by: string; readonly at: number }
  | { readonly type: 'update'; readonly seq: number; readonly text: string; readonly at: number }
  /** `undo` and `redo` of file changes (SPEC E14), outside of any turn. */
  | {
      readonly type: 'files.moved';
      readonly direction: 'undo' | 'redo';
      readonly seqs: readonly number[];
      readonly paths: readonly string[];
      readonly at: number;
    }
  | {
      readonly type: 'msg.done';
      readonly seq: number;
      readonly status: EndReason;
      readonly answer: Payload;
      readonly failure?: Failure;
      readonly usage: Usage;
      readonly steps: number;
      readonly at: number;
    };

export type JournalEventType = JournalEvent['type'];
export type EventOf<T extends JournalEventType> = Extract<JournalEvent, { readonly type: T }>;

/** An event with its place in the log: `<epoch>-<n>`. */
export interface Journaled {
  readonly id: string;
  readonly event: JournalEvent;
}

/** The agent of a session itself, as questions name it. */
export const MAIN_AGENT = 'main';

export type PermissionDecision = 'allow' | 'allow_session' | 'allow_always' | 'deny';

/** A question to the user. It is durable, and its answer binds to exactly this (`argsHash`). */
export interface Question {
  readonly id: string;
  readonly title: string;
  /** Why it is asked, one line each. */
  readonly reasons: readonly string[];
  /** The command or the diff, as text. */
  readonly detail: string;
  readonly argsHash: string;
  /** Which agent asks, and for which tool. */
  readonly agent?: string;
  readonly tool?: string;
  readonly paths?: readonly QuestionPath[];
  /** The AllowedCommands entry that "always" would store; absent: none that is narrow enough. */
  readonly rule?: string;
  /** When it counts as denied. Absent: it waits for as long as it takes. */
  readonly expiresAt?: number;
}

/** A path that a question is about. */
export interface QuestionPath {
  readonly path: string;
  readonly outside: boolean;
  readonly why: string;
  /** Set by file tools: what is done there, and what an answer for the session covers: this folder, or this path alone. */
  readonly access?: 'read' | 'write';
  readonly under?: string;
}

/** Ephemeral events of the live stream: for eyes only, never read on resume, lost without harm. */
export type LiveEvent =
  | { readonly type: 'text'; readonly op: OpId; readonly delta: string }
  | { readonly type: 'thinking'; readonly op: OpId; readonly delta: string }
  | { readonly type: 'args'; readonly op: OpId; readonly callId: string; readonly name: string; readonly delta: string }
  | { readonly type: 'progress'; readonly op: OpId; readonly text: string };

/** The failure kinds that settle a tool call, in the terms of the journal. */
export const settledKindOf = (kind: FailureKind): SettledKind => (kind === 'transient' ? 'failed' : kind);
