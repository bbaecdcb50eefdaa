// Which version of each file one agent goes by. It is what makes a whole-file write compare-and-swap and an edit "rebased".

import type { FileVersion } from './cache-entry.ts';

export interface SeenVersions {
  /** Hash of the version, by real path. */
  of(path: string): string | undefined;
  /** The agent was shown lines of this version. */
  read(path: string, version: FileVersion, whole: boolean): void;
  /** The agent wrote this version, and knew the one before. */
  wrote(path: string, hash: string): void;
}

/** `known`: what the agent has seen before, in another process. */
export function createSeenVersions(maxFileBytes: number, known: Readonly<Record<string, string>> = {}): SeenVersions {
  const seen = new Map(Object.entries(known));
  return {
    of: (path) => seen.get(path),
    read(path, version, whole) {
      // A part of a newer version leaves the rest as the agent knew it; only a whole reading brings it up to date. A file that
      // cannot be read whole is an exception, or it could never be written again.
      if (whole || version.size > maxFileBytes || !seen.has(path)) seen.set(path, version.hash);
    },
    wrote: (path, hash) => void seen.set(path, hash),
  };
}
