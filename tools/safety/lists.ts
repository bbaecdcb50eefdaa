// AllowedCommands and ForbiddenCommands (R14): entries are prefixes of whole tokens, compared with the argv after
// unquoting, wrappers removed, programs by basename, git's global options skipped.

import { parseShell } from './parse.ts';
import { isBareRunner } from './programs/names.ts';

export interface CompiledLists {
  readonly allowed: readonly (readonly string[])[];
  readonly forbidden: readonly (readonly string[])[];
  /** For the user: entries that are ignored, and why. */
  readonly warnings: readonly string[];
}

// Options after which an interpreter takes its program from the command itself.
const CODE_OPTION = /^-(?:[a-z]*[ceils]|e|E|p|r|S|-eval|-print|-command)?$/i;

/** Reads both lists. An allowed entry that stands for any program at all is ignored with a warning. */
export function compileLists(allowed: readonly string[], forbidden: readonly string[]): CompiledLists {
  const warnings: string[] = [];
  const usable = allowed.map(tokensOf).filter((tokens) => {
    if (tokens.length === 0) return false;
    const bare = isBareRunner(basename(tokens[0] ?? '')) && tokens.slice(1).every((token) => CODE_OPTION.test(token));
    if (bare) warnings.push(`AllowedCommands: "${tokens.join(' ')}" would allow every program and is ignored.`);
    return !bare;
  });
  return { allowed: usable, forbidden: forbidden.map(tokensOf).filter((tokens) => tokens.length > 0), warnings };
}

/** Whether a forbidden entry is a prefix of the argv. Programs compare by basename, wherever they lie. */
export function isForbidden(lists: CompiledLists, argv: readonly string[]): readonly string[] | undefined {
  return lists.forbidden.find((entry) => startsWith(argv, entry, (token) => basename(token)));
}

/** Whether an allowed entry is a prefix of the argv. A program named by a path matches only an entry with that path. */
export function isAllowed(lists: CompiledLists, argv: readonly string[]): boolean {
  return lists.allowed.some((entry) => startsWith(argv, entry, normalPath));
}

function startsWith(argv: readonly string[], entry: readonly string[], normal: (token: string) => string): boolean {
  return entry.every((token, at) => {
    const own = argv[at];
    if (own === undefined) return false;
    return at === 0 ? normal(own) === normal(token) : own === token;
  });
}

const basename = (token: string): string => token.slice(token.lastIndexOf('/') + 1);
const normalPath = (token: string): string =>
  token.replace(/^(?:\/usr(?:\/local)?)?\/s?bin\/(?=[^/]+$)/, '').replace(/^\.\//, './');

function tokensOf(entry: string): readonly string[] {
  const parsed = parseShell(entry);
  const command = parsed.ok && parsed.script.commands.length === 1 ? parsed.script.commands[0]?.command : undefined;
  if (command?.type !== 'Command' || command.name === undefined)
    return entry.split(/\s+/).filter((token) => token !== '');
  const words = [command.name, ...command.suffix];
  const texts = words.map((word) => (word.type === 'Word' ? word.value : undefined));
  return texts.every((text) => text !== undefined) ? texts : entry.split(/\s+/).filter((token) => token !== '');
}
