// The secret that says a job is the user's own (SAFETY 6): 32 random bytes in a file that nobody else may read. It is made with the
// first batch; other machines of the user get a copy, by the user's own hand. It never goes to Redis.

import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from '../../shared/outcome.ts';

const BYTES = 32;

export const jobKeyFile = (home: string): string => join(home, 'job-key');

/** The key in a file, or null when there is none. Throws UserError when it is no key, or others may read it. */
export function readJobKey(file: string): Buffer | null {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return null;
  if (!stat.isFile()) throw new UserError(`${file} is not a file. Remove it, or name the key's file itself.`);
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) {
    throw new UserError(`${file} is the key of Odin's jobs, and others may read it. Run: chmod 600 ${file}`);
  }
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'hex');
  if (key.length !== BYTES) {
    throw new UserError(
      `${file} holds no key. Copy it again from the machine that submits, or remove it to get a new one.`,
    );
  }
  return key;
}

/** The key of a home; made when there is none. Two that make it at the same time end up with the same one. */
export function ensureJobKey(home: string): Buffer {
  const file = jobKeyFile(home);
  const known = readJobKey(file);
  if (known) return known;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temp = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(temp, `${randomBytes(BYTES).toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true });
  try {
    chmodSync(temp, 0o600);
    linkSync(temp, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temp, { force: true });
  }
  return readJobKey(file) as Buffer;
}
