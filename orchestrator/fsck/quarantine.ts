// Where `odin fsck --repair` puts what it takes away: <home>/quarantine/DATE/…, under the path it had. Nothing that cannot be made
// again is ever deleted.

import { mkdir, rename } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

export type Quarantine = (path: string) => Promise<string>;

/** `stamp` names the run. The mover returns what it did, in words. */
export function openQuarantine(home: string, stamp: string): Quarantine {
  return async (path) => {
    const target = join(home, 'quarantine', stamp, relative(home, path));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await rename(path, target);
    return `moved to ${target}`;
  };
}
