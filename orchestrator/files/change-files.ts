// Several files changed as one (SPEC O19): what a remote agent made of its copy is put into the project whole or not at all. A file that
// somebody else has changed meanwhile is merged, where both changes fit. The write locks of all files are held while they are changed; the
// intent names them all, and what a crash has left halfway is finished, or taken back when it cannot be.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileIntent, Intend } from '../../shared/files-port.ts';
import { sha256 } from '../../shared/ids.ts';
import { cancelled, fail, type Outcome, ok } from '../../shared/outcome.ts';
import { git } from '../batch/git.ts';
import { tempNameFor } from './atomic-write.ts';
import { keepInCache, moveFile, readForChange } from './change-file.ts';
import type { Files } from './files.ts';
import { intentJson } from './files-intent.ts';
import type { DiskFile } from './read-disk.ts';
import { targetFile } from './target-file.ts';
import { keptBytes } from './undo.ts';

/** What a file was, where the change was made, and what it became. */
export interface WantedChange {
  /** Real and absolute. */
  readonly path: string;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly isExecutable: boolean;
}

export interface ChangedFiles {
  /** Those that are other than before. */
  readonly changes: readonly FileIntent[];
  /** Those of them that were merged with what somebody else did. */
  readonly merged: readonly string[];
}

interface Step {
  readonly path: string;
  /** As it is now. */
  readonly disk: DiskFile | null;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly mode: number;
  readonly isMerged: boolean;
}

/** All of them or none. `intend` is awaited with what is to become of all files right before the first one changes. */
export async function changeFiles(
  files: Files,
  wanted: readonly WantedChange[],
  intend: Intend,
  signal: AbortSignal,
): Promise<Outcome<ChangedFiles>> {
  const sorted = wanted.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  try {
    return await withLocks(
      files,
      sorted.map(({ path }) => path),
      async () => {
        const steps: Step[] = [];
        const conflicts: string[] = [];
        for (const one of sorted) {
          const step = await stepOf(files, one);
          if (!step.ok) conflicts.push(step.failure.message);
          else if (step.value) steps.push(step.value);
        }
        if (conflicts.length > 0) {
          return fail('failed', 'conflict', `Nothing was changed. ${conflicts.join(' ')}`);
        }
        const changes = await Promise.all(steps.map((step) => intentOf(files, step)));
        if (changes.length === 0) return ok({ changes, merged: [] });
        await intend(intentJson(changes));
        const done = await perform(files, steps);
        if (!done.ok) return done;
        return ok({ changes, merged: steps.filter(({ isMerged }) => isMerged).map(({ path }) => path) });
      },
      signal,
    );
  } catch (error) {
    if (signal.aborted && error === signal.reason) return cancelled();
    throw error;
  }
}

/** One after the other, in the order of their names: two that want the same files never wait for each other. */
function withLocks<T>(
  files: Files,
  paths: readonly string[],
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const [first, ...rest] = paths;
  if (first === undefined) return work();
  return files.locks.with(first, 'write', () => withLocks(files, rest, work, signal), signal);
}

/** What is to be done to one file; null: it is already as it should be. */
async function stepOf(
  files: Files,
  { path, before, after, isExecutable }: WantedChange,
): Promise<Outcome<Step | null>> {
  const target = targetFile(path, files.root, true);
  if (!target.ok) return target;
  if (target.value.real !== path) return fail('failed', 'conflict', `${path} leads to ${target.value.real} by now.`);
  const disk = readForChange(path);
  if (!disk.ok) return disk;
  const current = disk.value?.bytes ?? null;
  const mode = disk.value?.mode ?? (isExecutable ? 0o755 : 0o644);
  if (same(current, after)) return ok(null);
  const step = { path, disk: disk.value, before: current, mode };
  if (same(current, before)) return ok({ ...step, after, isMerged: false });
  const merged = current && before && after ? await merge(current, before, after) : null;
  if (merged) return ok(same(current, merged) ? null : { ...step, after: merged, isMerged: true });
  const what = current === null ? 'was deleted' : before === null ? 'was made' : 'was changed';
  return fail('failed', 'conflict', `${path} ${what} here meanwhile, and that does not fit what the agent did to it.`);
}

const same = (a: Buffer | null, b: Buffer | null): boolean => (a === null || b === null ? a === b : a.equals(b));

/** Both changes in one text; null when they touch the same lines, or it is no text. */
async function merge(ours: Buffer, base: Buffer, theirs: Buffer): Promise<Buffer | null> {
  if ([ours, base, theirs].some((bytes) => bytes.includes(0) || !bytes.equals(Buffer.from(bytes.toString('utf8'))))) {
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), 'odin-merge-'));
  try {
    for (const [name, bytes] of Object.entries({ ours, base, theirs })) writeFileSync(join(folder, name), bytes);
    const run = await git(folder, ['merge-file', '--quiet', '-p', 'ours', 'base', 'theirs']);
    return run.code === 0 ? Buffer.from(run.stdout) : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function intentOf({ blobs }: Files, { path, disk, after, mode }: Step): Promise<FileIntent> {
  const [beforeBlob, afterBlob] = await Promise.all([disk && blobs.put(disk.bytes), after && blobs.put(after)]);
  const [beforeHash, afterHash] = [disk?.hash ?? null, after && sha256(after)];
  return { kind: 'file', path, beforeHash, afterHash, beforeBlob, afterBlob, mode };
}

/** When one of them cannot be changed, those before it are taken back. */
async function perform(files: Files, steps: readonly Step[]): Promise<Outcome<null>> {
  const done: Step[] = [];
  for (const step of steps) {
    const { path, disk, after, mode, isMerged } = step;
    const moved = await moveFile({ path, before: disk, after, mode, rebased: isMerged }, files, () =>
      Promise.resolve(),
    );
    if (moved?.ok) {
      keepInCache(files.cache, moved.value, after);
      done.push(step);
      continue;
    }
    const why = moved ? moved.failure.message : `${path} is being changed by somebody else.`;
    const stuck = await takeBack(files, done);
    const left = stuck.length === 0 ? 'Nothing was changed.' : `It could not be taken back: ${stuck.join(', ')}.`;
    return fail('failed', 'conflict', `${why} ${left}`);
  }
  return ok(null);
}

/** The paths that are neither as they were nor to be made so. */
async function takeBack(files: Files, done: readonly Step[]): Promise<readonly string[]> {
  const stuck: string[] = [];
  for (const { path, before, after, mode } of done.toReversed()) {
    const now = readForChange(path);
    if (!now.ok || !same(now.value?.bytes ?? null, after)) {
      stuck.push(path);
      continue;
    }
    const back = { path, before: now.value, after: before, mode, rebased: false };
    const moved = await moveFile(back, files, () => Promise.resolve());
    if (moved?.ok) keepInCache(files.cache, moved.value, before);
    else stuck.push(path);
  }
  return stuck;
}

/** After a crash between the intent and the result: the rest is done, or, when a file is not what it was, what was done is taken back. */
export async function resumeChanges(files: Files, changes: readonly FileIntent[]): Promise<Outcome<ChangedFiles>> {
  const sorted = changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return withLocks(
    files,
    sorted.map(({ path }) => path),
    async () => {
      const steps: (Step & { readonly isDone: boolean; readonly fits: boolean })[] = [];
      for (const { path, beforeHash, afterHash, beforeBlob, afterBlob, mode } of sorted) {
        rmSync(tempNameFor(path), { force: true });
        const disk = readForChange(path);
        const [before, after] = await Promise.all([keptBytes(files, beforeBlob), keptBytes(files, afterBlob)]);
        if (!disk.ok) return disk;
        if (!before.ok) return before;
        if (!after.ok) return after;
        const now = disk.value?.hash ?? null;
        const isDone = now === afterHash;
        const sides = { before: before.value, after: after.value };
        steps.push({
          path,
          disk: disk.value,
          ...sides,
          mode,
          isMerged: false,
          isDone,
          fits: isDone || now === beforeHash,
        });
      }
      const done = steps.filter(({ isDone }) => isDone);
      const odd = steps.filter(({ fits }) => !fits);
      const todo = steps.filter(({ isDone }) => !isDone);
      const rest = odd.length > 0 ? null : await perform(files, todo);
      if (rest?.ok) return ok({ changes: sorted, merged: [] });
      const stuck = await takeBack(files, done);
      const left =
        stuck.length === 0 ? 'What was done was taken back.' : `It could not be taken back: ${stuck.join(', ')}.`;
      const why = rest
        ? `could not go on: ${rest.failure.message}`
        : `meanwhile ${odd.map(({ path }) => path).join(', ')} changed.`;
      return fail('failed', 'conflict', `Odin was interrupted while it changed these files, and ${why} ${left}`);
    },
  );
}
