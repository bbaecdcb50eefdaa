// Puts bytes in a file's place, or takes the file away, so that a crash leaves the old or the new content and never a part
// (SAFETY 2.5, DURABILITY 8, 12): a new file beside it, fsync, a last look at the target, rename. That also breaks hard links and
// never writes through a symlink. The caller holds the path's lock; what is left is a window of microseconds before the rename.

import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../../shared/ids.ts';
import { killPoint } from '../../shared/kill-point.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { makeFolders } from '../make-folders.ts';
import { fileFailure } from './failures.ts';
import { type FileStamp, sameStamp, stampOf } from './file-stamp.ts';
import { type DiskFile, readWhole } from './read-disk.ts';

const sync = promisify(fsync);
const writeChunk = promisify(write);

export interface Replacement {
  /** Real path. */
  readonly path: string;
  /** What was read there; null: nothing was there. */
  readonly before: DiskFile | null;
  /** Null: no file. */
  readonly after: Buffer | null;
  /** Permission bits of a file that is made; undefined: the user's usual ones. */
  readonly mode?: number;
  /** Awaited when all is ready, right before the last look. `madeFolder`: the first folder that had to be made for it. */
  intend(mode: number, madeFolder: string | undefined): Promise<void>;
  /** Called when it is done: the folder is still to be synced. */
  renamed(folder: string): void;
}

/** `changed`: the file is not `before` any more, and nothing was done. The stamp is undefined when somebody changed it since. */
export type Replaced = { readonly done: true; readonly stamp: FileStamp | undefined } | { readonly done: false };

/** Larger contents are written in the thread pool. */
const SYNC_BYTES = 1024 * 1024;

export async function replaceFile(replacement: Replacement): Promise<Outcome<Replaced>> {
  const { path, before, after } = replacement;
  const folder = dirname(path);
  const refused = before && refuseReadOnly(path, before);
  if (refused) return refused;
  let temp: string | undefined;
  try {
    const madeFolder = before ? undefined : makeFolders(folder);
    temp = tempNameFor(path);
    const written = after && (await writeTemp(temp, after, before, replacement.mode));
    // Spares an intent, no more: the look that counts comes after it.
    if (!looksStill(path, before)) return ok({ done: false });
    await replacement.intend(written?.mode ?? before?.mode ?? 0, madeFolder);
    const readAtMs = Date.now();
    if (!isStill(path, before)) return ok({ done: false });
    if (realpathSync.native(folder) !== folder) {
      return fail(
        'failed',
        'loop',
        `${folder} became a symbolic link just now. Nothing was written; check the path with LS.`,
      );
    }
    if (written) {
      // Another process that took the same temporary name would have its own file there.
      if (lstatSync(temp, { bigint: true }).ino !== written.ino) return ok({ done: false });
      killPoint('file:replacing');
      renameSync(temp, path);
      temp = undefined;
    } else {
      unlinkSync(path);
    }
    killPoint('file:replaced');
    replacement.renamed(folder);
    const stats = written && lstatSync(path, { bigint: true, throwIfNoEntry: false });
    // The content is what was written only if nobody has touched it: same file, same time of change.
    const ours = stats && stats.ino === written.ino && stats.mtimeNs === written.mtimeNs;
    return ok({ done: true, stamp: ours ? stampOf(stats, readAtMs) : undefined });
  } catch (error) {
    return writeFailure(path, error);
  } finally {
    if (temp) removeTemp(temp);
  }
}

/** One name per target: what a crash left there is found and removed by the next write, and nothing piles up. */
export const tempNameFor = (path: string): string => join(dirname(path), `.odin-tmp-${sha256(path).slice(0, 16)}`);

/** Rename asks only for the folder's permission; a file marked read-only is meant to stay as it is. */
function refuseReadOnly(path: string, before: DiskFile): Outcome<never> | undefined {
  const message = `${path} is read-only. It was not changed; ask the user to make it writable (chmod u+w) if it shall be.`;
  if ((before.mode & 0o222) === 0) return fail('failed', 'read_only', message);
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : fail('failed', 'read_only', message);
  }
}

async function writeTemp(temp: string, after: Buffer, before: DiskFile | null, mode: number | undefined) {
  const fd = openNew(temp, before || mode !== undefined ? 0o600 : 0o666);
  try {
    for (let done = 0; done < after.length; ) {
      const rest = after.length - done;
      done +=
        after.length <= SYNC_BYTES
          ? writeSync(fd, after, done, rest)
          : (await writeChunk(fd, after, done, rest)).bytesWritten;
    }
    if (before) keepOwner(fd, before);
    const bits = before?.mode ?? mode;
    // After the change of owner, which clears the set-user-id bits.
    if (bits !== undefined) fchmodSync(fd, bits);
    await sync(fd);
    const stats = fstatSync(fd, { bigint: true });
    return { ino: stats.ino, mtimeNs: stats.mtimeNs, mode: Number(stats.mode) & 0o7777 };
  } finally {
    closeSync(fd);
  }
}

function openNew(temp: string, mode: number): number {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  try {
    return openSync(temp, flags, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    unlinkSync(temp);
    return openSync(temp, flags, mode);
  }
}

function keepOwner(fd: number, before: DiskFile): void {
  const now = fstatSync(fd);
  if (now.uid === before.uid && now.gid === before.gid) return;
  try {
    fchownSync(fd, before.uid, before.gid);
  } catch {
    // Only root may give files away; a file that is the writer's own is what every editor leaves too.
  }
}

function isStill(path: string, before: DiskFile | null): boolean {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!before || !stats) return !before && !stats;
  if (!stats.isFile()) return false;
  if (sameStamp(before.stamp, stats) && !before.stamp.racy) return true;
  if (Number(stats.size) !== before.bytes.length) return false;
  const now = readWhole(path, before.bytes.length);
  return now.ok && now.value.hash === before.hash;
}

function looksStill(path: string, before: DiskFile | null): boolean {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return (before && stats && sameStamp(before.stamp, stats)) || isStill(path, before);
}

function removeTemp(temp: string): void {
  try {
    unlinkSync(temp);
  } catch {
    // The next write of the same file removes it.
  }
}

function writeFailure(path: string, error: unknown) {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES' || code === 'EPERM') {
    const message = `${path} was not written: no permission to change its folder ${dirname(path)}. Tell the user.`;
    return fail('failed', 'permission', message);
  }
  if (code === 'EEXIST')
    return fileFailure(path, Object.assign(new Error('a file is in the way'), { code: 'ENOTDIR' }));
  return fileFailure(path, error);
}
