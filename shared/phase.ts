// In which phase the work on a message is (SPEC E6), from the sequence of its calls and their arguments. An edit and a test run say what
// they are; a look around does not undo them at once, because one looks around in every phase.

import { type CommandSign, commandSign } from './command-sign.ts';
import type { ToolCallPart } from './messages.ts';

export const PHASES = ['explore', 'discover_and_plan', 'edit', 'validate'] as const;
export type Phase = (typeof PHASES)[number];

/** What one call is a sign of. */
export type PhaseSign = CommandSign | 'plan';

export interface PhaseTrail {
  readonly phase: Phase;
  /** Signs of the last calls, the newest last. */
  readonly signs: readonly PhaseSign[];
}

export interface PhaseCall {
  readonly tool: string;
  readonly args: unknown;
}

/** Where a message begins. */
export const FIRST_PHASE: PhaseTrail = { phase: 'explore', signs: [] };

/** Signs that are remembered. */
const WINDOW = 6;
/** Looks in a row that end an edit or validate phase. */
const LOOKS = 3;

/** The phase after these calls, from the beginning of a message. */
export const detectPhase = (calls: readonly PhaseCall[]): Phase => afterCalls(FIRST_PHASE, calls).phase;

export const afterCalls = (trail: PhaseTrail, calls: readonly PhaseCall[]): PhaseTrail =>
  calls.reduce(afterCall, trail);

/** The same from a model's answer. Only a command says by its arguments what it is; others may be long. */
export const afterAnswer = (trail: PhaseTrail, calls: readonly ToolCallPart[]): PhaseTrail =>
  calls.reduce(
    (now, { name, rawArgs }) => afterCall(now, { tool: name, args: name === COMMAND ? argsOf(rawArgs) : null }),
    trail,
  );

const COMMAND = 'ExecuteCommand';

function afterCall(trail: PhaseTrail, call: PhaseCall): PhaseTrail {
  const sign = signOf(call);
  if (sign === null) return trail;
  const signs = [...trail.signs, sign].slice(-WINDOW);
  return { phase: phaseAfter(trail.phase, sign, signs), signs };
}

function phaseAfter(before: Phase, sign: PhaseSign, signs: readonly PhaseSign[]): Phase {
  const isAtWork = before === 'edit' || before === 'validate';
  switch (sign) {
    case 'edit':
    case 'validate':
      return sign;
    case 'plan':
      // In the middle of the work a todo list is kept, not made.
      return isAtWork && signs.some((one) => one === 'edit' || one === 'validate') ? before : 'discover_and_plan';
    case 'look':
      return isAtWork && signs.slice(-LOOKS).every((one) => one === 'look') && signs.length >= LOOKS
        ? 'explore'
        : before;
  }
}

/** A map: names come from a model, and one of them may be `constructor`. */
const SIGNS: ReadonlyMap<string, PhaseSign> = new Map(
  Object.entries({
    ReadFile: 'look',
    LS: 'look',
    Glob: 'look',
    Grep: 'look',
    WebFetch: 'look',
    TodoWrite: 'plan',
    WriteFile: 'edit',
    EditTool: 'edit',
    MultiEditTool: 'edit',
    InitTool: 'edit',
  }),
);

/** Null: it says nothing about the phase. */
function signOf({ tool, args }: PhaseCall): PhaseSign | null {
  if (tool !== COMMAND) return SIGNS.get(tool) ?? null;
  const command = typeof args === 'object' && args !== null && 'command' in args ? args.command : null;
  return typeof command === 'string' ? commandSign(command) : null;
}

function argsOf(rawArgs: string): unknown {
  try {
    return JSON.parse(rawArgs);
  } catch {
    return null;
  }
}
