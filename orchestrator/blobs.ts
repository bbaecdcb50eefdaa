// Content too big for an event, kept by its hash in <home>/blobs (DURABILITY 2). A blob is on disk, synced, before its
// reference is handed out. Same content, same file: writing twice is writing once.

import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobRef, Payload } from '../shared/events.ts';
import { sha256, ulid } from '../shared/ids.ts';
import { UserError } from '../shared/outcome.ts';

/** A text of at most this many bytes stays in its event. */
export const INLINE_BYTES = 16 * 1024;

export interface Blobs {
  put(content: string | Uint8Array): Promise<BlobRef>;
  /** Throws UserError when the blob is missing or its bytes are not those it was named after. */
  get(ref: BlobRef): Promise<Buffer>;
  putPayload(text: string): Promise<Payload>;
  getPayload(payload: Payload): Promise<string>;
}

export function openBlobs(home: string): Blobs {
  const root = join(home, 'blobs');
  const pathOf = (hash: string): string => join(root, hash.slice(0, 2), hash);

  const put = async (content: string | Uint8Array): Promise<BlobRef> => {
    const ref = { sha256: sha256(content), bytes: Buffer.byteLength(content) };
    const path = pathOf(ref.sha256);
    try {
      if (!(await isWhole(path, ref))) await write(path, content);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      throw new UserError(
        code === 'ENOSPC' || code === 'EDQUOT'
          ? `The disk of ${root} is full. Free some space; the message goes on where it stopped.`
          : `Odin cannot write to ${root} (${code}). Make it writable or set ODIN_HOME to a folder that is.`,
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

/** Is it there already, undamaged? A damaged one is written anew. */
async function isWhole(path: string, ref: BlobRef): Promise<boolean> {
  try {
    const content = await readFile(path);
    return content.byteLength === ref.bytes && sha256(content) === ref.sha256;
  } catch {
    return false;
  }
}

async function write(path: string, content: string | Uint8Array): Promise<void> {
  const dir = dirname(path);
  const made = await mkdir(dir, { recursive: true, mode: 0o700 });
  const draft = `${path}.${ulid()}`;
  try {
    const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dir);
  // New folders are entries of their parents, up to the first that existed.
  for (let child = dir; made !== undefined && child.length >= made.length; child = dirname(child)) {
    await syncFolder(dirname(child));
  }
}

async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
