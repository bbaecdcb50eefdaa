// Judges the programs of readers.ts: options by their grammar, operands by what they are (R4, R16).

import { type Call, type Judge, needs } from '../judge.ts';
import { type FoundOption, type Scan, scan } from '../options.ts';
import { type Access, judgePath, outside } from '../paths.ts';
import type { Scope } from '../scope.ts';
import { type Field, isKnown } from '../words.ts';
import type { Reader } from './readers.ts';
import { judgeStray } from './stray.ts';

/** Judges a call of a read-only program. */
export function judgeReader(judge: Judge, call: Call, reader: Reader): void {
  const all = scan(call.args, reader.rules);
  const found = { ...all, unsure: all.unsure.filter((field) => !isPlainText(call, reader, all, field)) };
  const runs = judgeOptions(judge, call.name, found, call.scope);
  const operands = found.operands.filter((field) => field.text !== '-' || field.process);
  if (runs) {
    for (const field of operands) judgeStray(judge, field, 'run', call.scope);
  }
  switch (reader.operands) {
    case 'text':
      return judgeText(judge, call, operands);
    case 'pattern':
      return judgeFiles(judge, operands.slice(hasPattern(found, reader) ? 0 : 1), 'read', call.scope);
    case 'in-out':
      judgeFiles(judge, operands.slice(0, 1), 'read', call.scope);
      return judgeFiles(judge, operands.slice(1), 'write', call.scope);
    default:
      return judgeFiles(judge, operands.slice(0, reader.files), reader.operands, call.scope);
  }
}

/** Judges the options that were found; true when one of them runs or changes something. */
export function judgeOptions(judge: Judge, name: string, found: Scan, scope: Scope): boolean {
  let runs = false;
  for (const option of found.options) runs = judgeOption(judge, name, option, scope) || runs;
  for (const option of found.strange) {
    needs(judge, 'exec', `${name} ${option} is not among the options known to be harmless.`);
  }
  for (const field of found.unsure) judgePath(judge, field, 'read', scope);
  return runs;
}

function judgeOption(judge: Judge, name: string, option: FoundOption, scope: Scope): boolean {
  const value = option.value;
  if (option.kind === 'danger') {
    needs(judge, 'exec', `${name} ${option.name} runs a program or changes something.`);
    if (value !== undefined) judgeStray(judge, value, 'run', scope);
    return true;
  }
  if (value === undefined || value.text === '-') return false;
  if (option.kind === 'list') {
    judgePath(judge, value, 'read', scope);
    outside(judge, `what ${value.raw} names`, 'read', 'the paths in a list are not known in advance');
  } else if (option.kind === 'look' || option.kind === 'read' || option.kind === 'write') {
    judgePath(judge, value, option.kind, scope);
  } else if (value.splits) judgePath(judge, value, 'read', scope);
  return false;
}

function judgeFiles(judge: Judge, fields: readonly Field[], access: Access, scope: Scope): void {
  for (const field of fields) {
    judgePath(judge, field, access, scope);
  }
}

/** Text operands mean nothing, unless bash splits them or the program takes its time from them. */
function judgeText(judge: Judge, call: Call, operands: readonly Field[]): void {
  if (call.name !== 'date') return;
  if (operands.some((field) => isKnown(field) && !field.text.startsWith('+')))
    needs(judge, 'write', 'It sets the clock.');
}

/** A word of unknown value that can only be text: no option of the program makes it more (R2b). */
function isPlainText(call: Call, reader: Reader, found: Scan, field: Field): boolean {
  if (reader.operands === 'text') return call.name !== 'date';
  const pattern = reader.operands === 'pattern' && call.name.endsWith('grep') && !hasPattern(found, reader);
  return pattern && !field.splits && found.operands[0] === field;
}

const hasPattern = (found: Scan, reader: Reader): boolean =>
  found.options.some((option) => reader.patternBy?.includes(option.name) === true);
