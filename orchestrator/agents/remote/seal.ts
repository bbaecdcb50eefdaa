// What parent and worker say to each other goes through Redis (SAFETY 6): each word carries a code that only a holder of the key can make,
// over whose it is, where it stands and what it says. So a word cannot be forged, changed, moved or said again elsewhere.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type * as z from 'zod';
import { fail, type Outcome, ok } from '../../../shared/outcome.ts';

export interface Sealed {
  readonly text: string;
  readonly code: string;
}

/** Larger than any answer of a tool; what is larger is not ours. */
const MAX_BYTES = 16 * 1024 * 1024;

/** `place`: whose it is and its id in the stream. */
export function seal(key: Buffer, place: readonly [rid: string, stream: string, id: string], value: object): Sealed {
  const text = JSON.stringify(value);
  return { text, code: codeOf(key, place, text).toString('hex') };
}

/** What was said, once it is certain who said it. */
export function unseal<T>(
  key: Buffer,
  place: readonly [rid: string, stream: string, id: string],
  { text, code }: Sealed,
  schema: z.ZodType<T>,
): Outcome<T> {
  if (Buffer.byteLength(text) > MAX_BYTES) return refuse('oversized_word', `it has more than ${MAX_BYTES} bytes.`);
  const given = Buffer.from(/^[0-9a-f]{64}$/.test(code) ? code : '', 'hex');
  const expected = codeOf(key, place, text);
  if (given.length !== expected.length || !timingSafeEqual(expected, given)) {
    return refuse('forged_word', 'its code is not of the key that this process has.');
  }
  const parsed = schema.safeParse(JSON.parse(text));
  return parsed.success ? ok(parsed.data) : refuse('malformed_word', 'it is not of a form that is known.');
}

const codeOf = (key: Buffer, place: readonly string[], text: string): Buffer =>
  createHmac('sha256', key)
    .update(JSON.stringify(['agents', ...place]))
    .update('\n')
    .update(text)
    .digest();

const refuse = (code: string, why: string) => fail('refused', code, `What came through Redis is refused: ${why}`);
