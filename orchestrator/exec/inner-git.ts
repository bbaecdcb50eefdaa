// A project's git folder and those inside of it (SAFETY 2.4): of its submodules and of its further working trees. Each has settings and hooks
// of its own, or says where they are. These are read-only in a sandbox where they are there, and moved out where a command makes them
// (guard-control.ts); the folders on the way to them are mounts, so that none can be replaced. Too many for that are read-only as a whole.
//
// Nothing is mounted by way of a link: a command may have made it, and the mount would open to the next one what it leads to.

import { type Dirent, existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isInside } from '../files/resolve-path.ts';
import { realOr } from './control-places.ts';

/** For each mount bubblewrap reads the list of all. */
const MAX_FOLDERS = 16;
/** In any git folder, where it has further ones. */
const TOPS = ['modules', 'worktrees'];
const NAMES = ['hooks', 'config', 'config.worktree', 'commondir', 'gitdir'];
/** Not there, as a rule, and of great effect where they are. */
const SELDOM = ['config.worktree', 'commondir'];

/** By its real path; null: there is none in the project. */
export function gitFolder(root: string): string | null {
  const real = realOr(join(root, '.git'));
  return isInside(real, root) && isFolder(real) ? real : null;
}

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
  /** Those of them that are git's; null: too many, one in which hooks could be made or replaced, or one that cannot be read. */
  readonly own: readonly string[] | null;
}

/** Where there are none, that costs two looks. */
const innerGit = (git: string): readonly Inner[] =>
  TOPS.map((name) => join(git, name))
    .filter(isFolder)
    .map(walk);

function walk(top: string): Inner {
  const way = [top];
  const own: string[] = [];
  // The name of a submodule may be a path, and one may have its own.
  for (const at of way) {
    const entries = entriesOf(at);
    const isGit = entries?.some(({ name }) => name === 'HEAD') === true;
    if (entries === null || (isGit && !canBeGuarded(entries))) return { top, way, own: null };
    if (isGit) own.push(at);
    const inner = entries.filter((entry) => entry.isDirectory() && (!isGit || TOPS.includes(entry.name)));
    way.push(...inner.map(({ name }) => join(at, name)));
    if (way.length > MAX_FOLDERS) return { top, way, own: null };
  }
  return { top, way, own };
}

/** Its hooks are there, or another folder's are used, and nothing of it is a link, which cannot be a mount. */
const canBeGuarded = (entries: readonly Dirent[]): boolean =>
  entries.some(({ name }) => name === 'hooks' || name === 'commondir') &&
  !entries.some((entry) => entry.isSymbolicLink() && NAMES.includes(entry.name));

function entriesOf(folder: string): readonly Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return null;
  }
}

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
