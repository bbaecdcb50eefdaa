// Content too big for an event, kept by its hash in <home>/blobs (DURABILITY 2). A blob is on disk, synced, before its
// reference is handed out. Same content, same file: writing twice is writing once. A new blob has its name from the start, so
// that file and folder are synced at once: until then nobody knows its reference, readers check the hash, and what a crash left
// half written is written anew. One that is there is replaced only when it is damaged, by one that is synced.

import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
  writeFile as writeToFile,
} from 'node:fs';
import { lstat, open as openFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { sha256, ulid } from '../shared/ids.ts';
import { UserError } from '../shared/outcome.ts';
import type { BlobRef, Payload } from '../shared/payload.ts';
import { type FileStamp, sameStamp, stampOf } from './files/file-stamp.ts';

/** A text of at most this many bytes stays in its event. */
export const INLINE_BYTES = 16 * 1024;
/** Larger contents are written in the thread pool. */
const SYNC_BYTES = 1024 * 1024;
/** Blobs that this process knows to be synced; beyond these the oldest are checked again when they are put. */
const MAX_KNOWN = 10_000;

const sync = promisify(fsync);
const writeAll = promisify(writeToFile);

/** There is no space for a blob now; later there may be. */
export class DiskFull extends UserError {}

export interface Blobs {
  put(content: string | Uint8Array): Promise<BlobRef>;
  /** Throws UserError when the blob is missing or its bytes are not those it was named after. */
  get(ref: BlobRef): Promise<Buffer>;
  putPayload(text: string): Promise<Payload>;
  getPayload(payload: Payload): Promise<string>;
}

export function openBlobs(home: string): Blobs {
  const root = join(home, 'blobs');
  const pathOf = (hash: string): string => join(root, hash);
  /** With this stamp they are still what was synced. */
  const known = new Map<string, FileStamp>();
  /** A second put of the same content waits for the first: it finds the name before it is synced. */
  const underWay = new Map<string, Promise<void>>();

  const keep = async (ref: BlobRef, content: string | Uint8Array): Promise<void> => {
    const path = pathOf(ref.sha256);
    const stamp =
      (await create(path, content, ref.bytes)) ??
      (await syncWhole(path, ref.sha256, home)) ??
      (await replace(path, content, home));
    known.set(ref.sha256, stamp);
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
  };

  const put = async (content: string | Uint8Array): Promise<BlobRef> => {
    const ref = { sha256: sha256(content), bytes: Buffer.byteLength(content) };
    try {
      for (let other = underWay.get(ref.sha256); other; other = underWay.get(ref.sha256)) await other;
      if (isKnown(pathOf(ref.sha256), known.get(ref.sha256))) return ref;
      const kept = keep(ref, content).finally(() => underWay.delete(ref.sha256));
      underWay.set(ref.sha256, kept);
      await kept;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOSPC' || code === 'EDQUOT') {
        throw new DiskFull(`The disk of ${root} is full. Free some space and try again.`, 1);
      }
      throw new UserError(
        `Odin cannot write to ${root} (${code}). Make it writable or set ODIN_HOME to a folder that is.`,
        1,
      );
    }
    return ref;
  };

  const get = async (ref: BlobRef): Promise<Buffer> => {
    const path = pathOf(ref.sha256);
    let content: Buffer;
    try {
      content = await readFile(path);
    } catch (error) {
      throw new UserError(
        `A part of this session is missing: ${path} (${(error as NodeJS.ErrnoException).code}). Restore it from a backup; the rest of the session is whole.`,
        1,
      );
    }
    if (content.byteLength !== ref.bytes || sha256(content) !== ref.sha256) {
      throw new UserError(
        `A part of this session is damaged: ${path} is not what was written. Restore it from a backup; the rest of the session is whole.`,
        1,
      );
    }
    return content;
  };

  return {
    put,
    get,
    putPayload: async (text) =>
      Buffer.byteLength(text) <= INLINE_BYTES ? { inline: text } : { blob: await put(text) },
    getPayload: async (payload) => ('inline' in payload ? payload.inline : (await get(payload.blob)).toString('utf8')),
  };
}

function isKnown(path: string, stamp: FileStamp | undefined): boolean {
  const stats = stamp && lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats !== undefined && sameStamp(stamp as FileStamp, stats);
}

/** Undefined when there is one already. */
async function create(path: string, content: string | Uint8Array, bytes: number): Promise<FileStamp | undefined> {
  const opened = openNew(path);
  if (!opened) return undefined;
  const { fd, made } = opened;
  const dir = dirname(path);
  try {
    if (bytes <= SYNC_BYTES) writeFileSync(fd, content);
    else await writeAll(fd, content);
    const stamp = stampOf(fstatSync(fd, { bigint: true }), Date.now());
    // What the caller writes in the same breath goes to disk with it.
    await Promise.resolve();
    // New folders are entries of their parents, up to the first that existed.
    await Promise.all([sync(fd), syncFolders(dir, made === undefined ? dir : dirname(made))]);
    return stamp;
  } catch (error) {
    // What could not be synced must not be taken for kept later on; somebody may have put a whole one in its place.
    if (lstatSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino) rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Undefined when there is one already. `made`: the first folder that had to be made. */
function openNew(path: string, made?: string): { readonly fd: number; readonly made: string | undefined } | undefined {
  try {
    return { fd: openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600), made };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return undefined;
    if (code !== 'ENOENT' || made !== undefined) throw error;
    return openNew(path, mkdirSync(dirname(path), { recursive: true, mode: 0o700 }) ?? dirname(path));
  }
}

/** The stamp of what is there, once it is synced, for its writer may not be done; undefined when it is damaged. */
async function syncWhole(path: string, hash: string, home: string): Promise<FileStamp | undefined> {
  const file = await openFile(path, constants.O_RDONLY);
  try {
    const stamp = stampOf(await file.stat({ bigint: true }), Date.now());
    if (sha256(await file.readFile()) !== hash) return undefined;
    await Promise.all([file.sync(), syncFolders(dirname(path), home)]);
    return stamp;
  } finally {
    await file.close();
  }
}

async function replace(path: string, content: string | Uint8Array, home: string): Promise<FileStamp> {
  const draft = `${path}.${ulid()}`;
  try {
    await writeFile(draft, content, { flag: 'wx', mode: 0o600, flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolders(dirname(path), home);
  return stampOf(await lstat(path, { bigint: true }), Date.now());
}

/** From one folder up to another that holds it. */
async function syncFolders(from: string, to: string): Promise<void> {
  const chain = [from];
  for (let dir = from; dir !== to && dir !== dirname(dir); dir = dirname(dir)) chain.push(dirname(dir));
  await Promise.all(chain.map(syncFolder));
}

async function syncFolder(dir: string): Promise<void> {
  const fd = openSync(dir, constants.O_RDONLY);
  try {
    await sync(fd);
  } finally {
    closeSync(fd);
  }
}
