// The SearchPort of shared/search-port.ts: Grep and Glob in the heavy pool, listing one folder here, since it is one call.

import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { globRegExp } from '../shared/glob-pattern.ts';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { FolderEntry, ListQuery, ListResult, SearchPort } from '../shared/search-port.ts';
import type { HeavyPool } from './pool.ts';

export function openSearch(pool: HeavyPool): SearchPort {
  return {
    grep: (query, signal) => pool.run('grep', query, signal),
    glob: (query, signal) => pool.run('glob', query, signal),
    list,
  };
}

type Kind = FolderEntry['kind'];
const ORDER: Record<Kind, number> = { directory: 0, file: 1, link: 1, other: 1 };

async function list(query: ListQuery): Promise<Outcome<ListResult>> {
  const ignored = query.ignore.map(nameRegExp);
  try {
    const all = await readdir(query.path, { withFileTypes: true });
    const kept = all
      .filter((entry) => !ignored.some((regExp) => regExp.test(entry.name)))
      .map((entry) => ({ name: entry.name, kind: kindOf(entry) }))
      .sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || (a.name < b.name ? -1 : 1));
    const shown = kept.slice(0, query.limit);
    const entries = await Promise.all(shown.map((entry) => details(query.path, entry)));
    return ok({ entries, total: kept.length, ignored: all.length - kept.length });
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    return fail('failed', 'not_listed', `${query.path} cannot be listed (${code}). ${ADVICE[code] ?? ''}`.trim());
  }
}

const ADVICE: Record<string, string | undefined> = {
  ENOENT: 'It does not exist: look at its parent folder.',
  ENOTDIR: 'It is not a folder: read it with ReadFile.',
  EACCES: 'Odin may not read it: tell the user, or go on without it.',
};

// Only names are judged, so '**/x', './x', 'x/' and 'x' are the same.
const nameRegExp = (glob: string): RegExp =>
  globRegExp(glob.replace(/^(?:\.?\/|\*\*\/)+/, '').replace(/\/(?:\*\*)?$/, ''));

function kindOf(entry: { isDirectory(): boolean; isFile(): boolean; isSymbolicLink(): boolean }): Kind {
  if (entry.isDirectory()) return 'directory';
  if (entry.isFile()) return 'file';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

async function details(folder: string, entry: { readonly name: string; readonly kind: Kind }): Promise<FolderEntry> {
  const path = join(folder, entry.name);
  try {
    if (entry.kind === 'file') return { ...entry, size: (await lstat(path)).size };
    if (entry.kind === 'link') return { ...entry, size: null, target: await readlink(path) };
  } catch {
    // It went away between the two looks; its name is still what the folder held.
  }
  return { ...entry, size: null };
}
