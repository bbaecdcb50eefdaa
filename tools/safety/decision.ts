// What decide() answers (SAFETY 2.1): the five classes in order of severity, the operations, and the findings they are made of.

export const CLASSES = [
  'allow-readonly',
  'deny-in-read-only',
  'needs-approval-edit',
  'outside-approval',
  'forbidden',
] as const;
export type CommandClass = (typeof CLASSES)[number];

/** From harmless to far-reaching; a request carries its furthest. `secret` is a read whose text should not leave. */
export const OPS = ['read', 'secret', 'write', 'delete', 'exec', 'network'] as const;
export type Op = (typeof OPS)[number];

/** A path the command names. `outside` when it is, or may be, outside of the project. */
export interface PathNote {
  readonly path: string;
  readonly outside: boolean;
  readonly why: string;
  /** What the command may do there, in all of its parts: unknown counts as writing. */
  readonly access: 'read' | 'write';
}

export interface Decision {
  readonly class: CommandClass;
  readonly op: Op;
  readonly reasons: readonly string[];
  readonly paths: readonly PathNote[];
  /** True when every word is plain text: nothing is expanded, matched or substituted. */
  readonly literal: boolean;
}

export interface Finding {
  readonly class: CommandClass;
  readonly op: Op;
  readonly reason: string;
  /** True when an AllowedCommands entry that matches the command answers for this (R14). */
  readonly liftable: boolean;
}

export const severity = (name: CommandClass): number => CLASSES.indexOf(name);
export const reach = (op: Op): number => OPS.indexOf(op);
