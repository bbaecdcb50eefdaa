// Bytes ⇄ text, without loss: what is decoded here and encoded again is the same bytes. Knows encodings, byte-order marks and
// line endings; a line ends with LF (or CRLF), a lone CR is a character like others, as for ripgrep.

import { isUtf8 } from 'node:buffer';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';

/** latin1 stands for any text that is not UTF-8: one byte, one character, so that every byte survives an edit. */
export type Encoding = 'utf8' | 'utf8-bom' | 'latin1';
export type LineEnding = '\n' | '\r\n';

export interface DecodedText {
  readonly text: string;
  readonly encoding: Encoding;
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Text of a file's bytes, or a failure for what is no text. `path` is for its message. */
export function decodeText(bytes: Buffer, path: string): Outcome<DecodedText> {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return fail(
      'failed',
      'utf16',
      `${path} is UTF-16 text. Only UTF-8 can be read or edited: convert it with iconv first.`,
    );
  }
  if (bytes.includes(0)) {
    return fail(
      'failed',
      'binary',
      `${path} is a binary file (${bytes.length} bytes), not text. It can be neither shown nor edited.`,
    );
  }
  if (!isUtf8(bytes)) return ok({ text: bytes.toString('latin1'), encoding: 'latin1' });
  if (bytes.subarray(0, 3).equals(BOM)) return ok({ text: bytes.toString('utf8', 3), encoding: 'utf8-bom' });
  return ok({ text: bytes.toString('utf8'), encoding: 'utf8' });
}

/** The bytes of a text; undefined when the encoding cannot hold it. Lone surrogates are no text in any encoding. */
export function encodeText(text: string, encoding: Encoding): Buffer | undefined {
  if (encoding === 'latin1') return /^[\0-\xff]*$/.test(text) ? Buffer.from(text, 'latin1') : undefined;
  if (!text.isWellFormed()) return undefined;
  return encoding === 'utf8' ? Buffer.from(text, 'utf8') : Buffer.concat([BOM, Buffer.from(text, 'utf8')]);
}

/** The ending of all lines; 'mixed', or undefined when there is none. */
export function lineEndingOf(text: string): LineEnding | 'mixed' | undefined {
  const { crlf, lf } = countEndings(text);
  if (crlf > 0 && lf > 0) return 'mixed';
  return crlf > 0 ? '\r\n' : lf > 0 ? '\n' : undefined;
}

/** The ending of most lines, for text that is added; LF when there is none. */
export function commonEnding(text: string): LineEnding {
  const { crlf, lf } = countEndings(text);
  return crlf > lf ? '\r\n' : '\n';
}

function countEndings(text: string): { crlf: number; lf: number } {
  let crlf = 0;
  let lf = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (at > 0 && text.charCodeAt(at - 1) === 13) crlf++;
    else lf++;
  }
  return { crlf, lf };
}

export const toLf = (text: string): string => (text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text);

export const withEnding = (text: string, ending: LineEnding): string =>
  ending === '\n' ? toLf(text) : toLf(text).replaceAll('\n', '\r\n');

/** Offsets at which lines start. A last line without an ending counts, the nothing after a last ending does not. */
export function lineStarts(text: string): readonly number[] {
  const starts: number[] = [];
  for (let at = 0; at < text.length; ) {
    starts.push(at);
    const end = text.indexOf('\n', at);
    at = end === -1 ? text.length : end + 1;
  }
  return starts;
}
