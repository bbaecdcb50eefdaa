// The resolver of decide() over the real file system. A path that does not exist yet resolves as if it did.

import { lstatSync, readlinkSync } from 'node:fs';
import { type ResolvePath, resolveBy } from './facts.ts';

/** Resolves with the links that are on disk now; nothing is remembered between calls, so a later check sees later links. */
export const resolveOnDisk: ResolvePath = (path) => resolveBy(path, readLink);

function readLink(path: string): string | undefined {
  try {
    // lstat first: readlink throws for everything that is no link, which is nearly everything.
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}
