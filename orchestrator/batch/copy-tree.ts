// Copies and removes folders in this process: a process for it (cp, git checkout) costs more than the copy of a small project, and far
// more in a large process, whose memory is mapped anew for each child. A few files at a time, so that what else there is to do with
// files goes on.

import { constants } from 'node:fs';
import { copyFile, link, lstat, mkdir, readdir, readlink, rm, rmdir, symlink, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';

const AT_A_TIME = 4;

/** How an entry gets into the copy; linked: by a second name for the same file, which must never be changed in place. */
export type CopyWay = 'copied' | 'linked' | 'left out';

/**
 * Copies files, folders and links into an empty folder, the files' times too, so that git's index holds for the copy. `way`
 * is asked for each by its path in the tree.
 */
export async function copyTree(from: string, to: string, way: (path: string) => CopyWay): Promise<void> {
  const copyFolder = async (path: string): Promise<void> => {
    const folders: string[] = [];
    const entries = await readdir(join(from, path), { withFileTypes: true });
    await eachOf(entries, async (entry) => {
      const inner = join(path, entry.name);
      const wanted = way(inner);
      if (wanted === 'left out') return;
      const [source, target] = [join(from, inner), join(to, inner)];
      if (entry.isDirectory()) folders.push(inner);
      else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
      else if (wanted === 'copied' || !(await isLinked(source, target))) await copyOne(source, target);
    });
    for (const folder of folders) {
      await mkdir(join(to, folder));
      await copyFolder(folder);
    }
  };
  await copyFolder('');
}

/** False where the file system cannot: then it is copied. */
const isLinked = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    () => false,
  );

async function copyOne(from: string, to: string): Promise<void> {
  const [{ atimeMs, mtimeMs }] = await Promise.all([lstat(from), copyFile(from, to, constants.COPYFILE_FICLONE)]);
  await utimes(to, atimeMs / 1000, mtimeMs / 1000);
}

/** Removes a folder with all that is in it; nothing is done when it is not there. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await removeFolder(folder);
  } catch {
    // Something is not as it should be: it is not there, is written still, is not ours to look into. That takes its time.
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function removeFolder(path: string): Promise<void> {
  const folders: string[] = [];
  await eachOf(await readdir(path, { withFileTypes: true }), async (entry) => {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) folders.push(inner);
    else await unlink(inner);
  });
  for (const folder of folders) await removeFolder(folder);
  await rmdir(path);
}

async function eachOf<T>(entries: readonly T[], work: (entry: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < entries.length; at += AT_A_TIME) {
    await Promise.all(entries.slice(at, at + AT_A_TIME).map(work));
  }
}
