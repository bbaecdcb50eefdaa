// Reads a command's output from the file that the shim's command writes: its beginning and end, a piece, or what has come
// since. Never more than a piece of it is in memory, however long it is. Text is cleaned here, once (SAFETY 4).

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { cleanText, StreamCleaner } from '../../shared/clean-text.ts';
import type { CappedOutput } from '../../shared/exec-port.ts';

/** Errors stand at the end more often than at the beginning. */
const HEAD_BYTES = 8 * 1024;
const TAIL_BYTES = 20 * 1024;
const PIECE_BYTES = 24 * 1024;
/** How much of a flood is shown at once. */
const LIVE_BYTES = 64 * 1024;

/** Beginning and end, cleaned; cut at line ends where there are some. */
export function cappedOutput(path: string): CappedOutput {
  return withFile(path, { head: '', tail: '', omittedBytes: 0, omittedFrom: 0, bytes: 0 }, (fd, bytes) => {
    if (bytes <= HEAD_BYTES + TAIL_BYTES) {
      return { head: textOf(readAt(fd, 0, bytes)), tail: '', omittedBytes: 0, omittedFrom: bytes, bytes };
    }
    const head = upToLineEnd(readAt(fd, 0, HEAD_BYTES));
    const tail = fromLineStart(readAt(fd, bytes - TAIL_BYTES, TAIL_BYTES));
    const omittedBytes = bytes - head.byteLength - tail.byteLength;
    return { head: textOf(head), tail: textOf(tail), omittedBytes, omittedFrom: head.byteLength, bytes };
  });
}

/** A piece from byte `from` on, and where the next one begins. */
export function outputPiece(path: string, from: number): { text: string; from: number; next: number; bytes: number } {
  return withFile(path, { text: '', from, next: from, bytes: 0 }, (fd, bytes) => {
    const start = Math.min(Math.max(0, from), bytes);
    const wanted = Math.min(PIECE_BYTES, bytes - start);
    const read = readAt(fd, start, wanted);
    const piece = start + wanted < bytes ? upToLineEnd(read) : read;
    return { text: textOf(piece), from: start, next: start + piece.byteLength, bytes };
  });
}

/** Follows a growing output for people to look at. */
export class OutputFollower {
  readonly #path: string;
  readonly #decoder = new StringDecoder('utf8');
  readonly #cleaner = new StreamCleaner();
  #at = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** What is new, cleaned; of a flood only the last part. Also says how long the output is by now. */
  next(): { readonly text: string; readonly bytes: number } {
    return withFile(this.#path, { text: '', bytes: 0 }, (fd, bytes) => {
      const from = Math.max(this.#at, bytes - LIVE_BYTES);
      if (bytes <= from) return { text: '', bytes };
      this.#at = bytes;
      return { text: this.#cleaner.push(this.#decoder.write(readAt(fd, from, bytes - from))), bytes };
    });
  }
}

function withFile<T>(path: string, none: T, use: (fd: number, bytes: number) => T): T {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none;
    throw error;
  }
  try {
    return use(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}

function readAt(fd: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readSync(fd, buffer, 0, length, position));
}

const NEWLINE = 10;

/** Without the last, cut line, or at least without the last, cut character. */
function upToLineEnd(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  if (end > bytes.byteLength / 2) return bytes.subarray(0, end);
  let whole = bytes.byteLength;
  while (whole > 0 && bytes.byteLength - whole < 3 && isContinuation(bytes[whole - 1])) whole--;
  const first = bytes[whole - 1] ?? 0;
  const isCut = first >= 0xc0 && bytes.byteLength - whole + 1 < (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2);
  return isCut ? bytes.subarray(0, whole - 1) : bytes;
}

function fromLineStart(bytes: Buffer): Buffer {
  const start = bytes.indexOf(NEWLINE) + 1;
  if (start > 0 && start < bytes.byteLength / 2) return bytes.subarray(start);
  let whole = 0;
  while (whole < 4 && isContinuation(bytes[whole])) whole++;
  return bytes.subarray(whole);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

const textOf = (bytes: Buffer): string => cleanText(bytes.toString('utf8'));

/** The first bytes of a small file as text; '' when there is none. */
export function readStart(path: string, maxBytes: number): string {
  return withFile(path, '', (fd, bytes) => readAt(fd, 0, Math.min(bytes, maxBytes)).toString('utf8'));
}
