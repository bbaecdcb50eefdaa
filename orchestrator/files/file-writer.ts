// The changing half of a FilesPort (DURABILITY 12): edits go on what is on disk now, a whole-file write only on the version that
// was read. The path's write lock is held around the commit alone; who loses a race to somebody outside starts over.

import type {
  ChangePreview,
  FileChange,
  FilesPort,
  Intend,
  LineRange,
  ProposedChange,
} from '../../shared/files-port.ts';
import { cancelled, type Failure, fail, type Outcome, ok } from '../../shared/outcome.ts';
import { type CacheEntry, rangesOf } from './cache-entry.ts';
import { asText, keepInCache, moveFile, type PlannedChange, planChange, readForChange } from './change-file.ts';
import type { Files } from './files.ts';
import { insist } from './insist.ts';
import { lineDiff } from './line-diff.ts';
import type { DiskFile } from './read-disk.ts';
import type { SeenVersions } from './seen-versions.ts';
import { targetFile } from './target-file.ts';
import { lineStarts } from './text-format.ts';

/** A file up to this many lines is asked for whole. */
const WHOLE_LINES = 2_000;

interface Plan extends PlannedChange {
  readonly disk: DiskFile | null;
  readonly before: string | null;
  readonly rebased: boolean;
}

export function createWriter(files: Files, seen: SeenVersions): Pick<FilesPort, 'preview' | 'edit' | 'write'> {
  const { root, cache, locks } = files;

  /** What must hold before a change, and what the file would be after it. */
  function plan(path: string, change: ProposedChange): Outcome<Plan> {
    const disk = readForChange(path);
    if (!disk.ok) return disk;
    const current = asText(path, disk.value);
    if (!current.ok) return current;
    const known = seen.of(path) ?? ('edits' in change ? cache.fresh(path)?.version.hash : undefined);
    const rebased = known !== undefined && known !== disk.value?.hash;
    if (disk.value && known === undefined) return notRead(path, lineStarts(current.value?.text ?? '').length, change);
    if (!disk.value && rebased && 'edits' in change) return vanished(path);
    if (disk.value && rebased && 'content' in change) return changedSince(path);
    const planned = planChange(path, current.value, change);
    if (!planned.ok) return rebased ? conflict(path, planned.failure) : planned;
    return ok({
      ...planned.value,
      disk: disk.value,
      before: current.value?.text ?? null,
      rebased: rebased && disk.value !== null,
    });
  }

  /** Undefined: somebody outside changed the file while this was at work, and nothing was done. */
  async function changeOnce(
    path: string,
    change: ProposedChange,
    intend: Intend,
  ): Promise<Outcome<FileChange> | undefined> {
    const planned = plan(path, change);
    if (!planned.ok) {
      // The next read shall see what this one met, also when reads trust the cache.
      if (planned.failure.code === 'conflict' || planned.failure.code === 'vanished') cache.drop(path);
      return planned;
    }
    const { disk, bytes, rebased } = planned.value;
    if (disk?.bytes.equals(bytes)) return ok(unchanged(path, disk));
    const moved = await moveFile({ path, before: disk, after: bytes, rebased }, files, intend);
    if (!moved?.ok) return moved;
    keepInCache(cache, moved.value, bytes);
    const { change: made } = moved.value;
    // After a rebased edit the agent still has not seen what the others changed.
    if (made.afterHash && !rebased) seen.wrote(path, made.afterHash);
    return ok(made);
  }

  async function change(
    path: string,
    proposed: ProposedChange,
    intend: Intend,
    signal?: AbortSignal,
  ): Promise<Outcome<FileChange>> {
    const target = targetFile(path, root, true);
    if (!target.ok) return target;
    const { real } = target.value;
    const work = async (): Promise<Outcome<FileChange>> =>
      (await insist(() => changeOnce(real, proposed, intend), signal)) ?? (signal?.aborted ? cancelled() : busy(real));
    try {
      return await locks.with(real, 'write', work, signal);
    } catch (error) {
      if (signal?.aborted && error === signal.reason) return cancelled();
      throw error;
    }
  }

  return {
    async preview(path, proposed) {
      const target = targetFile(path, root, true);
      if (!target.ok) return target;
      const { real } = target.value;
      const planned = plan(real, proposed);
      if (!planned.ok) return planned;
      const { diff } = await lineDiff(real, planned.value.before, planned.value.text);
      return ok(previewOf(real, planned.value, cache.fresh(real), diff));
    },
    edit: (path, edits, intend, signal) => change(path, { edits }, intend, signal),
    write: (path, content, intend, signal) => change(path, { content }, intend, signal),
  };
}

function previewOf(path: string, plan: Plan, entry: CacheEntry | undefined, diff: string): ChangePreview {
  const totalLines = plan.before === null ? 0 : lineStarts(plan.before).length;
  const current = entry && entry.version.hash === plan.disk?.hash ? entry : undefined;
  const known = current ? (current.full ? 'full' : 'segments') : plan.rebased ? 'stale' : 'none';
  const ranges = current ? rangesOf(current) : [];
  const segments = known === 'segments' && current ? [...current.segments.values()] : [];
  return {
    path,
    exists: plan.disk !== null,
    totalLines,
    known,
    segments: segments.map(({ start, end, text }) => ({ start, end, text })),
    places: plan.places.map((place) => ({ ...place, margin: marginOf(place, ranges, totalLines) })),
    diff,
  };
}

function marginOf(place: LineRange, ranges: readonly LineRange[], totalLines: number): number | null {
  const range = ranges.find(({ start, end }) => start <= place.start && place.end <= end);
  if (!range) return null;
  const above = range.start === 1 ? totalLines : place.start - range.start;
  const below = range.end === totalLines ? totalLines : range.end - place.end;
  return Math.min(above, below);
}

function unchanged(path: string, disk: DiskFile): FileChange {
  const { hash, mode } = disk;
  const nothing = { beforeBlob: null, afterBlob: null, added: 0, removed: 0, diff: '', rebased: false };
  return { kind: 'file', path, beforeHash: hash, afterHash: hash, mode, ...nothing };
}

function notRead(path: string, lines: number, change: ProposedChange) {
  const whole = lines <= WHOLE_LINES || 'content' in change;
  const what = whole
    ? `it (lines 1-${Math.max(lines, 1)})`
    : `the lines around the change (it has ${lines} lines, e.g. 1-${WHOLE_LINES})`;
  const why =
    'content' in change ? 'It exists, and writing it whole replaces what is in it' : 'An edit needs the exact text';
  return fail('failed', 'not_read', `${path} has not been read. ${why}. Read ${what} first, then call again.`);
}

const vanished = (path: string) =>
  fail(
    'failed',
    'vanished',
    `${path} was read but does not exist any more. Find out what became of it before you write it anew.`,
  );

const changedSince = (path: string) =>
  fail(
    'failed',
    'conflict',
    `${path} is not the version that you read: somebody changed it since. Nothing was written. Read the whole file again and make ` +
      'your change on that, or use EditTool.',
  );

const conflict = (path: string, cause: Failure) =>
  fail(
    'failed',
    cause.code === 'encoding' ? cause.code : 'conflict',
    `${path} was changed by somebody else since you read it, and the edit does not fit what it is now. ${cause.message} ` +
      'Read the file again before the next try.',
    cause.details === undefined ? {} : { details: cause.details },
  );

const busy = (path: string) =>
  fail(
    'failed',
    'conflict',
    `${path} is being changed by somebody else all the time. Nothing was changed; try again later.`,
  );
