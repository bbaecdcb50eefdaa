// Where tasks work (SPEC O19). git makes one clone for all tasks of a batch that begin from the same commit. Those that only read share it:
// no tool and no command of theirs can write there. One that writes gets a copy of its own, of a second clone in which nobody works and
// which shares no file with the repository: whatever a command does to the files it has, the repository's stay as they are.

import { existsSync, mkdirSync } from 'node:fs';
import { readdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256, ulid } from '../../shared/ids.ts';
import { type Outcome, ok } from '../../shared/outcome.ts';
import type { Access } from '../jobs/workers.ts';
import { type CopyWay, copyTree, removeTree } from './copy-tree.ts';
import { makeClone, packClone } from './git.ts';

/** Beside the state folder, which no command may look into. */
export const workingCopies = (home: string): string => `${home}-worktrees`;

/** A task's own folder, whether or not it is made. */
export const taskFolder = (home: string, bid: string, item: string, gen: number): string =>
  join(workingCopies(home), bid, `${item}.${gen}`);

/** The task that an entry of a batch's folder belongs to; null for what all its tasks share. No task's id begins so. */
export const taskOfFolder = (name: string): string | null =>
  name.startsWith('_') ? null : name.replace(/\.\d+(\.[0-9A-Z]{26}\.new)?$/, '');

export interface WorkingCopies {
  /** What tasks that read share, of a commit. `folder`, the task's own, stays empty: it tells that there is something to clean up. */
  shared(folder: string, bid: string, repository: string, commit: string): Promise<Outcome<string>>;
  /** Makes a task's own copy, in `folder`. What stood there goes. */
  own(folder: string, bid: string, repository: string, commit: string): Promise<Outcome<string>>;
}

export function openWorkingCopies(home: string): WorkingCopies {
  const making = new Map<string, Promise<Outcome<string>>>();

  const base = async (bid: string, access: Access, repository: string, commit: string): Promise<Outcome<string>> => {
    const name = `_${access}-${commit.slice(0, 12)}-${sha256(repository).slice(0, 8)}`;
    const folder = join(workingCopies(home), bid, name);
    if (existsSync(folder)) return ok(folder);
    const made =
      making.get(folder) ?? makeBase(repository, commit, folder, access).finally(() => making.delete(folder));
    making.set(folder, made);
    return made;
  };

  return {
    async shared(folder, bid, repository, commit) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return base(bid, 'read', repository, commit);
    },
    async own(folder, bid, repository, commit) {
      const draft = draftOf(folder);
      mkdirSync(draft, { recursive: true, mode: 0o700 });
      try {
        const from = await base(bid, 'edit', repository, commit);
        if (!from.ok) return from;
        await copyTree(from.value, draft, wayOf);
        if (existsSync(folder)) await removeTree(folder);
        await rename(draft, folder);
      } finally {
        if (existsSync(draft)) await removeTree(draft);
      }
      return ok(folder);
    },
  };
}

/** Git never changes a pack, and has all names in one file. */
function wayOf(path: string): CopyWay {
  if (path.startsWith('.git/refs/') || path === '.git/logs' || path === '.git/objects/info') return 'left out';
  return path.startsWith('.git/objects/') ? 'linked' : 'copied';
}

/** Another process may make it at the same moment: the one that is there first stays. */
async function makeBase(repository: string, commit: string, folder: string, access: Access): Promise<Outcome<string>> {
  const draft = draftOf(folder);
  try {
    const made = await makeClone(repository, commit, draft, { shares: access === 'read' });
    if (!made.ok) return made;
    if (access === 'edit') await packClone(draft);
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
    return ok(folder);
  } finally {
    if (existsSync(draft)) await removeTree(draft);
  }
}

/** A folder is there only when it is whole: till then it has another name. */
const draftOf = (folder: string): string => `${folder}.${ulid()}.new`;

/**
 * What the tasks of a batch share goes, unless one of them has a folder: it works, or is not cleaned up yet. A task has its folder before it
 * looks for what is shared, so one that has begun meanwhile is seen by the second look, and what it may have found is put back.
 */
export async function removeShared(home: string, bid: string): Promise<void> {
  const folder = join(workingCopies(home), bid);
  const names = () => readdir(folder).catch((): string[] => []);
  const isUsed = async () => (await names()).some((name) => taskOfFolder(name) !== null);
  if (await isUsed()) return;
  for (const name of (await names()).filter((one) => taskOfFolder(one) === null)) {
    const [from, away] = [join(folder, name), join(folder, `_gone.${ulid()}`)];
    await rename(from, away).catch(() => {});
    if (await isUsed()) await rename(away, from).catch(() => {});
    if (existsSync(away)) await removeTree(away);
  }
  await rmdir(folder).catch(() => {});
}
