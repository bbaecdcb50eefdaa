// Small JSON files of the user in the state folder: readable by nobody else, replaced whole, one writer at a time.

import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type * as z from 'zod';
import { UserError } from '../shared/outcome.ts';
import { makeFolders } from './make-folders.ts';
import { lock } from './process-lock.ts';

const LOCK_WAIT_MS = 5_000;

/** What the file holds, or `empty` when there is none. Throws UserError when it is not what it should be. */
export function readUserFile<T>(path: string, schema: z.ZodType<T>, empty: T): T {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return empty;
    throw new UserError(
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code}). Make it readable, or remove it.`,
    );
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new UserError(`${path} is not as Odin wrote it, so nothing in it holds. Correct or remove it.`);
  }
}

/** Replaces the file by what `change` makes of it; undefined: it stays as it is. */
export async function changeUserFile<T>(
  path: string,
  schema: z.ZodType<T>,
  empty: T,
  change: (old: T) => T | undefined,
): Promise<void> {
  const held = await lock(`file:${path}`, AbortSignal.timeout(LOCK_WAIT_MS));
  try {
    const changed = change(readUserFile(path, schema, empty));
    if (changed === undefined) return;
    makeFolders(dirname(path), 0o700);
    const temp = `${path}.${randomUUID()}`;
    try {
      writeFileSync(temp, `${JSON.stringify(changed, null, 2)}\n`, { flag: 'wx', mode: 0o600, flush: true });
      chmodSync(temp, 0o600);
      renameSync(temp, path);
    } catch (error) {
      rmSync(temp, { force: true });
      throw error;
    }
  } finally {
    held.release();
  }
}
