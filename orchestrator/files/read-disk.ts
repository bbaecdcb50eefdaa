// Reading from disk, safely (SAFETY 2.5): never through a link that appeared after the path was resolved, never from a pipe or
// device, and with a stamp that belongs to exactly the bytes read. Small files are read in one go, without a trip to the
// thread pool; ranges of large ones are streamed.

import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  read as readAt,
  readlinkSync,
  readSync,
} from 'node:fs';
import { promisify } from 'node:util';
import type { LineRange } from '../../shared/files-port.ts';
import { sha256 } from '../../shared/ids.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { FileVersion } from './cache-entry.ts';
import { fileFailure } from './failures.ts';
import { type FileStamp, sameStamp, stampOf } from './file-stamp.ts';

const readChunk = promisify(readAt);

export interface DiskFile {
  readonly bytes: Buffer;
  readonly hash: string;
  readonly stamp: FileStamp;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const CHUNK = 256 * 1024;
/** A file that keeps changing while it is read is taken as it is after so many tries; its stamp will not match then. */
const TRIES = 5;
/** O_NONBLOCK: opening a pipe must not wait for its other end. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A whole file by its real path. */
export function readWhole(real: string, maxBytes: number): Outcome<DiskFile> {
  try {
    for (let tries = 1; ; tries++) {
      const readAtMs = Date.now();
      const file = withFile(real, (fd, before) => {
        if (before.size > maxBytes) return tooLarge(real, before.size, maxBytes);
        const bytes = readAll(fd, Number(before.size));
        const stamp = stampOf(before, readAtMs);
        if (tries < TRIES && !sameStamp(stamp, fstatSync(fd, { bigint: true }))) return undefined;
        const { mode, uid, gid } = before;
        return ok({
          bytes,
          hash: sha256(bytes),
          stamp,
          mode: Number(mode) & 0o7777,
          uid: Number(uid),
          gid: Number(gid),
        });
      });
      if (file) return file;
    }
  } catch (error) {
    return fileFailure(real, error);
  }
}

/** The first bytes of a file by its real path, and how many it has. */
export function readStart(real: string, maxBytes: number): Outcome<{ readonly bytes: Buffer; readonly size: number }> {
  try {
    return withFile(real, (fd, stats) => {
      const size = Number(stats.size);
      const bytes = Buffer.alloc(Math.min(size, maxBytes));
      return ok({ bytes: bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)), size });
    });
  } catch (error) {
    return fileFailure(real, error);
  }
}

export interface ScannedRange {
  readonly version: FileVersion;
  readonly range: LineRange;
  readonly bytes: Buffer;
}

/**
 * Some lines of a file of any size, in one pass that also hashes and counts it. With `known`, the version that the file still
 * has by its stamp, the pass ends with the range.
 */
export async function scanRange(
  real: string,
  range: LineRange,
  maxBytes: number,
  known?: FileVersion,
): Promise<Outcome<ScannedRange>> {
  try {
    for (let tries = 1; ; tries++) {
      const readAtMs = Date.now();
      const fd = openChecked(real);
      try {
        const before = fstatSync(fd, { bigint: true });
        const stamp = stampOf(before, readAtMs);
        const version = known && !known.stamp.racy && sameStamp(known.stamp, before) ? known : undefined;
        const scan = await scanFile(fd, range, maxBytes, version !== undefined);
        if (!scan)
          return fail(
            'failed',
            'too_large',
            `Lines ${range.start}-${range.end} of ${real} are over ${mib(maxBytes)}. Read fewer lines.`,
          );
        if (scan.binary) return fail('failed', 'binary', `${real} is a binary file, not text.`);
        if (tries < TRIES && !sameStamp(stamp, fstatSync(fd, { bigint: true }))) continue;
        const totalLines = version?.totalLines ?? scan.lines;
        const found = version ?? { hash: scan.hash, size: scan.size, totalLines, encoding: 'utf8', stamp };
        return ok({
          version: found,
          range: { start: range.start, end: Math.min(range.end, totalLines) },
          bytes: scan.bytes,
        });
      } finally {
        closeSync(fd);
      }
    }
  } catch (error) {
    return fileFailure(real, error);
  }
}

const mib = (bytes: number | bigint): string => `${(Number(bytes) / 1024 / 1024).toFixed(1)} MiB`;

const tooLarge = (real: string, size: bigint, maxBytes: number): Outcome<never> =>
  fail(
    'failed',
    'too_large',
    `${real} is ${mib(size)}, over the limit of ${mib(maxBytes)} for a whole file. Read a range of its lines, or search it with Grep.`,
  );

/** Opens a real path and makes sure that this is where it led. */
function openChecked(real: string): number {
  const fd = openSync(real, READ_FLAGS);
  try {
    if (!fstatSync(fd).isFile())
      throw Object.assign(new Error('not a regular file'), {
        code: fstatSync(fd).isDirectory() ? 'EISDIR' : 'ENOTSUP',
      });
    if (process.platform === 'linux') {
      const where = readlinkSync(`/proc/self/fd/${fd}`);
      // A file replaced since it was opened is shown as deleted; then this is the old one, which is still a version of the path.
      if (where !== real && where !== `${real} (deleted)`)
        throw Object.assign(new Error(`led to ${where}`), { code: 'ELOOP' });
    }
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function withFile<T>(real: string, use: (fd: number, stats: BigIntStats) => T): T {
  const fd = openChecked(real);
  try {
    return use(fd, fstatSync(fd, { bigint: true }));
  } finally {
    closeSync(fd);
  }
}

/** Everything up to the end, also when the file is longer than its size said. */
function readAll(fd: number, size: number): Buffer {
  let buffer = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    const count = readSync(fd, buffer, length, buffer.length - length, length);
    length += count;
    if (count === 0) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
  }
}

async function scanFile(fd: number, range: LineRange, maxBytes: number, stopAtEnd: boolean) {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK);
  const parts: Buffer[] = [];
  let [size, line, kept, binary, open] = [0, 1, 0, false, false];
  for (;;) {
    const { bytesRead } = await readChunk(fd, chunk, 0, CHUNK, size);
    if (bytesRead === 0) break;
    const bytes = chunk.subarray(0, bytesRead);
    size += bytesRead;
    hash.update(bytes);
    binary ||= bytes.includes(0);
    let from = line >= range.start && line <= range.end ? 0 : -1;
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
      line++;
      if (line === range.start) from = at + 1;
      if (line === range.end + 1 && from !== -1) {
        parts.push(Buffer.from(bytes.subarray(from, at + 1)));
        from = -1;
      }
    }
    if (from !== -1 && from < bytesRead) parts.push(Buffer.from(bytes.subarray(from)));
    kept = parts.reduce((sum, part) => sum + part.length, 0);
    if (kept > maxBytes) return undefined;
    open = bytes[bytesRead - 1] !== 10;
    if (binary || (stopAtEnd && line > range.end)) break;
  }
  return { bytes: Buffer.concat(parts), size, lines: open ? line : line - 1, hash: hash.digest('hex'), binary };
}
