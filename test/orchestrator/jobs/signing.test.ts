import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { ensureJobKey, jobKeyFile, readJobKey } from '../../../orchestrator/jobs/job-key.ts';
import { canonical, MAX_JOB_BYTES, openJob, type SignedJob, signJob } from '../../../orchestrator/jobs/sign-job.ts';
import { tempHome } from '../../support/redis.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

const KEY = Buffer.alloc(32, 7);
const PLACE = { queue: 'batch.a', jobId: 'b1_line-1_0_0' };
const schema = z.strictObject({ bid: z.string(), item: z.string() });
const DATA = { bid: 'b1', item: 'line-1' };
const NOW = 1_000_000;

const codeOf = (job: unknown, place = PLACE, key = KEY, now = NOW): string => {
  const outcome = openJob(key, place, job, schema, now);
  return outcome.ok ? 'ok' : outcome.failure.code;
};

describe('SAFETY 6: a job is taken from a holder of the key alone', () => {
  const job = signJob(KEY, PLACE, DATA, NOW + 10);

  test('a signed job gives back its data, whatever became of the order of its keys', () => {
    expect(openJob(KEY, PLACE, job, schema, NOW)).toEqual({ ok: true, value: DATA });
    const turned: SignedJob = { ...job, data: { item: 'line-1', bid: 'b1' } };
    expect(codeOf(JSON.parse(JSON.stringify(turned)))).toBe('ok');
  });

  test('another key, queue, job id, expiry or any changed character of data or signature is a forgery', () => {
    expect(codeOf(job, PLACE, Buffer.alloc(32, 8))).toBe('forged_job');
    expect(codeOf(job, { ...PLACE, queue: 'batch.b' })).toBe('forged_job');
    expect(codeOf(job, { ...PLACE, jobId: 'b1_line-1_0_1' })).toBe('forged_job');
    expect(codeOf({ ...job, expiresAt: job.expiresAt + 1 })).toBe('forged_job');
    const random = randomFrom(printedSeed('signing'));
    for (let i = 0; i < 200; i++) {
      const at = random(64);
      const digit = '0123456789abcdef'[(Number.parseInt(job.signature.charAt(at), 16) + 1 + random(15)) % 16];
      const signature = job.signature.slice(0, at) + digit + job.signature.slice(at + 1);
      expect(codeOf({ ...job, signature })).toBe('forged_job');
      const item = `line-${2 + random(1000)}`;
      expect(codeOf({ ...job, data: { bid: 'b1', item } })).toBe('forged_job');
    }
  });

  test('parts of a job cannot run over into each other', () => {
    const one = signJob(KEY, { queue: 'a', jobId: 'b|c' }, DATA, NOW + 10);
    expect(codeOf(one, { queue: 'a|b', jobId: 'c' })).toBe('forged_job');
  });

  test('a job is refused when its time is over, when it is too large, and when it has a key too many', () => {
    expect(codeOf(job, PLACE, KEY, NOW + 10)).toBe('expired_job');
    expect(codeOf(signJob(KEY, PLACE, { ...DATA, more: 'x'.repeat(MAX_JOB_BYTES) }, NOW + 10))).toBe('oversized_job');
    expect(codeOf({ ...job, mode: 'edit' })).toBe('malformed_job');
    expect(codeOf(signJob(KEY, PLACE, { ...DATA, mode: 'edit' }, NOW + 10))).toBe('malformed_job');
    for (const odd of [null, 'x', 7, [], {}, { ...job, data: 'x' }, { ...job, signature: 'zz' }]) {
      expect(codeOf(odd)).toBe('malformed_job');
    }
    expect(codeOf(JSON.parse(`{"v":1,"__proto__":{"data":1},"expiresAt":1,"signature":"${job.signature}"}`))).toBe(
      'malformed_job',
    );
  });

  test('equal values have one canonical text and different ones have two', () => {
    expect(canonical({ b: [1, { d: null, c: 'x' }], a: true })).toBe(
      canonical({ a: true, b: [1, { c: 'x', d: null }] }),
    );
    expect(canonical({ a: '1' })).not.toBe(canonical({ a: 1 }));
    expect(canonical([['a'], 'b'])).not.toBe(canonical(['a', ['b']]));
  });
});

describe('SAFETY 6: the key', () => {
  test('it is made once, readable by its user alone, and stays', async () => {
    const { home, remove } = await tempHome();
    const key = ensureJobKey(home);
    expect(key).toHaveLength(32);
    expect(statSync(jobKeyFile(home)).mode & 0o777).toBe(0o600);
    expect(ensureJobKey(home)).toEqual(key);
    expect(readJobKey(jobKeyFile(home))).toEqual(key);
    await remove();
  });

  test('a key that others may read, or that is no key, is refused with what to do', async () => {
    const { home, remove } = await tempHome();
    const file = join(home, 'copied');
    expect(existsSync(file)).toBe(false);
    expect(readJobKey(file)).toBeNull();
    writeFileSync(file, 'abc', { mode: 0o600 });
    expect(() => readJobKey(file)).toThrow(/holds no key/);
    chmodSync(file, 0o644);
    expect(() => readJobKey(file)).toThrow(/chmod 600/);
    await remove();
  });
});
