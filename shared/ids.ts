// Identifiers and hashes. Everything that is written to Redis or disk is named by one of these.

import { hash, randomFillSync } from 'node:crypto';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID (48 bits of milliseconds, 80 random bits, 26 Crockford characters): sorts by time. Session and message ids. */
export function ulid(nowMs: number = Date.now()): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) time = CROCKFORD.charAt(rest % 32) + time;
  if (taken === pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  let random = '';
  for (const byte of pool.subarray(taken, taken + RANDOM_CHARS)) random += CROCKFORD.charAt(byte & 31);
  taken += RANDOM_CHARS;
  return time + random;
}

/** Asking the system for random bytes costs more than all else here, so many are fetched at a time; each is used once. */
const RANDOM_CHARS = 16;
const pool = new Uint8Array(64 * RANDOM_CHARS);
let taken = pool.length;

export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data);
}

/** An operation of a turn, assigned by the reducer so that a replay assigns the same (DURABILITY 4). k = 0 is the model call. */
export type OpId = `${number}.${number}.${number}`;

export const opId = (seq: number, turn: number, k: number): OpId => `${seq}.${turn}.${k}`;

/** The idempotency key of an effect: the same in every replay, different for every effect. */
export const idempotencyKey = (sid: string, op: OpId): string => sha256(`${sid}|${op}`);
