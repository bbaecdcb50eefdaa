// The journal's events: one closed union, versioned, JSON only (ARCHITECTURE 6, DURABILITY 4). State is their fold, the
// machines' inputs are among them, and every public stream is a view of them (stream-events.ts).
// Rule: intent before effect, result after effect, and reducers see only what was appended here.

import type { AgentEndKind } from './agents.ts';
import type { OpId } from './ids.ts';
import type { ImageRef } from './images.ts';
import type { Json } from './json.ts';
import type { EndReason, LimitKind, Limits } from './limits.ts';
import type { MessageCommand } from './message-command.ts';
import type { AssistantPart, ModelMessage, StopReason, Usage } from './messages.ts';
import type { Mode } from './modes.ts';
import type { Failure, FailureKind } from './outcome.ts';
import type { Payload } from './payload.ts';
import type { Spending } from './spending.ts';
import type { Todo } from './state.ts';

/** The version of this union. A change of an event's shape raises it and brings an upcast (DURABILITY 13, golden logs). */
export const JOURNAL_VERSION = 1;

/** A file whose text is among a session's instructions. */
export interface InstructionFile {
  /** From the project's root; the user's own is absolute. */
  readonly path: string;
  /** The user's own, or from a folder that the user has accepted. */
  readonly trusted: boolean;
  readonly bytes: number;
}

export interface ToolCallSummary {
  readonly op: OpId;
  readonly callId: string;
  readonly name: string;
  /** sha256 of the raw arguments: tells a repeated call without keeping the arguments in a machine's context. */
  readonly argsHash: string;
}

export type SettledKind = 'ok' | 'invalid' | 'refused' | 'failed' | 'cancelled' | 'unknown';

/** Why the context is made smaller: it nears the window, the provider refused it, or the model or the user asked. */
export type CompactReason = 'window' | 'too_long' | 'asked';

/** What the lesser model was asked for. */
export type AuxPurpose = 'summary' | 'edit_check' | 'web_page' | 'init' | 'title';

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
      /** The files they are from. Absent in journals of old. */
      readonly instructionFiles?: readonly InstructionFile[];
      readonly at: number;
    }
  /** First event of a session that continues another from one of its events on; those up to it follow, as they were. */
  | {
      readonly type: 'session.forked';
      readonly sid: string;
      readonly from: string;
      readonly upTo: string;
      readonly at: number;
    }
  | {
      readonly type: 'msg.start';
      readonly seq: number;
      readonly mid: string;
      readonly mode: Mode;
      readonly body: Payload;
      /** Pictures of the message, their bytes in the blob store. Absent: none. */
      readonly images?: readonly ImageRef[];
      /** `provider/name` of the planner's model and of the lesser one (SPEC O3). */
      readonly model: string;
      readonly smallModel: string;
      readonly limits: Limits;
      /** Asked in this order when the planner's model stays unavailable (SPEC E9). */
      readonly fallbackModels?: readonly string[];
      readonly command?: MessageCommand;
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
      /** Input tokens as estimated beforehand; with the answer's usage it calibrates the next estimates. */
      readonly estimate?: number;
      readonly at: number;
    }
  | {
      readonly type: 'llm.res';
      readonly op: OpId;
      readonly parts: Payload<readonly AssistantPart[]>;
      readonly calls: readonly ToolCallSummary[];
      readonly stop: StopReason;
      readonly usage: Usage;
      /** The server counted nothing: `usage` is an estimate. */
      readonly estimated?: true;
      readonly model: string;
      readonly at: number;
    }
  | {
      readonly type: 'llm.fail';
      readonly op: OpId;
      readonly failure: Failure;
      /** What the provider had counted before the answer broke off. Absent: it said nothing. */
      readonly usage?: Usage;
      readonly at: number;
    }
  /** The next request was not sent: the context is made smaller first. */
  | {
      readonly type: 'context.full';
      readonly op: OpId;
      readonly why: CompactReason;
      readonly tokens: number;
      readonly window: number;
      readonly at: number;
    }
  /** The conversation from here on (SPEC O21): the one place where the prompt's prefix may change within a mode. */
  | {
      readonly type: 'compact.done';
      readonly op: OpId;
      readonly why: CompactReason;
      readonly messages: Payload<readonly ModelMessage[]>;
      /** Processors that changed something, in order. */
      readonly processors: readonly string[];
      /** Messages that a summary, or nothing, stands for from here on. */
      readonly replaced?: number;
      /** The model's, in tokens. */
      readonly window?: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly at: number;
    }
  | { readonly type: 'compact.fail'; readonly op: OpId; readonly failure: Failure; readonly at: number }
  /** A call of the lesser model (SPEC O3), for the accounts. */
  | {
      readonly type: 'aux.used';
      readonly seq: number;
      readonly purpose: AuxPurpose;
      readonly model: string;
      readonly usage: Usage;
      readonly estimated?: true;
      readonly at: number;
    }
  /** What the session is called, by the lesser model. It comes behind a message or in a later one. */
  | { readonly type: 'session.titled'; readonly title: string; readonly at: number }
  /** A hard limit is reached; the message stops. */
  | {
      readonly type: 'limit.hit';
      readonly seq: number;
      readonly limit: LimitKind;
      readonly message: string;
      readonly at: number;
    }
  /** A hook of the user that said or did something worth knowing: denied, changed a call, or failed (SPEC E5). */
  | {
      readonly type: 'hook.ran';
      readonly seq: number;
      /** The call it was about, when it was about one. */
      readonly op?: OpId;
      readonly event: string;
      readonly name: string;
      readonly outcome: 'denied' | 'changed' | 'failed' | 'noted';
      readonly message: string;
      /** Changed: the arguments that are run instead of the call's own. */
      readonly args?: Payload<Json>;
      readonly durationMs: number;
      readonly at: number;
    }
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
      /** The model asked for a smaller context: what to keep in particular, '' for nothing special. */
      readonly compact?: string;
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
  | {
      readonly type: 'timer.set';
      readonly op: OpId;
      readonly dueAt: number;
      readonly why: string;
      /** The try that it waits for, and how many there are. Absent in journals of old. */
      readonly attempt?: number;
      readonly attempts?: number;
      readonly at?: number;
    }
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
  /** The planner started a subagent (SPEC O19); its id is made of the call's, so a call that is run again is the same agent. */
  | {
      readonly type: 'agent.spawn';
      readonly aid: string;
      readonly op: OpId;
      readonly seq: number;
      readonly title: string;
      /** Name of the agent file that it was made from. */
      readonly kind?: string;
      readonly mode: Mode;
      readonly background: boolean;
      readonly tools: readonly string[];
      readonly prompt: Payload;
      /** What it is told to be, before the task. */
      readonly role?: string;
      readonly model: string;
      readonly smallModel: string;
      readonly fallbackModels?: readonly string[];
      readonly limits: Limits;
      /** It is for a worker. Absent: for a thread of the orchestrator. */
      readonly where?: 'remote';
      readonly at: number;
    }
  /** An agent that is for a worker begins there, or, with `worker` null, in a thread of the orchestrator: anew, whatever it did before. */
  | {
      readonly type: 'agent.placed';
      readonly aid: string;
      readonly seq: number;
      readonly worker: string | null;
      /** Why it is not, or not any more, with a worker. */
      readonly why?: string;
      /** Number of its attempts with workers; their events are counted within one. */
      readonly attempt: number;
      readonly at: number;
    }
  /** An event of a subagent's own, in its order. */
  | { readonly type: 'agent.ev'; readonly aid: string; readonly event: JournalEvent; readonly at: number }
  | {
      readonly type: 'agent.done';
      readonly aid: string;
      readonly seq: number;
      readonly title: string;
      readonly background: boolean;
      readonly end: AgentEndKind;
      /** Which limit, when it was one. */
      readonly limit?: LimitKind | 'steps';
      readonly answer: Payload;
      readonly failure?: Failure;
      readonly steps: number;
      readonly durationMs: number;
      readonly at: number;
    }
  /** The user says something to an agent at work, or to the message that runs; told with its next request. */
  | {
      readonly type: 'word';
      readonly seq: number;
      readonly text: string;
      readonly by: string;
      /** The message of the queue that it was; it is out of there. */
      readonly queued?: number;
      readonly at: number;
    }
  | {
      readonly type: 'msg.done';
      readonly seq: number;
      readonly status: EndReason;
      readonly answer: Payload;
      readonly failure?: Failure;
      readonly usage: Usage;
      /** By model, the lesser one's included. Absent in journals of old. */
      readonly spending?: Spending;
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
  /** The host on the web that it is about; an answer for the session covers it and what lies below. */
  readonly host?: string;
  /** The user of another Odin is asked, whose agent works here. */
  readonly relayed?: boolean;
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
export type LiveEvent = (
  | { readonly type: 'text'; readonly op: OpId; readonly delta: string }
  | { readonly type: 'thinking'; readonly op: OpId; readonly delta: string }
  | { readonly type: 'args'; readonly op: OpId; readonly callId: string; readonly name: string; readonly delta: string }
  | { readonly type: 'progress'; readonly op: OpId; readonly text: string }
) & {
  /** The subagent whose it is; absent: the session's own. */
  readonly agent?: string;
};

/** The failure kinds that settle a tool call, in the terms of the journal. */
export const settledKindOf = (kind: FailureKind): SettledKind => (kind === 'transient' ? 'failed' : kind);
