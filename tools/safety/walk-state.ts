// The state of one request's walk over its tree: the judge that all rules write to, and the counters that bound the work
// whatever the text says.

import { judgeCommand } from './command.ts';
import type { Facts } from './facts.ts';
import { forbid, type Judge, needs, newPart } from './judge.ts';
import type { CompiledLists } from './lists.ts';
import { type Command, parseShell, type Script, type Function as ShellFunction } from './parse.ts';
import { precheck } from './precheck.ts';
import type { Scope } from './scope.ts';

const MAX_COMMANDS = 200;
const MAX_STEPS = 4_000;
const MAX_DEPTH = 24;

export interface Walk extends Judge {
  /** Commands judged so far, loops and function calls counted each time. */
  steps: number;
  commands: number;
  depth: number;
  /** How many of the enclosing constructs start processes; a function that calls itself deeper is a fork bomb. */
  forks: number;
  readonly running: { readonly body: ShellFunction; readonly forks: number }[];
  readonly seen: Set<Command>;
  /** Judges a tree; returns what flows out of it. */
  run(script: Script, scope: Scope): number;
}

/** A walk over nothing yet; `run` is walk.ts's, handed in because text inside of text leads back to it. */
export function createWalk(
  facts: Facts,
  lists: CompiledLists,
  run: (walk: Walk, script: Script, scope: Scope) => number,
): Walk {
  const first = newPart();
  const walk: Walk = {
    facts,
    lists,
    root: facts.resolve(facts.root) ?? facts.root,
    home: facts.resolve(facts.home) ?? facts.home,
    parts: [first],
    part: first,
    paths: [],
    literal: true,
    steps: 0,
    commands: 0,
    depth: 0,
    forks: 0,
    running: [],
    seen: new Set(),
    run: (script, scope) => run(walk, script, scope),
    command: (fields, scope) => deeper(walk, () => judgeCommand(walk, fields, scope)),
    script: (text, scope) => deeper(walk, () => judgeText(walk, text, scope)),
  };
  return walk;
}

function deeper(walk: Walk, body: () => void): void {
  if (walk.depth >= MAX_DEPTH) return forbid(walk, 'Commands are nested in each other too deeply to be judged.');
  walk.depth++;
  body();
  walk.depth--;
}

/** Judges shell text: R0, the parser's errors, then the tree; at the end nothing in it may have been left out. */
function judgeText(walk: Walk, text: string, scope: Scope): void {
  const unreadable = precheck(text);
  if (unreadable !== undefined) return forbid(walk, unreadable);
  const parsed = parseShell(text);
  if (!parsed.ok) return forbid(walk, `The command does not parse: ${parsed.message}. Correct its syntax.`);
  walk.commands += parsed.commands.size;
  if (walk.commands > MAX_COMMANDS) return forbid(walk, `The request has over ${MAX_COMMANDS} commands. Split it.`);
  for (const kind of new Set(parsed.unknownKinds))
    needs(walk, 'exec', `The syntax ${kind} is not one Odin knows.`, false);
  walk.part.passed |= walk.run(parsed.script, scope);
  for (const command of parsed.commands) {
    if (!walk.seen.has(command))
      return forbid(walk, 'A part of the command could not be judged. Write it more simply.');
  }
}

/** Counts one command; false when the work has become too much. */
export function step(walk: Walk): boolean {
  if (++walk.steps <= MAX_STEPS) return true;
  if (walk.steps === MAX_STEPS + 1) forbid(walk, 'The request is too entangled to be judged. Split it.');
  return false;
}

/** Judges what runs in a process of its own. */
export function inFork<T>(walk: Walk, body: () => T): T {
  walk.forks++;
  const result = body();
  walk.forks--;
  return result;
}
