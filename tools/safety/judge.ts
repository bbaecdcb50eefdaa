// What the judging functions share while one request is judged: its facts, its findings grouped by simple command, the
// paths it names, and what its data can be (Flow). Two of its members lead back into walk.ts, so that wrappers can hand
// their inner command on.

import type { CommandClass, Finding, Op, PathNote } from './decision.ts';
import type { Facts } from './facts.ts';
import type { CompiledLists } from './lists.ts';
import type { Scope } from './scope.ts';
import { type Field, UNKNOWN } from './words.ts';

/** What a command's output can hold and what its input is used for, as bits. */
export const FLOW = { download: 1, decoded: 2, secret: 4, environment: 8, interpreter: 16, network: 32 } as const;

/** The findings of one simple command, or of one construct that is none. */
export interface Part {
  readonly findings: Finding[];
  /** An AllowedCommands entry matches it. */
  allowed: boolean;
  /** FLOW of the command itself: its program, files, process substitutions. */
  flow: number;
  /** FLOW of what runs inside of it, which counts only for a pipe it stands in. */
  passed: number;
  /** As given, after expansion, wrappers included. */
  argv: readonly string[];
}

export const newPart = (): Part => ({ findings: [], allowed: false, flow: 0, passed: 0, argv: [] });

/** A simple command after expansion, ready for its program's rules. */
export interface Call {
  /** Basename of the program. */
  readonly name: string;
  readonly args: readonly Field[];
  readonly scope: Scope;
}

export interface Judge {
  readonly facts: Facts;
  readonly lists: CompiledLists;
  /** Real paths of the root and the home folder. */
  readonly root: string;
  readonly home: string;
  readonly parts: Part[];
  part: Part;
  readonly paths: PathNote[];
  literal: boolean;
  /** Judges an inner command in the same part. */
  command(fields: readonly Field[], scope: Scope): void;
  /** Judges shell text that runs by itself. */
  script(text: string, scope: Scope): void;
}

/** Adds a finding to the current part. */
export function note(judge: Judge, cls: CommandClass, op: Op, reason: string, liftable = true): void {
  const shown = reason.includes(UNKNOWN) ? reason.replaceAll(UNKNOWN, '…') : reason;
  judge.part.findings.push({ class: cls, op, reason: shown, liftable });
}

export const forbid = (judge: Judge, reason: string): void => note(judge, 'forbidden', 'exec', reason, false);
export const needs = (judge: Judge, op: Op, reason: string, liftable = true): void =>
  note(judge, 'needs-approval-edit', op, reason, liftable);

/** Runs `body` with a part of its own and returns it. */
export function inPart(judge: Judge, body: () => void): Part {
  const outer = judge.part;
  const own = newPart();
  judge.parts.push(own);
  judge.part = own;
  try {
    body();
  } finally {
    judge.part = outer;
  }
  return own;
}

/** Whether data of one flow, handed to another, makes what R11 forbids. */
export function whyLeak(from: number, to: number): string | undefined {
  if ((from & (FLOW.download | FLOW.decoded)) !== 0 && (to & FLOW.interpreter) !== 0) {
    return 'A download or decoded text is fed to a shell or interpreter; save it, read it, then run it.';
  }
  if ((from & (FLOW.secret | FLOW.environment)) !== 0 && (to & FLOW.network) !== 0) {
    return 'Secrets or the environment would go to another host.';
  }
  return undefined;
}
