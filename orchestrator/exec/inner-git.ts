// The git folders inside of a project's own (SAFETY 2.4): of its submodules and of its further working trees. Each has settings and hooks
// of its own, or says where they are. These are read-only in a sandbox where they are there, and moved out where a command makes them
// (guard-control.ts); the folders on the way to them are mounts, so that none can be replaced. Too many for that are read-only as a whole.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** For each mount bubblewrap reads the list of all. */
const MAX_FOLDERS = 16;
const NAMES = ['hooks', 'config', 'config.worktree', 'commondir', 'gitdir'];
/** Not there, as a rule, and of great effect where they are. */
const SELDOM = ['config.worktree', 'commondir'];

/** Arguments of bubblewrap where the git folder `git` can be written. */
export const innerGitMounts = (git: string): readonly string[] =>
  innerGit(git).flatMap(({ top, way, own }) => {
    if (own === null) return readOnly(top);
    const settings = own.flatMap((folder) => NAMES.map((name) => join(folder, name))).filter(existsSync);
    return [...way.flatMap(writable), ...settings.flatMap(readOnly)];
  });

/** What nobody may make there, below `git`. */
export const innerGitAbsent = (git: string): readonly string[] =>
  innerGit(git)
    .flatMap(({ own }) => own ?? [])
    .flatMap((folder) => SELDOM.map((name) => join(folder, name)))
    .filter((path) => !existsSync(path));

const readOnly = (path: string) => ['--ro-bind', path, path];
const writable = (path: string) => ['--bind', path, path];

interface Inner {
  readonly top: string;
  /** Every folder from the top on, a folder before what is in it. */
  readonly way: readonly string[];
  /** Those of them that are git's; null: too many, or one in which hooks could be made. */
  readonly own: readonly string[] | null;
}

/** Where there are none, that costs two looks. */
const innerGit = (git: string): readonly Inner[] =>
  ['modules', 'worktrees']
    .map((name) => join(git, name))
    .filter(existsSync)
    .map(walk);

function walk(top: string): Inner {
  const way = [top];
  const own: string[] = [];
  // The name of a submodule may be a path, and one may have its own.
  for (const at of way) {
    const isGit = existsSync(join(at, 'HEAD'));
    if (isGit) own.push(at);
    if (isGit && !existsSync(join(at, 'hooks')) && !existsSync(join(at, 'commondir'))) return { top, way, own: null };
    const inner = isGit ? [join(at, 'modules')].filter(existsSync) : foldersIn(at);
    way.push(...inner);
    if (way.length > MAX_FOLDERS) return { top, way, own: null };
  }
  return { top, way, own };
}

/** Not links: what they lead to is not git's. */
const foldersIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name));
