// A folder of the project as the readers of manifests see it: what lies in it, and the texts that were read.

import type { Command, Purpose } from './facts.ts';

export interface Folder {
  /** From the root; '' is the root. */
  readonly path: string;
  /** Paths below it, from it. */
  readonly below: ReadonlySet<string>;
  /** The text of a file in it; undefined when it was not read or is not there. */
  text(name: string): string | undefined;
  /** The path of a file in it, from the root. */
  at(name: string): string;
}

/** The same paths as `at` gives, only of files that are there. */
export const existing = (folder: Folder, names: readonly string[]): readonly string[] => [
  ...new Set(
    names
      .map((name) => name.replace(/^\.\//, ''))
      .filter((name) => folder.below.has(name))
      .map(folder.at),
  ),
];

/** Files of the folder whose path below it matches. */
export const matching = (folder: Folder, pattern: RegExp): readonly string[] =>
  [...folder.below].filter((path) => pattern.test(path)).toSorted();

/** Makes commands of a folder. */
export const commandsIn =
  (folder: Folder) =>
  (purpose: Purpose, command: string, note = ''): Command => ({ purpose, command, note, folder: folder.path });

/** Names of things in use, as far as a text of dependencies holds them. */
export function usesOf(names: Iterable<string>, known: Readonly<Record<string, string>>): readonly string[] {
  const found = new Set<string>();
  for (const name of names) {
    const use = known[name.toLowerCase()];
    if (use !== undefined && Object.hasOwn(known, name.toLowerCase())) found.add(use);
  }
  return [...found];
}
