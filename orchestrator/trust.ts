// Which odinconfig.json the user has accepted (SAFETY 2.3): the hash of its exact text, by project, in the state folder. Until then it
// may only tighten; config.ts decides what that means for each setting.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { sha256 } from '../shared/ids.ts';
import { UserError } from '../shared/outcome.ts';
import { changeUserFile, readUserFile } from './user-file.ts';

const VERSION = 1 as const;
const trustSchema = z.strictObject({
  version: z.literal(VERSION),
  projects: z.record(z.string(), z.strictObject({ hash: z.string(), at: z.int() })),
});

const NONE: z.infer<typeof trustSchema> = { version: VERSION, projects: {} };
const trustFile = (home: string): string => join(home, 'trust.json');

/** none: the project has no odinconfig.json. changed: another text of it was accepted. */
export type TrustStatus = 'none' | 'trusted' | 'untrusted' | 'changed';

/** What holds for a text of odinconfig.json; null when there is none. `root` is the project's real path. */
export function trustOf(home: string, root: string, text: string | null): TrustStatus {
  if (text === null) return 'none';
  const accepted = readUserFile(trustFile(home), trustSchema, NONE).projects[root]?.hash;
  if (accepted === undefined) return 'untrusted';
  return accepted === sha256(text) ? 'trusted' : 'changed';
}

/** Accepts exactly this text. */
export async function acceptConfig(home: string, root: string, text: string, at: number): Promise<void> {
  await changeUserFile(trustFile(home), trustSchema, NONE, ({ projects }) => ({
    version: VERSION,
    projects: { ...projects, [root]: { hash: sha256(text), at } },
  }));
}

/** False when nothing was accepted. */
export async function revokeTrust(home: string, root: string): Promise<boolean> {
  let had = false;
  await changeUserFile(trustFile(home), trustSchema, NONE, ({ projects: { [root]: old, ...projects } }) => {
    had = old !== undefined;
    return had ? { version: VERSION, projects } : undefined;
  });
  return had;
}

/** The exact text of a settings file, or null when there is none. */
export function readConfigText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new UserError(`${path} cannot be read (${code}). Make it readable, or remove it.`);
  }
}
