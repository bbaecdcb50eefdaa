// Turns a glob into what narrows a ripgrep run without overruling .gitignore. `rg --glob X` would do that: a file that X names
// is printed even where .gitignore names it too, and with `**/*` whole ignored folders are. File types come after .gitignore,
// so the last part of the glob becomes a type of its own, and a regular expression judges the rest of the path.

import { lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { globRegExp, isDeepGlob, splitGlob } from '../shared/glob-pattern.ts';

export interface FileFilter {
  /** The folder to start in. Undefined: it does not exist, so nothing can match. */
  readonly cwd: string | undefined;
  readonly args: readonly string[];
  /** Judges a path relative to `cwd`. */
  keep(path: string): boolean;
}

/** The filter of a glob relative to `path`, anchored there: `*.ts` names files directly in it. */
export function anchoredFilter(path: string, pattern: string): FileFilter {
  const { base, rest } = splitGlob(pattern);
  const cwd = realFolder(path, base);
  if (rest === '**' || rest === '**/*') return { cwd, args: [], keep: () => true };
  const regExp = globRegExp(rest);
  const depth = isDeepGlob(rest) ? [] : [`--max-depth=${rest.split('/').length}`];
  return { cwd, args: [...depth, ...nameType(rest)], keep: (candidate) => regExp.test(candidate) };
}

/** The filter of Grep's `glob`: like ripgrep's, without a slash it names files at any depth and `!` leaves files out. */
export function grepFilter(path: string, glob: string | undefined, type: string | undefined): FileFilter {
  const types = type === undefined ? [] : [`--type=${type}`];
  if (glob === undefined) return { cwd: path, args: types, keep: () => true };
  if (glob.startsWith('!')) return { cwd: path, args: [...types, `--glob=${glob}`], keep: () => true };
  const filter = anchoredFilter(path, glob.replace(/^\//, '').includes('/') ? glob.replace(/^\//, '') : `**/${glob}`);
  // Types are alternatives to each other: with one given, the glob's own would widen the search.
  return type === undefined ? filter : { ...filter, args: types };
}

/** The last part of a glob as a file type, when it can be one. */
function nameType(rest: string): readonly string[] {
  const name = rest.slice(rest.lastIndexOf('/') + 1);
  const splitsBraces = rest.includes('{') && rest.includes('/', rest.indexOf('{'));
  if (
    splitsBraces ||
    name.includes('**') ||
    !/^[\w.*?{},@+~ -]+$/.test(name) ||
    /\{[^,}]*\}|\{[^}]*$|\.\./.test(name)
  ) {
    return [];
  }
  return [`--type-add=odin:${name}`, '--type=odin'];
}

/** The folder below `path`, unless a link leads there: links are not followed. */
function realFolder(path: string, base: string): string | undefined {
  const folder = join(path, base);
  try {
    return lstatSync(folder).isDirectory() && realpathSync(folder) === folder ? folder : undefined;
  } catch {
    return undefined;
  }
}
