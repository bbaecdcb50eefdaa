// One change of one file, from what is on disk now to what was asked (DURABILITY 12): plan it, keep both contents as blobs,
// journal the intent, replace. Shared by edit, write, undo, redo and resume. Knows neither the cache nor who read what.

import type { BlobPort, FileChange, FileIntent, Intend, ProposedChange } from '../../shared/files-port.ts';
import { fail, type Outcome, ok, UserError } from '../../shared/outcome.ts';
import { type AppliedEdits, applyEdits } from './apply-edits.ts';
import { type Replacement, replaceFile } from './atomic-write.ts';
import type { FileCache } from './file-cache.ts';
import type { FileStamp } from './file-stamp.ts';
import type { FolderSyncs } from './folder-syncs.ts';
import { lineDiff } from './line-diff.ts';
import { type DiskFile, readWhole } from './read-disk.ts';
import { decodeText, type Encoding, encodeText, lineEndingOf, lineStarts, withEnding } from './text-format.ts';

/** The largest file that can be changed at all: it is held in memory twice. */
export const MAX_CHANGED_BYTES = 100 * 1024 * 1024;

export interface CurrentFile {
  readonly disk: DiskFile;
  readonly text: string;
  readonly encoding: Encoding;
}

/** The file as it is on disk; null when there is none. */
export function readForChange(path: string): Outcome<DiskFile | null> {
  const disk = readWhole(path, MAX_CHANGED_BYTES);
  if (disk.ok || disk.failure.code !== 'not_found') return disk;
  return ok(null);
}

export function asText(path: string, disk: DiskFile | null): Outcome<CurrentFile | null> {
  if (!disk) return ok(null);
  const decoded = decodeText(disk.bytes, path);
  return decoded.ok ? ok({ disk, ...decoded.value }) : decoded;
}

export interface PlannedChange {
  readonly bytes: Buffer;
  readonly text: string;
  readonly encoding: Encoding;
  readonly places: AppliedEdits['places'];
}

/** What the file would hold after the change. Encoding and byte-order mark stay, and the line endings if they are uniform. */
export function planChange(path: string, current: CurrentFile | null, change: ProposedChange): Outcome<PlannedChange> {
  if ('content' in change) return planContent(path, current, change.content);
  if (!current) return fail('failed', 'not_found', `${path} does not exist. An edit cannot create it; use WriteFile.`);
  const applied = applyEdits(current.text, change.edits, path);
  if (!applied.ok) return applied;
  const bytes = encodeText(applied.value.text, current.encoding);
  if (!bytes) return fail('failed', 'encoding', cannotHold(path, current.encoding));
  return ok({ bytes, encoding: current.encoding, ...applied.value });
}

function planContent(path: string, current: CurrentFile | null, content: string): Outcome<PlannedChange> {
  const plain = content.startsWith('\ufeff') ? content.slice(1) : content;
  const ending = current && lineEndingOf(current.text);
  const text = ending === '\n' || ending === '\r\n' ? withEnding(plain, ending) : plain;
  const kept = current?.encoding ?? (plain === content ? 'utf8' : 'utf8-bom');
  const encoded = encodeText(text, kept);
  const encoding = encoded ? kept : 'utf8';
  const bytes = encoded ?? encodeText(text, encoding);
  if (!bytes) return fail('failed', 'encoding', cannotHold(path, encoding));
  return ok({ bytes, text, encoding, places: [] });
}

const cannotHold = (path: string, encoding: Encoding): string =>
  encoding === 'latin1'
    ? `${path} is not UTF-8 but a one-byte encoding, which cannot hold all of these characters. Use only characters up to U+00FF.`
    : 'The text holds half of a surrogate pair, which no file can hold. Send the whole character.';

export interface Move {
  readonly path: string;
  readonly before: DiskFile | null;
  readonly after: Buffer | null;
  /** Permission bits for a file that is made anew. */
  readonly mode?: number;
  readonly rebased: boolean;
}

export interface Moved {
  readonly change: FileChange;
  readonly stamp: FileStamp | undefined;
}

/** Does the change; undefined when the file was changed by somebody else in the meantime and nothing was done. */
export async function moveFile(
  move: Move,
  { blobs, syncs }: { readonly blobs: BlobPort; readonly syncs: FolderSyncs },
  intend: Intend,
): Promise<Outcome<Moved> | undefined> {
  const { path, before, after } = move;
  // Started at once: their fsyncs share a disk flush with that of the new file. A failure is met where it is awaited.
  const puts = Promise.all([before && blobs.put(before.bytes), after && blobs.put(after)]);
  puts.catch(() => {});
  let intent: FileIntent | undefined;
  const replacement: Replacement = {
    path,
    before,
    after,
    ...(move.mode === undefined ? {} : { mode: move.mode }),
    renamed: (folder) => syncs.begin(folder),
    async intend(mode, madeFolder) {
      const [beforeBlob, afterBlob] = await puts;
      const [beforeHash, afterHash] = [before?.hash ?? null, afterBlob?.sha256 ?? null];
      const made = madeFolder === undefined ? {} : { madeFolder };
      intent = { kind: 'file', path, beforeHash, afterHash, beforeBlob, afterBlob, mode, ...made };
      await intend({
        ...intent,
        beforeBlob: beforeBlob && { ...beforeBlob },
        afterBlob: afterBlob && { ...afterBlob },
      });
    },
  };
  // The difference is worked out while the disk is busy.
  const [replaced, diff] = await Promise.all([
    replaceFile(replacement).catch(refusedBlob),
    lineDiff(path, textFor(before?.bytes ?? null), textFor(after)),
  ]);
  if (!replaced.ok) return replaced;
  if (!replaced.value.done || !intent) return undefined;
  return ok({ change: { ...intent, ...diff, rebased: move.rebased }, stamp: replaced.value.stamp });
}

/** A blob store that cannot keep the contents says so in words; the file is as it was then. */
function refusedBlob(error: unknown): Outcome<never> {
  if (error instanceof UserError) return fail('failed', 'not_kept', `${error.message} The file was not changed.`);
  throw error;
}

/** For a diff only: whatever the bytes are, they are shown as text. */
export const textFor = (bytes: Buffer | null): string | null => bytes && bytes.toString('utf8');

/** The cache after a change: a full entry with all segments dropped (SPEC O16), or nothing when it cannot be vouched for. */
export function keepInCache(cache: FileCache, { change, stamp }: Moved, bytes: Buffer | null): void {
  const decoded = bytes && stamp && decodeText(bytes, change.path);
  if (!decoded?.ok || !bytes || !stamp || change.afterHash === null) return cache.drop(change.path);
  const { text, encoding } = decoded.value;
  const version = { hash: change.afterHash, size: bytes.length, totalLines: lineStarts(text).length, encoding, stamp };
  cache.storeFull(change.path, version, text, { over: change.beforeHash });
}
