// What the shell itself would know at one point of the script (R3): its folder, its functions, and whether HOME and PWD
// still are what they were. Subshells and branches get a copy; branches are joined again.

import type { Function as ShellFunction } from './parse.ts';
import type { WordFacts } from './words.ts';

const MAX_FOLDERS = 8;

export interface Scope {
  /** Folders the shell can be in, as the shell names them; undefined when it can be anywhere. */
  cwds: readonly string[] | undefined;
  home: string | undefined;
  pwdKnown: boolean;
  /** `maybe`: defined on some of the ways that lead here. */
  functions: ReadonlyMap<string, ShellFunction | 'maybe'>;
  /** Links that this request itself makes, as absolute paths: no table of links knows them. */
  links: readonly string[];
}

export const newScope = (cwd: string, home: string): Scope => ({
  cwds: [cwd],
  home,
  pwdKnown: true,
  functions: new Map(),
  links: [],
});

export const copyScope = (scope: Scope): Scope => ({ ...scope });

export const wordFacts = (scope: Scope): WordFacts => ({
  home: scope.home,
  pwd: scope.pwdKnown && scope.cwds?.length === 1 ? scope.cwds[0] : undefined,
});

/** Makes `into` hold what holds in either of two scopes. */
export function joinScopes(into: Scope, a: Scope, b: Scope): void {
  into.cwds = joinFolders(a.cwds, b.cwds);
  into.home = a.home === b.home ? a.home : undefined;
  into.pwdKnown = a.pwdKnown && b.pwdKnown;
  into.functions = joinFunctions(a.functions, b.functions);
  into.links = a.links === b.links ? a.links : [...new Set([...a.links, ...b.links])];
}

export function joinFolders(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (a === b) return a;
  const all = [...new Set([...a, ...b])];
  return all.length > MAX_FOLDERS ? undefined : all;
}

function joinFunctions(a: Scope['functions'], b: Scope['functions']): Scope['functions'] {
  if (a === b) return a;
  const joined = new Map<string, ShellFunction | 'maybe'>();
  for (const name of new Set([...a.keys(), ...b.keys()])) {
    const same = a.get(name) === b.get(name) ? a.get(name) : undefined;
    joined.set(name, same ?? 'maybe');
  }
  return joined;
}
