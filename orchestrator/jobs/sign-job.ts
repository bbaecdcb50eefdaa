// Jobs that only a holder of the key can have made (SAFETY 6): whoever can write to Redis could otherwise have an agent run. What a job
// holds is ids and hashes; its queue, its own id and its time are under the signature too, so that it is good for one place, one
// purpose and one while. Whether it comes a second time is for whoever claims what it is about.

import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type { JsonObject } from '../../shared/json.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';

/** What is in a job's data in Redis. */
export interface SignedJob {
  readonly v: 1;
  readonly data: JsonObject;
  /** Milliseconds since 1970, after which it is refused. */
  readonly expiresAt: number;
  readonly signature: string;
}

/** Larger than any job of ours; BullMQ itself would take megabytes. */
export const MAX_JOB_BYTES = 262_144;

const signedSchema = z.strictObject({
  v: z.literal(1),
  data: z.record(z.string(), z.json()),
  expiresAt: z.int().positive(),
  signature: z.string().regex(/^[0-9a-f]{64}$/),
});

export interface JobPlace {
  readonly queue: string;
  readonly jobId: string;
}

export function signJob(key: Buffer, place: JobPlace, data: JsonObject, expiresAt: number): SignedJob {
  return { v: 1, data, expiresAt, signature: signatureOf(key, place, data, expiresAt).toString('hex') };
}

/** The job's data, once it is certain who made it; else why it is refused. `job` is whatever Redis held. */
export function openJob<T>(key: Buffer, place: JobPlace, job: unknown, schema: z.ZodType<T>, now: number): Outcome<T> {
  let size: number;
  try {
    size = Buffer.byteLength(JSON.stringify(job) ?? '');
  } catch {
    return refuse('malformed_job', 'it is no JSON.');
  }
  if (size > MAX_JOB_BYTES) return refuse('oversized_job', `it has ${size} bytes; ${MAX_JOB_BYTES} is the most.`);
  const parsed = signedSchema.safeParse(job);
  if (!parsed.success) return refuse('malformed_job', 'it is not of the form that Odin gives its jobs.');
  const { data, expiresAt, signature } = parsed.data;
  const expected = signatureOf(key, place, data, expiresAt);
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) {
    return refuse('forged_job', 'its signature is not of the key that this worker has.');
  }
  if (expiresAt <= now) return refuse('expired_job', `its time was over at ${new Date(expiresAt).toISOString()}.`);
  const inner = schema.safeParse(data);
  return inner.success ? ok(inner.data) : refuse('malformed_job', 'what it holds is not what this queue is for.');
}

const refuse = (code: string, why: string) => fail('refused', code, `The job is refused: ${why}`);

function signatureOf(key: Buffer, { queue, jobId }: JobPlace, data: JsonObject, expiresAt: number): Buffer {
  // A JSON array, so that no part can run over into its neighbour.
  const text = JSON.stringify([queue, jobId, canonical(data), expiresAt]);
  return createHmac('sha256', key).update(text).digest();
}

/** The same text for the same value, in whatever order its keys came. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}
