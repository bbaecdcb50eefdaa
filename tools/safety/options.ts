// Reading a program's options from a small grammar (R4: option values are paths like operands; section 7: flags need an
// allow-list). GNU programs take any unambiguous beginning of a long option, so beginnings count as the whole.

import { type Field, isKnown, sliceField, UNKNOWN } from './words.ts';

/** What an option is: harmless, a path with its access, a list of paths, or `danger` (it runs or changes something). */
export type OptionKind = 'none' | 'text' | 'optional' | 'look' | 'read' | 'list' | 'write' | 'danger';

export interface Grammar {
  readonly short: ReadonlyMap<string, OptionKind>;
  readonly long: ReadonlyMap<string, OptionKind>;
}

export interface FoundOption {
  readonly name: string;
  readonly kind: OptionKind;
  readonly value?: Field;
}

export interface Scan {
  readonly operands: readonly Field[];
  readonly options: readonly FoundOption[];
  /** Options the grammar does not have. */
  readonly strange: readonly string[];
  /** Words that may be options or several words: their value is not known. */
  readonly unsure: readonly Field[];
}

const MARKS: Readonly<Record<string, OptionKind>> = {
  '#': 'text',
  '?': 'optional',
  '~': 'look',
  '<': 'read',
  '@': 'list',
  '>': 'write',
  '!': 'danger',
};
const DANGER_ORDER: readonly OptionKind[] = ['none', 'optional', 'text', 'look', 'read', 'list', 'write', 'danger'];

/**
 * Reads a grammar: `-abc` harmless letters, `-n#` a letter with a text value, `--file<` a long option with a path that is
 * read. Marks: `#` text, `?` attached text only, `~` path looked at, `<` path read,
 * `@` file that names paths to read, `>` path written, `!` dangerous.
 */
export function grammar(...lines: readonly string[]): Grammar {
  const short = new Map<string, OptionKind>();
  const long = new Map<string, OptionKind>([
    ['help', 'none'],
    ['version', 'none'],
  ]);
  for (const token of lines.join(' ').split(/\s+/)) {
    const mark = MARKS[token.at(-1) ?? ''];
    const body = mark === undefined ? token : token.slice(0, -1);
    if (body.startsWith('--')) long.set(body.slice(2), mark ?? 'none');
    else for (const letter of body.slice(1)) short.set(letter, mark ?? 'none');
  }
  return { short, long };
}

/** Splits arguments by a grammar. With `stop`, options end at the first operand, as for programs that run others. */
export function scan(args: readonly Field[], rules: Grammar, stop = false): Scan {
  const found = {
    operands: [] as Field[],
    options: [] as FoundOption[],
    strange: [] as string[],
    unsure: [] as Field[],
  };
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    if (arg === undefined) break;
    if (arg.text === '--' && isKnown(arg)) {
      found.operands.push(...args.slice(at + 1));
      break;
    }
    if (arg.text.startsWith(UNKNOWN) || arg.splits) found.unsure.push(arg);
    if (!arg.text.startsWith('-') || arg.text === '-') {
      found.operands.push(arg);
      if (!stop) continue;
      found.operands.push(...args.slice(at + 1));
      break;
    }
    const took = arg.text.startsWith('--')
      ? readLong(arg, args[at + 1], rules, found)
      : readShort(arg, args[at + 1], rules, found);
    if (took) at++;
  }
  return found;
}

interface Found {
  readonly options: FoundOption[];
  readonly strange: string[];
}

/** Reads a long option; true when it took the next word as its value. */
function readLong(arg: Field, next: Field | undefined, rules: Grammar, found: Found): boolean {
  const equals = arg.text.indexOf('=');
  const given = arg.text.slice(2, equals < 0 ? undefined : equals);
  const full = fullName(rules, given);
  const attached = equals < 0 ? undefined : sliceField(arg, equals + 1);
  if (full === undefined) {
    found.strange.push(`--${given}`);
    if (attached !== undefined) found.options.push({ name: `--${given}`, kind: 'read', value: attached });
    return false;
  }
  const name = `--${full}`;
  const kind = rules.long.get(full) ?? 'danger';
  const takes = kind !== 'none' && kind !== 'optional' && kind !== 'danger';
  const value = attached ?? (takes ? next : undefined);
  found.options.push(value === undefined ? { name, kind } : { name, kind, value });
  return attached === undefined && value !== undefined;
}

/** The option that a name or its beginning stands for; of several the most dangerous. */
function fullName(rules: Grammar, name: string): string | undefined {
  if (rules.long.has(name)) return name;
  if (name === '' || name.includes(UNKNOWN)) return undefined;
  let worst: string | undefined;
  let rank = -1;
  for (const [full, kind] of rules.long) {
    if (!full.startsWith(name) || DANGER_ORDER.indexOf(kind) <= rank) continue;
    worst = full;
    rank = DANGER_ORDER.indexOf(kind);
  }
  return worst;
}

function readShort(arg: Field, next: Field | undefined, rules: Grammar, found: Found): boolean {
  for (let at = 1; at < arg.text.length; at++) {
    const letter = arg.text[at] ?? '';
    const kind = rules.short.get(letter);
    if (kind === undefined) {
      found.strange.push(`-${letter === UNKNOWN ? '…' : letter}`);
      if (/[/~.]/.test(arg.text.slice(at))) {
        found.options.push({ name: `-${letter}`, kind: 'read', value: sliceField(arg, at + 1) });
      }
      return false;
    }
    if (kind === 'none') {
      found.options.push({ name: `-${letter}`, kind });
      continue;
    }
    const rest = at + 1 < arg.text.length ? sliceField(arg, at + 1) : undefined;
    const takes = kind !== 'optional' && kind !== 'danger';
    const value = rest ?? (takes ? next : undefined);
    found.options.push(value === undefined ? { name: `-${letter}`, kind } : { name: `-${letter}`, kind, value });
    return rest === undefined && takes && next !== undefined;
  }
  return false;
}
