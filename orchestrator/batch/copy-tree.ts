// Copies and removes folders in this process. A process for it (cp, git checkout) costs more than the copy of a small project, and far
// more in a large process, whose memory is mapped anew for each child. Done in slices, so that everything else of the process goes on.

import {
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from 'node:fs';
import { copyFile, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';

/** Entries between two looks at what else there is to do. */
const SLICE = 100;
/** Such a file is not copied on the main thread, nor are all of a slice together much larger. */
const LARGE_BYTES = 256 * 1024;

/**
 * Copies files, folders and links to a folder that is not there yet, their times too, so that git's index holds for the copy. Files for
 * which `isLinked` (by their path in the tree) get a second name instead: they must never be changed in place.
 */
export async function copyTree(from: string, to: string, isLinked: (path: string) => boolean): Promise<void> {
  let entries = 0;
  const copy = async (path: string): Promise<void> => {
    mkdirSync(join(to, path));
    for (const entry of readdirSync(join(from, path), { withFileTypes: true })) {
      const inner = join(path, entry.name);
      entries += 1;
      if (entries % SLICE === 0) await nextRound();
      if (entry.isDirectory()) await copy(inner);
      else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(join(from, inner)), join(to, inner));
      else if (!(isLinked(inner) && linked(join(from, inner), join(to, inner)))) {
        await copyOne(join(from, inner), join(to, inner), lstatSync(join(from, inner)));
      }
    }
  };
  await copy('');
}

/** False where the file system cannot: then it is copied. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch {
    return false;
  }
}

async function copyOne(from: string, to: string, { size, atimeMs, mtimeMs }: Stats): Promise<void> {
  const times = [atimeMs / 1000, mtimeMs / 1000] as const;
  if (size > LARGE_BYTES) {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await utimes(to, ...times);
    return;
  }
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
  utimesSync(to, ...times);
}

/** Removes a folder with all that is in it; nothing is done when it is not there. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await removeSlices(folder);
  } catch {
    // Something is not as it should be: written meanwhile, not ours to look into. That takes its time.
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function removeSlices(folder: string): Promise<void> {
  let entries = 0;
  const remove = async (path: string): Promise<void> => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      entries += 1;
      if (entries % SLICE === 0) await nextRound();
      if (entry.isDirectory()) await remove(join(path, entry.name));
      else unlinkSync(join(path, entry.name));
    }
    rmdirSync(path);
  };
  await remove(folder);
}
