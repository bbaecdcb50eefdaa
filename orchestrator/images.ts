// Pictures of messages on their way into the blob store and out of it: what a file is its first bytes say, not its name.

import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { cleanLine } from '../shared/clean-text.ts';
import type { ImageRef, ImageType, PastedImage } from '../shared/images.ts';
import { UserError } from '../shared/outcome.ts';
import type { Blobs } from './blobs.ts';

/** Providers take 5 MB of base64. */
const MAX_BYTES = 3_900_000;
const MAX_SIDE = 8_000;
/** Of base64 in one request; providers take 32 MB in all. Of more, the newest are sent. */
const MAX_SENT = 20_000_000;

/** Throws UserError when it is no picture that models take. */
export async function keepImage(blobs: Blobs, picture: string | PastedImage): Promise<ImageRef> {
  const name = cleanLine(typeof picture === 'string' ? basename(picture) : picture.name, 100);
  const bytes = typeof picture === 'string' ? await readWhole(picture, name) : picture.bytes;
  insistOnSize(bytes.length, name);
  const found = imageIn(bytes);
  if (found === null) throw new UserError(`${name} is no PNG, JPEG, GIF or WebP picture.`);
  const { mediaType, width, height } = found;
  if (width > MAX_SIDE || height > MAX_SIDE) {
    throw new UserError(`${name} is ${width}×${height}; models take at most ${MAX_SIDE} a side. Make it smaller.`);
  }
  const { sha256, bytes: size } = await blobs.put(bytes);
  return { sha256, bytes: size, mediaType, name, width, height };
}

/** Base64 of the pictures, by hash; the newest as far as a request has room. One that is gone is left out. */
export async function loadImages(blobs: Blobs, refs: readonly ImageRef[]): Promise<ReadonlyMap<string, string>> {
  const loaded = new Map<string, string>();
  let room = MAX_SENT;
  for (const { sha256, bytes } of refs.toReversed()) {
    if (loaded.has(sha256)) continue;
    room -= Math.ceil((4 * bytes) / 3);
    if (room < 0) break;
    const content = await blobs.get({ sha256, bytes }).catch(() => null);
    if (content !== null) loaded.set(sha256, content.toString('base64'));
  }
  return loaded;
}

interface Found {
  readonly mediaType: ImageType;
  readonly width: number;
  readonly height: number;
}

/** What picture it is, by its magic bytes and its header; null: none that models take. */
export function imageIn(bytes: Buffer): Found | null {
  const found = png(bytes) ?? gif(bytes) ?? webp(bytes) ?? jpeg(bytes);
  return found !== null && found.width > 0 && found.height > 0 ? found : null;
}

async function readWhole(path: string, name: string): Promise<Buffer> {
  try {
    const file = await open(path);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new UserError(`${name} is no file.`);
      insistOnSize(stats.size, name);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${name} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

function insistOnSize(bytes: number, name: string): void {
  if (bytes <= MAX_BYTES) return;
  throw new UserError(
    `${name} has ${(bytes / 1e6).toFixed(1)} MB; models take ${MAX_BYTES / 1e6} MB at most. Make it smaller.`,
  );
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

function png(bytes: Buffer): Found | null {
  if (bytes.length < 24 || !bytes.subarray(0, 8).equals(PNG) || bytes.toString('latin1', 12, 16) !== 'IHDR')
    return null;
  return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gif(bytes: Buffer): Found | null {
  if (bytes.length < 10 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return null;
  return { mediaType: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

function webp(bytes: Buffer): Found | null {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return null;
  }
  const mediaType = 'image/webp';
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { mediaType, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { mediaType, width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { mediaType, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return null;
  }
}

/** The size stands in the frame's header, behind segments of any length. */
function jpeg(bytes: Buffer): Found | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null;
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) {
      return { mediaType: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    // Fill bytes, and markers that stand alone.
    if (marker === 0xff) at += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}
