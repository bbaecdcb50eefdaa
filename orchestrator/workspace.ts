// Which folder Odin works on: the project's root (SPEC O23), by real path.

import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The nearest folder from `cwd` up that holds ODIN.md; else the one that holds .git; else `cwd`. Links resolved. */
export function findRoot(cwd: string): string {
  const start = realpathSync(cwd);
  return nearest(start, 'ODIN.md') ?? nearest(start, '.git') ?? start;
}

function nearest(start: string, name: string): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, name))) return folder;
    if (folder === dirname(folder)) return null;
  }
}
