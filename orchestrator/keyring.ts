// The desktop's keyring (Keychain, Credential Manager, Secret Service), where there is one that works: on a machine without a desktop every
// call says no, and the caller keeps the key in a file. Not Linux' kernel keyring: it forgets with a restart.

export interface Keyring {
  /** Null when it has none, or does not answer. */
  get(provider: string): Promise<string | null>;
  /** False when it cannot be kept here. */
  set(provider: string, key: string): Promise<boolean>;
  remove(provider: string): Promise<void>;
}

const SERVICE = 'odin';
/** It may ask the user to unlock it. */
const WAIT_MS = 60_000;

/** Entries belong to a home, so that two of them do not share one. */
export async function openKeyring(home: string): Promise<Keyring> {
  const entryOf = async (provider: string) => {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    return new AsyncEntry(SERVICE, `${provider} ${home}`, { linux: { store: 'secret-service' } });
  };
  return {
    async get(provider) {
      try {
        return (await (await entryOf(provider)).getPassword(limit())) ?? null;
      } catch {
        return null;
      }
    },
    async set(provider, key) {
      try {
        const entry = await entryOf(provider);
        await entry.setPassword(key, limit());
        // What cannot be read back is not kept.
        return (await entry.getPassword(limit())) === key;
      } catch {
        return false;
      }
    },
    async remove(provider) {
      try {
        await (await entryOf(provider)).deletePassword(limit());
      } catch {
        // The file no longer names it, so nobody asks for it.
      }
    },
  };
}

const limit = (): AbortSignal => AbortSignal.timeout(WAIT_MS);
