// The file that a path means, or why it means none.

import type { LineRange, ResolvedPath } from '../../shared/files-port.ts';
import { fail, type Outcome } from '../../shared/outcome.ts';
import { fileFailure } from './failures.ts';
import { resolvePath } from './resolve-path.ts';

/** Resolves to a regular file; with `orMissing`, also to one that does not exist yet. */
export function targetFile(path: string, root: string, orMissing: boolean): Outcome<ResolvedPath> {
  const target = resolvePath(path, root);
  if (!target.ok) return target;
  const { real, kind } = target.value;
  if (kind === 'file' || (kind === 'missing' && orMissing)) return target;
  if (kind === 'other') {
    return fail(
      'failed',
      'not_a_file',
      `${real} is a device, pipe or socket, not a file. Only files can be read or written.`,
    );
  }
  return fileFailure(real, { code: kind === 'directory' ? 'EISDIR' : 'ENOENT' });
}

/** A range within a file of so many lines; undefined when it begins behind the end. */
export function clipRange(range: LineRange | undefined, totalLines: number): LineRange | undefined {
  if (!range || totalLines === 0) return { start: 1, end: totalLines };
  if (range.start > totalLines) return undefined;
  return { start: range.start, end: Math.min(range.end, totalLines) };
}

export function refuseRange(range: LineRange | undefined): Outcome<never> | undefined {
  if (
    !range ||
    (Number.isSafeInteger(range.start) &&
      Number.isSafeInteger(range.end) &&
      range.start >= 1 &&
      range.end >= range.start)
  ) {
    return undefined;
  }
  const message = `${range.start}-${range.end} is not a range of lines. Lines count from 1, and the end is not before the start.`;
  return fail('invalid', 'bad_range', message);
}

export const beyondEnd = (path: string, totalLines: number): Outcome<never> =>
  fail('invalid', 'bad_range', `${path} has only ${totalLines} lines. Ask for a range within 1-${totalLines}.`);
