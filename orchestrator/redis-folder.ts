// Where a private Redis lives on disk: a folder that is the user's alone, with space left, and a path for its socket that
// is short enough. The same home gives the same socket in every process, whatever its environment: two paths would be two servers.

import { chmodSync, lstatSync, statfsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '../shared/ids.ts';
import { UserError } from '../shared/outcome.ts';
import { makeFolders } from './make-folders.ts';

/** The longest path a socket may have: 107 bytes on Linux, 103 on macOS. */
const LONGEST_SOCKET_PATH = 100;
const MIN_FREE_BYTES = 32 * 1024 * 1024;

/** Makes the folder with mode 0700, or says why it cannot be used. */
export function privateFolder(dir: string): string {
  try {
    makeFolders(dir, 0o700);
    const stat = lstatSync(dir);
    if (stat.isDirectory() && (stat.mode & 0o077) !== 0) chmodSync(dir, 0o700);
  } catch (error) {
    throw new UserError(
      `Odin cannot use ${dir} (${(error as NodeJS.ErrnoException).code}). Make it writable or set ODIN_HOME to a folder that is.`,
    );
  }
  return dir;
}

/** `<dir>/redis.sock`; for a dir too deep for that, a name by its hash in a folder of the user's under /tmp. */
export function socketPathFor(dir: string): string {
  const inside = join(dir, 'redis.sock');
  if (Buffer.byteLength(inside) <= LONGEST_SOCKET_PATH) return inside;
  const { uid } = userInfo();
  const shared = privateFolder(`/tmp/odin-${uid}`);
  const stat = lstatSync(shared);
  // /tmp is everybody's: whoever made this folder first would own our socket.
  if (!stat.isDirectory() || (stat.uid !== uid && uid !== -1)) {
    throw new UserError(`${shared} belongs to somebody else. Set ODIN_HOME to a folder with a shorter path.`);
  }
  return join(shared, `${sha256(dir).slice(0, 20)}.sock`);
}

/** A full disk makes a Redis that syncs every write exit; starting it again and again would help nobody. */
export function assertFreeSpace(dir: string, needed: number = MIN_FREE_BYTES): void {
  const { bavail, bsize } = statfsSync(dir);
  if (bavail * bsize >= needed) return;
  const megabytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MB`;
  throw new UserError(
    `The disk of ${dir} has ${megabytes(bavail * bsize)} left; Redis needs ${megabytes(needed)} to start. Free some space and try again.`,
    1,
  );
}
