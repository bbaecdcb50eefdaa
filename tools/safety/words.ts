// Words of a command as the program will see them (R2). Literal text and the few known expansions become text; everything
// else becomes the mark UNKNOWN, and what that means is for the position to say (R2b). What expansions evaluate is
// expansions.ts's; where a path leads is paths.ts's.

import { combine, expandBrace, MAX_ALTERNATIVES } from './braces.ts';
import { parseShell, type Word, type WordPart } from './parse.ts';

/** Stands in a field's text for a piece whose value is not known. R0 keeps it out of real text. */
export const UNKNOWN = '\u0000';

export interface Field {
  readonly text: string;
  /** The source, for people. */
  readonly raw: string;
  /** Index in `text` of the first unquoted glob character, or -1. */
  readonly globAt: number;
  /** An unquoted unknown piece: bash may split it into any number of words. */
  readonly splits: boolean;
  /** The word is exactly one process substitution. */
  readonly process: boolean;
  /** A command substitution stands in the word. */
  readonly substituted: boolean;
  /** Plain text: no expansion of any kind took part. */
  readonly literal: boolean;
}

/** What the known expansions stand for; undefined when the command may have changed it. */
export interface WordFacts {
  readonly home: string | undefined;
  readonly pwd: string | undefined;
}

export const isKnown = (field: Field): boolean => !field.text.includes(UNKNOWN);

/** A field of plain text, as if it had been typed. */
export const plainField = (text: string): Field => ({
  text,
  raw: text,
  globAt: -1,
  splits: false,
  process: false,
  substituted: false,
  literal: true,
});

/** A field of which nothing is known, such as an operand that xargs adds. */
export const unknownField = (raw: string): Field => ({ ...plainField(UNKNOWN), raw, splits: true, literal: false });

/** The rest of a field from an index on: the value in `--opt=value`. */
export function sliceField(field: Field, from: number, to = field.text.length): Field {
  const globAt = field.globAt < from || field.globAt >= to ? -1 : field.globAt - from;
  return { ...field, text: field.text.slice(from, to), globAt: field.globAt >= 0 && field.globAt < from ? 0 : globAt };
}

/** All fields that a word becomes: one, or several where it holds braces. */
export function fieldsOf(word: Word, facts: WordFacts): readonly Field[] {
  if (word.parts?.some((part) => part.type === 'BraceExpansion') !== true) return [fieldOf(word, facts)];
  const pieces = word.parts.map((part) => (part.type === 'BraceExpansion' ? expandBrace(part.text) : [part.text]));
  const texts = pieces.some((piece) => piece === undefined)
    ? undefined
    : combine(pieces.filter((piece) => piece !== undefined));
  const fields = texts?.slice(0, MAX_ALTERNATIVES).map((text) => reread(text, facts));
  if (fields === undefined || fields.some((field) => field === undefined)) {
    return [{ ...unknownField(word.text), substituted: hasSubstitution(word.parts) }];
  }
  return fields.filter((field) => field !== undefined).map((field) => ({ ...field, literal: false, raw: word.text }));
}

function reread(text: string, facts: WordFacts): Field | undefined {
  if (text === '') return plainField('');
  const parsed = parseShell(`: ${text}`);
  const command = parsed.ok && parsed.script.commands.length === 1 ? parsed.script.commands[0]?.command : undefined;
  const only = command?.type === 'Command' && command.suffix.length === 1 ? command.suffix[0] : undefined;
  return only?.type === 'Word' ? fieldOf(only, facts) : undefined;
}

// bash reads `$HO\<newline>ME` as one name; the parser does not.
const CONTINUED_NAME = /\$\{?\w+\\\n/;

/** One word as one field, braces taken literally. */
export function fieldOf(word: Word, facts: WordFacts): Field {
  if (CONTINUED_NAME.test(word.text)) return unknownField(word.text);
  const parts = word.parts;
  if (parts === undefined) return withTilde(word, { ...plainField(word.value), raw: word.text }, facts);
  if (parts.length === 1 && parts[0]?.type === 'ProcessSubstitution') {
    return { ...plainField(''), raw: word.text, process: true, literal: false };
  }
  const field = {
    text: '',
    raw: word.text,
    globAt: -1,
    splits: false,
    process: false,
    substituted: false,
    literal: true,
  };
  for (const part of parts) add(field, part, facts, false);
  return withTilde(word, field, facts);
}

type Draft = { -readonly [K in keyof Field]: Field[K] };

function add(field: Draft, part: WordPart, facts: WordFacts, quoted: boolean): void {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      field.text += part.value;
      return;
    case 'DoubleQuoted':
    case 'LocaleString':
      for (const child of part.parts) add(field, child, facts, true);
      return;
    case 'Glob':
    case 'ExtendedGlob':
      field.literal = false;
      if (field.globAt < 0) field.globAt = field.text.length;
      field.text += part.text;
      if (part.parts !== undefined && hasExpansion(part.parts)) addUnknown(field, quoted, hasSubstitution(part.parts));
      return;
    case 'SimpleExpansion':
      return addVariable(field, part.text.slice(1), facts, quoted);
    case 'ParameterExpansion': {
      const plain = part.text === `\${${part.parameter}}`;
      return plain
        ? addVariable(field, part.parameter, facts, quoted)
        : addUnknown(field, quoted, hasSubstitution([part]));
    }
    case 'CommandExpansion':
      return addUnknown(field, quoted, true);
    default:
      return addUnknown(field, quoted, hasSubstitution([part]));
  }
}

function addVariable(field: Draft, name: string, facts: WordFacts, quoted: boolean): void {
  const value = name === 'HOME' ? facts.home : name === 'PWD' ? facts.pwd : undefined;
  if (value === undefined) return addUnknown(field, quoted, false);
  field.text += value;
  field.literal = false;
}

function addUnknown(field: Draft, quoted: boolean, substituted: boolean): void {
  field.text += UNKNOWN;
  field.literal = false;
  field.splits ||= !quoted;
  field.substituted ||= substituted;
}

const TILDE_IN_ASSIGNMENT = /^[A-Za-z_]\w*\+?=(?:.*:)?~/;

/** Expands a leading `~`. Other users' homes, `~+` and `~-`, and tildes inside of assignments are unknown. */
function withTilde(word: Word, field: Field, facts: WordFacts): Field {
  if (word.text.startsWith('~')) {
    if ((word.text === '~' || word.text.startsWith('~/')) && facts.home !== undefined) {
      const text = facts.home + field.text.slice(1);
      const globAt = field.globAt < 0 ? -1 : field.globAt + facts.home.length - 1;
      return { ...field, text, globAt, literal: false };
    }
    return { ...field, text: UNKNOWN, literal: false };
  }
  if (!TILDE_IN_ASSIGNMENT.test(word.text)) return field;
  const at = field.text.indexOf('=') + 1;
  const value = field.text.slice(at);
  const home = (value === '~' || value.startsWith('~/')) && !value.includes(':') ? facts.home : undefined;
  return {
    ...field,
    text: field.text.slice(0, at) + (home === undefined ? UNKNOWN : home + value.slice(1)),
    literal: false,
  };
}

const EXPANSIONS: ReadonlySet<string> = new Set([
  ...['SimpleExpansion', 'ParameterExpansion', 'CommandExpansion', 'ArithmeticExpansion', 'ProcessSubstitution'],
]);

function hasExpansion(parts: readonly WordPart[]): boolean {
  return parts.some((part) => EXPANSIONS.has(part.type) || hasExpansion(childrenOf(part)));
}

function hasSubstitution(parts: readonly WordPart[]): boolean {
  return parts.some(
    (part) =>
      part.type === 'CommandExpansion' ||
      (part.type === 'ParameterExpansion' || part.type === 'ArithmeticExpansion'
        ? /\$\(|`/.test(part.text)
        : hasSubstitution(childrenOf(part))),
  );
}

function childrenOf(part: WordPart): readonly WordPart[] {
  return 'parts' in part && part.parts !== undefined ? part.parts : [];
}
