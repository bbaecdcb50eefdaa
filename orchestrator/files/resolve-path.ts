// Where a path really leads (SPEC O23, SAFETY R4, 2.5): left to right as the kernel does, a link before the `..` behind it. Of a
// path that does not exist yet, also behind a dangling link, it says where the file would come to be. Judging is path-policy's.

import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import type { ResolvedPath } from '../../shared/files-port.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { fileFailure } from './failures.ts';

/** SAFETY R0 for paths: control, non-ASCII space, zero-width, bidirectional and tag characters, and lone surrogates. */
const UNREADABLE =
  /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u115f\u1160\u3164\uffa0]/u;
const MAX_LINKS = 40;

/** `root` must be a real path. Relative paths start there. */
export function resolvePath(path: string, root: string): Outcome<ResolvedPath> {
  if (path === '') return fail('invalid', 'bad_path', 'The path is empty. Give an absolute path.');
  if (UNREADABLE.test(path)) {
    return fail(
      'invalid',
      'bad_path',
      `The path ${JSON.stringify(path)} holds a control or invisible character, or an unusual space. Type it again without.`,
    );
  }
  // Not path.resolve: it would take `link/..` away before the link is followed.
  const absolute = isAbsolute(path) ? path : `${root}/${path}`;
  try {
    const found = existing(absolute, root) ?? walk(absolute, root);
    return found ?? fail('failed', 'not_found', `${path} cannot be reached: a folder before ".." does not exist.`);
  } catch (error) {
    return fileFailure(path, error);
  }
}

/** Whole components: /srv/app2 is not inside /srv/app. */
export const isInside = (real: string, root: string): boolean =>
  real === root || real.startsWith(root === '/' ? root : `${root}/`);

const kindOf = (stats: Stats): ResolvedPath['kind'] =>
  stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';

const resolved = (real: string, root: string, kind: ResolvedPath['kind']): Outcome<ResolvedPath> =>
  ok({ real, inside: isInside(real, root), kind });

function existing(absolute: string, root: string): Outcome<ResolvedPath> | undefined {
  let real: string;
  try {
    real = realpathSync.native(absolute);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const stats = statSync(real, { throwIfNoEntry: false });
  return resolved(real, root, stats ? kindOf(stats) : 'missing');
}

/** The same, component by component, for what realpath cannot name because it is not there. */
function walk(absolute: string, root: string): Outcome<ResolvedPath> | undefined {
  const rest = absolute.split('/').reverse();
  let here = '/';
  let links = 0;
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      here = dirname(here);
      continue;
    }
    const next = here === '/' ? `/${part}` : `${here}/${part}`;
    const stats = lstatSync(next, { throwIfNoEntry: false });
    if (!stats) {
      const tail = rest.reverse().filter((name) => name !== '' && name !== '.');
      return tail.includes('..') ? undefined : resolved([next, ...tail].join('/'), root, 'missing');
    }
    if (!stats.isSymbolicLink()) {
      here = next;
      continue;
    }
    if (++links > MAX_LINKS) throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
    const target = readlinkSync(next);
    if (target.startsWith('/')) here = '/';
    rest.push(...target.split('/').reverse());
  }
  return resolved(here, root, kindOf(statSync(here)));
}
