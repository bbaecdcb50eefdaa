// What the system says about a file, in words that tell what to do. One table for reading and writing.

import { type Failure, fail } from '../../shared/outcome.ts';

type Failed = { readonly ok: false; readonly failure: Failure };

const WORDS: Readonly<Record<string, readonly [code: string, message: string]>> = {
  ENOENT: ['not_found', 'does not exist. Look for the right path with Glob or LS.'],
  ENOTDIR: ['not_found', 'cannot exist: a part of its path is a file, not a folder. Check the path with LS.'],
  EISDIR: ['is_directory', 'is a folder. Name a file in it, or list it with LS.'],
  EACCES: ['permission', 'is not accessible: permission denied. Tell the user; do not change permissions on your own.'],
  EPERM: ['permission', 'is not accessible: operation not permitted. Tell the user.'],
  ELOOP: ['loop', 'is a symbolic link that leads in a circle, or became a link just now. Use another path.'],
  ENAMETOOLONG: ['bad_path', 'has a name that is too long for the file system. Use a shorter one.'],
  EROFS: ['read_only', 'is on a read-only file system and cannot be changed. Tell the user.'],
  ENOSPC: ['disk_full', 'was not written: the disk is full. The file is as it was. Tell the user to free space.'],
  EDQUOT: ['disk_full', 'was not written: the disk quota is used up. The file is as it was. Tell the user.'],
  EFBIG: ['disk_full', 'was not written: the file would be larger than the system allows. The file is as it was.'],
  EMFILE: ['too_many_files', 'was not opened: too many files are open. Try again.'],
};

/** A thrown system error as a failure. Anything without an errno code is a bug and is thrown on. */
export function fileFailure(path: string, error: unknown): Failed {
  const code = (error as NodeJS.ErrnoException).code;
  if (typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code)) throw error;
  const [name, message] = WORDS[code] ?? ['io_error', `failed with ${code}: ${(error as Error).message}`];
  return fail('failed', name, `${path} ${message}`);
}
