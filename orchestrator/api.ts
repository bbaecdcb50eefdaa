// What the command line, and later the dashboard, may ask of the orchestrator. odin.ts implements it.

import type { ToolResponse } from '../shared/define-tool.ts';
import type { PermissionDecision, Question } from '../shared/events.ts';
import type { ImageRef, PastedImage } from '../shared/images.ts';
import type { Json } from '../shared/json.ts';
import type { Limits } from '../shared/limits.ts';
import type { MessageCommand } from '../shared/message-command.ts';
import type { Mode } from '../shared/modes.ts';
import type { Outcome } from '../shared/outcome.ts';
import type { ModelProvider, PermissionAnswer, PermissionPort } from '../shared/ports.ts';
import type { Rates } from '../shared/spending.ts';
import type { QueuedMessage, State } from '../shared/state.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import type { Scope } from './budget/ledger.ts';
import type { Forked } from './fork-session.ts';
import type { FsckReport } from './fsck/finding.ts';
import type { Hook } from './hooks/hook.ts';
import type { ToolMiddleware } from './middleware/tool-middleware.ts';
import type { AgentThreadOptions, HeavyPool } from './pool.ts';
import type { RedisHandle } from './redis.ts';
import type { ReplayReport } from './replay.ts';
import type { AgentWord } from './turn.ts';
import type { FetchRules } from './web/fetch-page.ts';
import type { WindowContents } from './window-contents.ts';

/** The models of a run: `provider/name`, and how to reach them. Keys stay inside the provider objects. */
export interface ModelPair {
  readonly model: string;
  readonly smallModel: string;
  /** Asked in this order when the planner's model stays unavailable (SPEC E9). */
  readonly fallbackModels?: readonly string[];
  /** Opens the provider of a `provider/name`; loads its SDK on first use. */
  provider(model: string): Promise<ModelProvider>;
  /** How a thread of this process reaches a model: llm/known-providers.ts's KnownProvider, key and all. Absent: there are no subagents. */
  access?(model: string): unknown;
}

/** A working copy that Odin made for one task, and what that task shares with the others of its process (orchestrator/batch). */
export interface TaskPlace {
  /** The project's root in the working copy. */
  readonly root: string;
  /** The workspace that it counts as: the task's alone, also when tasks that only read share a copy. */
  readonly ws: string;
  /** The user's own folder, whose trust holds for its copy. */
  readonly trustedAs: string;
  /** The session to begin, or to go on with. */
  readonly sid: string;
  readonly handle: RedisHandle;
  readonly pool: HeavyPool;
  /** It is a subagent of another Odin's: what it is told to be, and the tools that it has of its mode's. */
  readonly agent?: {
    readonly role: string;
    readonly tools: readonly string[];
    /** Who is asked instead of whom this process would ask. */
    readonly permissions?: PermissionPort;
    /** LoopDeps.leave: its calls of models wait for it. */
    leave?(op: string, attempt: number, signal: AbortSignal): Promise<number | null>;
  };
  /** What its calls of models reserve from, beyond the message's and the session's. */
  readonly scope?: Scope;
}

export interface OpenOptions {
  /** The folder Odin was started in. The project's root is the nearest folder above with ODIN.md or .git, else this. */
  readonly cwd: string;
  /** Where Odin keeps its own state: $ODIN_HOME, else ~/.odin. */
  readonly home: string;
  /** REDIS_URL when set. Absent: the private server. */
  readonly redisUrl?: string;
  /** Absent: this process submits and follows only, and runs no turns. */
  readonly models?: ModelPair;
  /** Run this process's own commands (undo, redo, compact) when nobody else runs the workspace, and nothing but those. */
  readonly commandsOnly?: boolean;
  /** Present: nobody but this process works in the workspace, and no queue is opened for it. */
  readonly task?: TaskPlace;
  /** Sessions that run here get a title by the lesser model, unless the settings say no: for interfaces that people sit at. */
  readonly titles?: boolean;
  /** What everything that runs in this process may spend in sum (SPEC E7). Absent: no limit. */
  readonly caps?: { readonly usd?: number; readonly tokens?: number };
  /** Who answers questions of the turns that run here. Absent: nobody, so the answer is no. */
  readonly permission?: PermissionPolicy;
  /** A question of any session that runs here begins to wait, or its answer is there: for a terminal that shows them all. */
  onQuestion?(seen: SeenQuestion): void;
  /** Lines for the user about what takes long or is degraded. */
  notice?(line: string): void;
  /** How long to wait after try number `attempt` of a model call failed. Default: retry-delay.ts. */
  retryDelayMs?(attempt: number, retryAfterMs: number | undefined): number;
  /** An owner of the workspace that gave no sign of life for so long is taken for stopped. Default: 10 s. */
  readonly leaseMs?: number;
  /** The command line of run-alone.ts, for messages that were in several crashes. Absent: they run here like all others. */
  readonly alone?: readonly string[];
  /** What WebFetch may dial, for tests with a server of their own. Absent: the public web alone. */
  readonly webRules?: FetchRules;
  /** The threads of subagents, for tests with threads that go wrong. */
  readonly agentThreads?: AgentThreadOptions;
  /** Functions that are called at points of a message (SPEC E5), before those of the settings. */
  readonly hooks?: readonly Hook[];
  /** Wraps the executions of tools (SPEC E17), the first outermost. */
  readonly middleware?: readonly ToolMiddleware[];
  /** What happens inside, for a log file: no prompts, no secrets. */
  log?(message: string, detail: Readonly<Record<string, unknown>>): void;
}

export interface PermissionPolicy {
  /**
   * ask: whoever calls `answer`, in any process. deny: nobody. accept-edits: file writes inside the project pass, unless the file is
   * protected; everything else is denied.
   */
  readonly mode: 'ask' | 'deny' | 'accept-edits';
  /** After this a question counts as denied; null: it waits for as long as it takes. */
  readonly timeoutMs: number | null;
  /** More entries for AllowedCommands, for what runs in this process. */
  readonly allow?: readonly string[];
}

export interface SeenQuestion {
  readonly sid: string;
  readonly question: Question;
  /** Null: it waits. */
  readonly answer: PermissionAnswer | null;
}

/** A question that waits for its answer. */
export interface OpenQuestion extends Question {
  readonly sid: string;
  readonly op: string;
  readonly askedAt: number;
}

export interface SubmitOptions {
  readonly mode: Mode;
  readonly body: string;
  /** From `keepImage`, at most 10. */
  readonly images?: readonly ImageRef[];
  readonly limits?: Partial<Limits>;
  /** `provider/name`; absent: those of the process that runs it. */
  readonly model?: string;
  readonly smallModel?: string;
  /** Asked in this order when the model stays unavailable; absent: those of the process that runs it. */
  readonly fallbackModels?: readonly string[];
  /** Instead of asking the planner, moves the session's file changes, or makes its context smaller. */
  readonly command?: MessageCommand;
  /** Client id of the message: submitting the same one twice is one message. Default: a new ULID. */
  readonly mid?: string;
}

export interface SessionSummary {
  readonly sid: string;
  readonly title: string;
  readonly root: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly messages: number;
  readonly queued: number;
  /** interrupted: a message was started and nobody runs it. archived: it lies in a file and comes back when it is used. */
  readonly status: 'idle' | 'running' | 'queued' | 'interrupted' | 'archived';
}

export interface FileDiff {
  readonly path: string;
  readonly status: 'created' | 'changed' | 'deleted';
  readonly added: number;
  readonly removed: number;
  readonly diff: string;
}

export interface Odin {
  readonly root: string;
  /** Windows and prices of models, for whoever shows a meter. */
  readonly rates: Rates;
  /** True when this process owns the workspace and runs its turns; false when another one does. */
  readonly owner: boolean;
  /** A new session id; nothing is written until the first message. */
  newSession(): string;
  /** Whether some process, this one or another, runs the workspace's turns now. */
  served(): Promise<boolean>;
  /** What the session has changed in files, in sum: one unified diff for each file (SPEC E14). */
  diff(sid: string): Promise<readonly FileDiff[]>;
  /** Queues a message (SPEC O6). `position` counts the messages ahead of it. Throws UserError when the session is unknown or its inbox is full (100). */
  submit(
    sid: string,
    options: SubmitOptions,
  ): Promise<{ readonly sid: string; readonly seq: number; readonly position: number }>;
  /**
   * Keeps a picture, a file or what was pasted, for a message that a model is asked. Throws UserError when it is none, is too large, or when
   * the model (`provider/name`) takes no pictures; null: which one is asked is not known yet.
   */
  keepImage(picture: string | PastedImage, model: string | null): Promise<ImageRef>;
  /**
   * Events of a session from `from` on (an event id, '0' = all, '$' = what comes from now on), the journal's and the live stream's, in
   * order, without gaps or doubles in the journal's part. Ends when the signal aborts. `gatherMs`: who follows from another process than the
   * owner's takes what comes so long after an event together, and costs Redis the less.
   */
  follow(
    sid: string,
    options: { readonly from?: string; readonly gatherMs?: number; readonly signal: AbortSignal },
  ): AsyncIterable<StreamEvent>;
  /**
   * A new session that goes on from an event of another, or from the end of one of its messages (`at`: an event's id or a message's
   * number). Throws UserError when there is no such session or event. Files in the project stay as they are.
   */
  fork(sid: string, at?: string): Promise<Forked>;
  /** Runs the session's machines and folds again from its journal, without a model and without effects. */
  replay(sid: string): Promise<ReplayReport>;
  /** Checks all that this home and its Redis hold, of every project; `repair` also repairs what can be. */
  fsck(repair: boolean): Promise<FsckReport>;
  /** Asks for the running message's cancellation, durably. False when nothing runs. */
  cancel(sid: string, by: string): Promise<boolean>;
  /** Says something to a subagent at work, or cancels it, durably. Throws UserError when no such agent works, or when it is too long. */
  agent(sid: string, id: string, word: AgentWord): Promise<void>;
  /** What waits for an answer in all sessions of the workspace, oldest first. */
  questions(): Promise<readonly OpenQuestion[]>;
  /**
   * Answers a question, by its id or the beginning of it; durable when it resolves, or moments later where this process asks it: a crash
   * in between asks again. Throws UserError when no such question is open, or
   * when "always" has no rule to store.
   */
  answer(
    questionId: string,
    decision: PermissionDecision,
    options: { readonly by: string; readonly word?: string },
  ): Promise<Question & { readonly sid: string }>;
  sessions(): Promise<readonly SessionSummary[]>;
  /** The newest session of this workspace, or null. */
  lastSession(): Promise<string | null>;
  /** Throws UserError when unknown. */
  state(sid: string): Promise<State>;
  /** What fills the model's window, by kind, as the next message in this mode finds it. */
  window(sid: string, mode: Mode): Promise<WindowContents>;
  /** All journal events as JSON lines' objects, blobs resolved: `odin sessions export`. */
  export(sid: string): AsyncIterable<Json>;
  queued(sid: string): Promise<readonly QueuedMessage[]>;
  /** Only what waits can change: a message that runs or is done is refused with a UserError that says so. */
  removeQueued(sid: string, seq: number): Promise<void>;
  editQueued(sid: string, seq: number, change: { readonly body?: string; readonly mode?: Mode }): Promise<void>;
  /** Two messages that wait change places, with all that belongs to them; each place keeps its number. */
  swapQueued(sid: string, seq: number, other: number): Promise<void>;
  /**
   * Has a waiting message told to the one that runs, with its next step; durable when it resolves, with the running one's number. When
   * that one ends first, it stays in the queue. Throws UserError when none runs, or when it is a command or too long for it.
   */
  steer(sid: string, seq: number, by: string): Promise<number>;
  /** Runs one tool without a model, in a mode, with its gates. */
  runTool(name: string, args: Json, mode: Mode, signal: AbortSignal): Promise<Outcome<ToolResponse>>;
  /** Cancels what runs here (kept resumable: nothing is lost), leaves Redis, and stops the private server if it was the last. */
  close(): Promise<void>;
}
