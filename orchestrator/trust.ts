// Which folders the user has accepted, and which text of their odinconfig.json (SAFETY 2.3): by project, in the state folder. Until then
// the folder's texts are somebody else's words, and its settings may only tighten; what that means is left to those who ask.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { sha256 } from '../shared/ids.ts';
import { UserError } from '../shared/outcome.ts';
import { changeUserFile, readUserFile } from './user-file.ts';

const VERSION = 1 as const;
const trustSchema = z.strictObject({
  version: z.literal(VERSION),
  /** `hash` is that of odinconfig.json's exact text; null when the folder was accepted without one. */
  projects: z.record(z.string(), z.strictObject({ hash: z.string().nullable(), at: z.int() })),
});

const NONE: z.infer<typeof trustSchema> = { version: VERSION, projects: {} };
const trustFile = (home: string): string => join(home, 'trust.json');

/** none: the project has no odinconfig.json. changed: another text of it was accepted. */
export type TrustStatus = 'none' | 'trusted' | 'untrusted' | 'changed';

/** What holds for a text of odinconfig.json; null when there is none. `root` is the project's real path. */
export function trustOf(home: string, root: string, text: string | null): TrustStatus {
  if (text === null) return 'none';
  const accepted = readUserFile(trustFile(home), trustSchema, NONE).projects[root]?.hash;
  if (accepted === undefined || accepted === null) return 'untrusted';
  return accepted === sha256(text) ? 'trusted' : 'changed';
}

/** Whether the user has accepted this folder. `root` is its real path. A trust file that cannot be understood trusts nothing. */
export function isFolderTrusted(home: string, root: string): boolean {
  try {
    return trustedSince(home, root) !== null;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** When the folder was accepted; null when it was not. */
export function trustedSince(home: string, root: string): number | null {
  return readUserFile(trustFile(home), trustSchema, NONE).projects[root]?.at ?? null;
}

/** Accepts the folder, and exactly this text of its odinconfig.json; null when it has none. */
export async function acceptFolder(home: string, root: string, text: string | null, at: number): Promise<void> {
  await changeUserFile(trustFile(home), trustSchema, NONE, ({ projects }) => ({
    version: VERSION,
    projects: { ...projects, [root]: { hash: text === null ? null : sha256(text), at } },
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
    // A folder of that name stands in for the file while a command runs (exec/guard-control.ts).
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return null;
    throw new UserError(`${path} cannot be read (${code}). Make it readable, or remove it.`);
  }
}
