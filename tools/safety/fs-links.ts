// The resolver of decide() over the real file system. A path that does not exist yet resolves as if it did.

import { readlinkSync } from 'node:fs';
import { type ResolvePath, resolveBy } from './facts.ts';

/** Resolves with the links that are on disk now; nothing is remembered between calls, so a later check sees later links. */
export const resolveOnDisk: ResolvePath = (path) => resolveBy(path, readLink);

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
