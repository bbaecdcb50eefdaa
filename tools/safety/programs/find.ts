// find: starting points, then an expression. Tests are harmless, some actions write, delete or run (R10, R16).

import { type Call, type Judge, needs } from '../judge.ts';
import { judgeCatastrophe, judgePath, outside } from '../paths.ts';
import { type Field, isKnown, plainField } from '../words.ts';

const set = (words: string): ReadonlySet<string> => new Set(words.split(' ').map((word) => `-${word}`));

const TEXT = set(
  'name iname path ipath wholename iwholename regex iregex lname ilname type xtype size mtime mmin atime amin ctime cmin perm ' +
    'user group uid gid links inum maxdepth mindepth printf fstype used context regextype newermt newerat newerct newerBt flags',
);
const PLAIN = set(
  'print print0 ls prune quit empty true false readable writable executable follow depth d mount xdev noleaf daystart warn nowarn ' +
    'ignore_readdir_race noignore_readdir_race nouser nogroup a o and or not x s X H L P E help version',
);
const LOOKED = /^-(?:newer(?:[aBcm][aBcm])?|anewer|cnewer|samefile)$/;
const WRITES = set('fprint fprint0 fls');
const RUNS = set('exec execdir ok okdir');
const OPERATORS = new Set(['(', ')', '!', ',']);
/** What leaves `-delete` with everything: depth, order and output, but no test. */
const NO_FILTER = set('delete depth d print print0 mount xdev maxdepth mindepth noleaf warn nowarn follow');

/** Judges a call of find. */
export function judgeFind(judge: Judge, call: Call): void {
  const { args, scope } = call;
  let at = 0;
  while (/^-(?:[HLPEXdsx]+|O\d?|D)$/.test(args[at]?.text ?? '')) at += args[at]?.text === '-D' ? 2 : 1;
  const roots: Field[] = [];
  for (let field = args[at]; field !== undefined && !startsExpression(field); field = args[at]) {
    if (field.text !== '--') roots.push(field);
    at++;
  }
  if (roots.length === 0) roots.push(plainField('.'));
  const expression = args.slice(at);
  const deletes = expression.some((field) => field.text === '-delete');
  for (const root of roots) {
    judgePath(judge, root, deletes ? 'delete' : 'look', scope);
    if (deletes && isUnfiltered(expression)) judgeCatastrophe(judge, root, scope, 'Deleting');
  }
  judgeExpression(judge, call, expression, roots);
}

const startsExpression = (field: Field): boolean =>
  isKnown(field) && field.text !== '--' && (field.text.startsWith('-') || OPERATORS.has(field.text)) && !field.process;

const isUnfiltered = (expression: readonly Field[]): boolean =>
  expression.every((field) => !field.text.startsWith('-') || NO_FILTER.has(field.text));

function judgeExpression(judge: Judge, call: Call, expression: readonly Field[], roots: readonly Field[]): void {
  const { scope } = call;
  for (let at = 0; at < expression.length; at++) {
    const field = expression[at];
    if (field === undefined) break;
    const next = expression[at + 1];
    const name = field.text;
    if (RUNS.has(name)) {
      at = judgeExec(judge, call, expression, at, roots);
    } else if (WRITES.has(name) || name === '-fprintf') {
      if (next !== undefined) judgePath(judge, next, 'write', scope);
      at += name === '-fprintf' ? 2 : 1;
    } else if (LOOKED.test(name) && !TEXT.has(name)) {
      if (next !== undefined) judgePath(judge, next, 'look', scope);
      at++;
    } else if (name === '-files0-from') {
      if (next !== undefined) judgePath(judge, next, 'read', scope);
      outside(judge, 'what the list of find names', 'read', 'the paths in a list are not known in advance');
      at++;
    } else if (TEXT.has(name)) {
      if (next?.splits === true) judgePath(judge, next, 'read', scope);
      at++;
    } else if (!isKnown(field)) {
      judgePath(judge, field, 'read', scope);
    } else if (!PLAIN.has(name) && !OPERATORS.has(name) && name !== '-delete') {
      needs(judge, 'exec', `find ${name} is not among the tests and actions known to be harmless.`);
    }
  }
}

/** Judges the command of -exec and its like; returns the index of its end. */
function judgeExec(
  judge: Judge,
  call: Call,
  expression: readonly Field[],
  at: number,
  roots: readonly Field[],
): number {
  let end = at + 1;
  while (end < expression.length && !endsExec(expression, end)) end++;
  const inner = expression.slice(at + 1, end);
  needs(judge, 'exec', `find ${expression[at]?.text ?? ''} runs a program for what it finds.`);
  judge.command(inner, call.scope);
  const recursive = inner.some((field) => /^-(?:[a-zA-Z]*[rR][a-zA-Z]*|-recursive)$/.test(field.text));
  if (recursive && /^(?:rm|chmod|chown|chgrp)$/.test(inner[0]?.text ?? '') && isUnfiltered(expression.slice(0, at))) {
    for (const root of roots) judgeCatastrophe(judge, root, call.scope, 'Changing');
  }
  return end;
}

const endsExec = (expression: readonly Field[], at: number): boolean =>
  expression[at]?.text === ';' || (expression[at]?.text === '+' && expression[at - 1]?.text === '{}');
