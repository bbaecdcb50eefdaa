// Makes a folder and those above it. Node's own `recursive` tries for ever where a parent is there and the system still says ENOENT: below
// /proc, and where an automounter knows nothing of that name.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Returns the first folder that it had to make. Throws what mkdir says. */
export function makeFolders(folder: string, mode?: number): string | undefined {
  const missing: string[] = [];
  for (let path = folder; !existsSync(path) && dirname(path) !== path; path = dirname(path)) missing.push(path);
  for (const path of missing.toReversed()) makeOne(path, mode);
  return missing.at(-1);
}

function makeOne(path: string, mode: number | undefined): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Somebody else has made it meanwhile, or a link leads nowhere.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}
