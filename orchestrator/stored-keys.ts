// The keys of `odin login`: in the desktop's keyring, or in $ODIN_HOME/keys.json, which only the user can read. The file says in any case
// which providers there are. Whatever is read or stored here is a secret that every scrubber of this process takes out from then on.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { StoredKey, StoredKeys } from '../llm/known-providers.ts';
import { learnSecret } from '../shared/scrub.ts';
import { openKeyring } from './keyring.ts';
import { changeUserFile, readUserFile } from './user-file.ts';

const Entry = z.strictObject({
  key: z.string().optional(),
  /** The key is in the keyring. */
  inKeyring: z.literal(true).optional(),
  baseURL: z.string().optional(),
  model: z.string().optional(),
  at: z.number(),
});
const KeysFile = z.strictObject({ version: z.literal(1), providers: z.record(z.string(), Entry) });
type KeysFile = z.infer<typeof KeysFile>;

const NO_KEYS: KeysFile = { version: 1, providers: {} };

export interface KeysRead {
  readonly keys: StoredKeys;
  /** Of keys that are in the keyring and cannot be had: one line each, for the user. */
  readonly problems: readonly string[];
}

/** By home, for as long as its file stays the same: a keyring is slow, and may ask the user. */
const readBefore = new Map<string, { readonly stamp: string; readonly read: Promise<KeysRead> }>();

export const keysPath = (home: string): string => join(home, 'keys.json');

/** All that is stored. Throws UserError when the file is not as Odin wrote it. */
export function readStoredKeys(home: string): Promise<KeysRead> {
  const stamp = stampOf(home);
  const before = readBefore.get(home);
  if (before?.stamp === stamp) return before.read;
  const read = readAll(home);
  readBefore.set(home, { stamp, read });
  return read;
}

/** Has the scrubbers know what is in the file; the keyring is left alone. Throws UserError like reading. */
export function learnStoredKeys(home: string): void {
  for (const { key } of Object.values(fileOf(home).providers)) if (key !== undefined) learnSecret(key);
}

/** Names of the providers that have an entry, newest first. */
export const storedProviders = (home: string): readonly string[] =>
  Object.entries(fileOf(home).providers)
    .toSorted(([, a], [, b]) => b.at - a.at)
    .map(([name]) => name);

/** Keeps it in place of what was there. Returns where the key is now; null when there is none to keep. */
export async function storeKey(
  home: string,
  provider: string,
  { key, ...rest }: StoredKey,
  { keyring: wanted = true }: { readonly keyring?: boolean } = {},
): Promise<'keyring' | 'file' | null> {
  if (key !== undefined) learnSecret(key);
  const keyring = await openKeyring(home);
  const inKeyring = key !== undefined && wanted && (await keyring.set(provider, key));
  const secret = inKeyring ? { inKeyring } : key === undefined ? {} : { key };
  const { inKeyring: was } = fileOf(home).providers[provider] ?? {};
  await changeUserFile(keysPath(home), KeysFile, NO_KEYS, ({ version, providers }) => ({
    version,
    providers: { ...providers, [provider]: { ...secret, ...rest } },
  }));
  if (was === true && !inKeyring) await keyring.remove(provider);
  readBefore.delete(home);
  return key === undefined ? null : inKeyring ? 'keyring' : 'file';
}

/** Takes it away from both places. False when there was none. */
export async function removeKey(home: string, provider: string): Promise<boolean> {
  const entry = fileOf(home).providers[provider];
  if (entry === undefined) return false;
  await changeUserFile(keysPath(home), KeysFile, NO_KEYS, ({ version, providers }) => {
    const { [provider]: _, ...others } = providers;
    return { version, providers: others };
  });
  if (entry.inKeyring) await (await openKeyring(home)).remove(provider);
  readBefore.delete(home);
  return true;
}

async function readAll(home: string): Promise<KeysRead> {
  const keys: Record<string, StoredKey> = {};
  const problems: string[] = [];
  for (const [name, { inKeyring, key: plain, baseURL, model, at }] of Object.entries(fileOf(home).providers)) {
    const key = inKeyring ? await (await openKeyring(home)).get(name) : plain;
    if (key === null) {
      problems.push(
        `The key of ${name} is in the keyring, which does not give it. \`odin login ${name}\` stores it anew.`,
      );
      continue;
    }
    if (key !== undefined) learnSecret(key);
    keys[name] = {
      ...(key === undefined ? {} : { key }),
      ...(baseURL === undefined ? {} : { baseURL }),
      ...(model === undefined ? {} : { model }),
      at,
    };
  }
  return { keys, problems };
}

const fileOf = (home: string): KeysFile => readUserFile(keysPath(home), KeysFile, NO_KEYS);

function stampOf(home: string): string {
  const stat = statSync(keysPath(home), { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}
