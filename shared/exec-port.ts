// Running commands as the tools see it (SPEC O18, SAFETY 2.4, DURABILITY 7). The orchestrator owns processes, sandbox, working
// folder and output files; whether a command may run was decided before, by the tool.

import type { Json } from './json.ts';
import type { Outcome } from './outcome.ts';

/** `none`: commands run unconfined, and `reason` says for people what is missing. */
export type SandboxStatus = { readonly kind: 'bwrap' } | { readonly kind: 'none'; readonly reason: string };

/** A path outside the project that the user allowed this one command to reach. */
export interface ExtraPath {
  /** Absolute and real: links resolved. */
  readonly path: string;
  readonly access: 'read' | 'write';
}

export interface CommandRequest {
  readonly command: string;
  /** Real path of the folder it starts in. */
  readonly cwd: string;
  /** Null: no limit. */
  readonly timeoutMs: number | null;
  /** What the sandbox lets it do to the project. */
  readonly profile: 'read-only' | 'read-write';
  readonly network: boolean;
  readonly extraPaths: readonly ExtraPath[];
  /** Names the command inside its session; the same key is never started twice. */
  readonly opKey: string;
}

export interface CommandHooks {
  /** Aborting kills the command and everything it started. */
  readonly signal: AbortSignal;
  /** Output as it comes, cleaned. May skip parts of a flood. */
  onOutput(chunk: string): void;
  /** Awaited right before the start, with all that a later process needs to learn how it ended. */
  intend(intent: Json): Promise<void>;
}

/** The beginning and the end of an output, cleaned; short outputs are whole in `head`. */
export interface CappedOutput {
  readonly head: string;
  readonly tail: string;
  /** Bytes between the two, and where in the output they begin. */
  readonly omittedBytes: number;
  readonly omittedFrom: number;
  readonly bytes: number;
}

/** Why a command was ended before it ended by itself. */
export type StopReason = 'timeout' | 'cancelled' | 'flood' | 'closed';

export interface CommandResult {
  /** Name under which `read` gives the full output. */
  readonly id: string;
  /** As a shell counts: 128 + n after signal n. */
  readonly exitCode: number;
  readonly stopped: StopReason | null;
  readonly output: CappedOutput;
  /** The file that holds the full output, as it came. */
  readonly outputPath: string;
  /** Real path where the shell was at its end; the old folder when that is unknown, gone or outside the project. */
  readonly cwdAfter: string;
  /** The folder outside the project where it ended, which the next command does not start in. */
  readonly leftProject: string | null;
  readonly durationMs: number;
}

export interface BackgroundCommand {
  readonly id: string;
  readonly command: string;
  readonly running: boolean;
  /** Null while it runs, and when it was killed from outside. */
  readonly exitCode: number | null;
  readonly bytes: number;
}

/** A piece of a command's output, cleaned. */
export interface OutputPiece {
  readonly id: string;
  readonly text: string;
  /** In bytes of the output. */
  readonly from: number;
  readonly next: number;
  readonly bytes: number;
  readonly running: boolean;
  readonly exitCode: number | null;
}

/** Where Odin itself is, which commands may not reach (SAFETY R13): folders and sockets, ports, and hosts besides this one. */
export interface ControlPlaces {
  readonly paths: readonly string[];
  readonly ports: readonly number[];
  readonly hosts: readonly string[];
}

/** The commands of one session. */
export interface ExecPort {
  readonly control: ControlPlaces;
  /** Tried once for the process, then remembered. */
  sandbox(): Promise<SandboxStatus>;
  /** Where the next command starts: a real folder inside the project. */
  cwd(): string;
  run(request: CommandRequest, hooks: CommandHooks): Promise<Outcome<CommandResult>>;
  /** Starts in the background. It ends with Odin, however Odin ends; aborting the signal later does not touch it. */
  start(request: CommandRequest, hooks: CommandHooks): Promise<Outcome<BackgroundCommand>>;
  /** Output from byte `from` on; without it, what has come since the last read without it. */
  read(id: string, from?: number): Promise<Outcome<OutputPiece>>;
  /** Ends a background command and everything it started. */
  stop(id: string): Promise<Outcome<OutputPiece>>;
  /** The background commands that were started by this process. */
  list(): readonly BackgroundCommand[];
}
