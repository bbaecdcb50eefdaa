// A simple command in the tree (R1): its words are visited and expanded, its redirections and assignments judged, then it
// is a function's body, or a program for command.ts.

import { forbid, inPart, whyLeak } from './judge.ts';
import type { Assignment, Command, Redirection, Function as ShellFunction, Word } from './parse.ts';
import { isInside, judgePath, outside } from './paths.ts';
import { plainName, SHELLS } from './programs/names.ts';
import { judgeRedirects } from './redirects.ts';
import { copyScope, type Scope, wordFacts } from './scope.ts';
import { assign } from './variables.ts';
import { visitAssignment, visitParts, visitWord } from './visit.ts';
import { step, type Walk } from './walk-state.ts';
import { type Field, fieldOf, fieldsOf, isKnown, plainField } from './words.ts';

/** Judges the call of a function; walk.ts's, because a body is a compound. */
export type CallFunction = (walk: Walk, name: string, body: ShellFunction | 'maybe', scope: Scope) => number;

/** Judges a simple command. `input` is the text it is known to read, for a shell. */
export function judgeSimple(
  walk: Walk,
  node: Command,
  scope: Scope,
  callFunction: CallFunction,
  input?: string,
): number {
  walk.seen.add(node);
  if (!step(walk)) return 0;
  const part = inPart(walk, () => {
    const assignments = node.prefix.filter((item) => item.type === 'Assignment');
    const fields = expand(walk, node, scope);
    const setting = fields.length === 0 ? scope : copyScope(scope);
    for (const assignment of assignments) {
      visitAssignment(walk, assignment, scope);
      assign(walk, assignment.name, setting, fields.length === 0 ? 'plain' : 'exported');
    }
    visitRedirects(walk, node.redirects, scope);
    judgeRedirects(walk, node.redirects, scope);
    judgeFields(walk, node, fields, scope, callFunction, input);
    const leak = whyLeak(walk.part.flow, walk.part.flow);
    if (leak !== undefined) forbid(walk, leak);
  });
  return part.flow | part.passed;
}

function judgeFields(
  walk: Walk,
  node: Command,
  fields: readonly Field[],
  scope: Scope,
  callFunction: CallFunction,
  input: string | undefined,
): void {
  const name = fields[0];
  if (name === undefined) return;
  const body = isKnown(name) ? scope.functions.get(name.text) : undefined;
  if (body !== undefined) walk.part.passed |= callFunction(walk, name.text, body, scope);
  if (body === undefined || body === 'maybe') walk.command(fields, scope);
  if (readsProgram(fields)) judgeInput(walk, node, scope, input);
}

/** The words of a command as fields. Assignments behind declare and its like are words there. */
function expand(walk: Walk, node: Command, scope: Scope): readonly Field[] {
  const fields: Field[] = [];
  const facts = wordFacts(scope);
  const words = node.name === undefined ? node.args : [node.name, ...node.args];
  for (const word of words) {
    if (word.type === 'Word') {
      visitWord(walk, word, scope);
      for (const field of fieldsOf(word, facts)) {
        judgeGlob(walk, field, scope);
        fields.push(field);
      }
    } else {
      visitAssignment(walk, word, scope);
      fields.push(assignmentField(word, scope));
    }
  }
  return fields;
}

/** A wildcard lists the folder it stands in, whatever the word is for. */
export function judgeGlob(walk: Walk, field: Field, scope: Scope): void {
  if (field.globAt >= 0 && isKnown(field) && !isInside(walk, field, scope)) judgePath(walk, field, 'look', scope);
}

function assignmentField(assignment: Assignment, scope: Scope): Field {
  const value = assignment.value.type === 'Word' ? fieldOf(assignment.value, wordFacts(scope)) : plainField('()');
  return { ...value, text: `${assignment.name}=${value.text}`, raw: assignment.text, globAt: -1, splits: false };
}

/** Visits what is inside of redirections' words. Here-documents and here-strings are data for the command. */
export function visitRedirects(walk: Walk, redirects: readonly Redirection[], scope: Scope): void {
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') visitParts(walk, redirect.body.parts ?? [], scope, true);
    else if (redirect.target !== undefined) visitWord(walk, redirect.target, scope, true);
  }
}

/** A shell with neither a script nor `-c` takes its commands from its input. */
function readsProgram(fields: readonly Field[]): boolean {
  const shell = isKnown(fields[0] ?? plainField('')) && SHELLS.has(plainName(basename(fields[0]?.text ?? '')));
  return shell && fields.slice(1).every((field) => /^[-+]/.test(field.text) && !/^-[a-z]*c/.test(field.text));
}

const basename = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function judgeInput(walk: Walk, node: Command, scope: Scope, input: string | undefined): void {
  const inner: Scope = { ...copyScope(scope), functions: new Map() };
  const given = node.redirects.findLast((redirect) => redirect.type === 'HereDoc' || redirect.type === 'HereString');
  if (given === undefined) {
    if (input !== undefined) walk.script(input, inner);
  } else if (given.type === 'HereString') {
    if (given.target !== undefined) judgeHere(walk, fieldOf(given.target, wordFacts(scope)), inner);
  } else if (given.body.parts?.every((part) => part.type === 'Literal') ?? true) {
    walk.script(given.body.text, inner);
  } else outside(walk, 'a here-document', 'run', 'the commands in it are not known in advance');
}

function judgeHere(walk: Walk, field: Field, scope: Scope): void {
  if (isKnown(field)) walk.script(field.text, scope);
  else outside(walk, field.raw, 'run', 'the commands in it are not known in advance');
}

/** The text that a plain echo, or cat of a here-document, writes, for a shell that reads it (R1). */
export function plainOutput(node: Command, scope: Scope): string | undefined {
  const words = [node.name, ...node.args].filter((word): word is Word => word?.type === 'Word');
  const fields = words.flatMap((word) => fieldsOf(word, wordFacts(scope)));
  const [name, ...args] = fields;
  if (name === undefined || !fields.every(isKnown)) return undefined;
  const given = node.redirects[0];
  if (name.text === 'cat' && args.length === 0 && node.redirects.length === 1 && given?.type === 'HereDoc') {
    return (given.body.parts?.every((part) => part.type === 'Literal') ?? true) ? given.body.text : undefined;
  }
  if (node.redirects.length > 0) return undefined;
  if (name.text === 'printf' && args.length === 1) return unescape(args[0]?.text ?? '');
  if (name.text !== 'echo') return undefined;
  const from = args.findIndex((field) => !/^-[neE]+$/.test(field.text));
  const text =
    from < 0
      ? ''
      : args
          .slice(from)
          .map((field) => field.text)
          .join(' ');
  return args.slice(0, Math.max(0, from)).some((field) => field.text.includes('e')) ? unescape(text) : text;
}

const unescape = (text: string): string | undefined =>
  /[\\%]/.test(text.replace(/\\n/g, '')) ? undefined : text.replace(/\\n/g, '\n');
