// The reading half of a FilesPort: from the cache without a lock when it can answer, else from disk under the path's read lock.
// The cache mirrors what was read (SPEC O7): whole files as full entries, ranges and search results as segments.

import type { FilesPort, FileView, LineRange } from '../../shared/files-port.ts';
import { type Outcome, ok } from '../../shared/outcome.ts';
import { type FileVersion, linesOf, textOfRange } from './cache-entry.ts';
import type { Files } from './files.ts';
import { readWhole, scanRange } from './read-disk.ts';
import type { SeenVersions } from './seen-versions.ts';
import { beyondEnd, clipRange, refuseRange, targetFile } from './target-file.ts';
import { decodeText, lineStarts } from './text-format.ts';

export function createReader(files: Files, seen: SeenVersions): Pick<FilesPort, 'read' | 'remember'> {
  const { root, cache, config, locks } = files;

  function fromCache(path: string, range: LineRange | undefined): FileView | undefined {
    const entry = cache.fresh(path);
    if (!entry) return undefined;
    const lines = clipRange(range, entry.version.totalLines);
    const text = lines && textOfRange(entry, lines);
    if (!lines || text === undefined) return undefined;
    cache.touch(path, entry);
    seen.read(path, entry.version, isWhole(lines, entry.version));
    return viewOf(path, entry.version, lines, text, true);
  }

  async function fromDisk(path: string, range: LineRange | undefined): Promise<Outcome<FileView>> {
    cache.touch(path, undefined);
    const loaded = loadText(path, config.maxFileBytes);
    if (!loaded.ok) return range && loaded.failure.code === 'too_large' ? fromLargeFile(path, range) : loaded;
    const { version, text, starts } = loaded.value;
    const lines = clipRange(range, version.totalLines);
    if (!lines) return beyondEnd(path, version.totalLines);
    const part = linesOf(text, starts, lines.start, lines.end);
    if (isWhole(lines, version)) cache.storeFull(path, version, text);
    else cache.storeSegment(path, version, lines, part);
    seen.read(path, version, isWhole(lines, version));
    return ok(viewOf(path, version, lines, part, false));
  }

  async function fromLargeFile(path: string, range: LineRange): Promise<Outcome<FileView>> {
    const scan = await scanRange(path, range, config.maxFileBytes, cache.versionOf(path));
    if (!scan.ok) return scan;
    const { version, range: lines, bytes } = scan.value;
    if (lines.end < lines.start) return beyondEnd(path, version.totalLines);
    const decoded = decodeText(bytes, path);
    if (!decoded.ok) return decoded;
    cache.storeSegment(path, version, lines, decoded.value.text);
    seen.read(path, version, false);
    return ok(viewOf(path, version, lines, decoded.value.text, false));
  }

  /** Keeps what is on disk right now as it was shown: a search may be older than the file. */
  function keepLines(path: string, shown: readonly { readonly line: number; readonly text: string }[]): string | null {
    const known = cache.fresh(path);
    if (known?.full) {
      seen.read(path, known.version, false);
      return known.version.hash;
    }
    const loaded = loadText(path, config.maxFileBytes);
    if (!loaded.ok) return null;
    const { version, text, starts } = loaded.value;
    const isThere = (shownLine: { line: number; text: string }): boolean =>
      shownLine.line >= 1 && bare(linesOf(text, starts, shownLine.line, shownLine.line)) === bare(shownLine.text);
    const lines = shown.filter((line) => line.line <= version.totalLines && isThere(line)).map(({ line }) => line);
    for (const range of runsOf(lines)) {
      cache.storeSegment(path, version, range, linesOf(text, starts, range.start, range.end));
      seen.read(path, version, isWhole(range, version));
    }
    return lines.length > 0 ? version.hash : null;
  }

  return {
    async read(path, range) {
      const target = refuseRange(range) ?? targetFile(path, root, false);
      if (!target.ok) return target;
      const { real } = target.value;
      const hit = fromCache(real, range);
      if (hit) return ok(hit);
      return locks.with(real, 'read', () => fromDisk(real, range));
    },
    async remember(path, lines) {
      const target = targetFile(path, root, false);
      if (!target.ok || lines.length === 0) return null;
      const { real } = target.value;
      return locks.with(real, 'read', async () => keepLines(real, lines));
    },
  };
}

interface LoadedText {
  readonly version: FileVersion;
  readonly text: string;
  readonly starts: readonly number[];
}

function loadText(path: string, maxBytes: number): Outcome<LoadedText> {
  const disk = readWhole(path, maxBytes);
  if (!disk.ok) return disk;
  const { bytes, hash, stamp } = disk.value;
  const decoded = decodeText(bytes, path);
  if (!decoded.ok) return decoded;
  const { text, encoding } = decoded.value;
  const starts = lineStarts(text);
  return ok({ version: { hash, size: bytes.length, totalLines: starts.length, encoding, stamp }, text, starts });
}

const isWhole = (lines: LineRange, version: FileVersion): boolean =>
  lines.start === 1 && lines.end === version.totalLines;

function viewOf(path: string, version: FileVersion, lines: LineRange, text: string, fromCache: boolean): FileView {
  const { totalLines, size, hash } = version;
  return { path, startLine: lines.start, endLine: lines.end, totalLines, size, text, fromCache, version: hash };
}

const bare = (line: string): string => line.replace(/\r?\n$/, '').replace(/^\ufeff/, '');

/** Line numbers as runs without gaps. */
function runsOf(lines: readonly number[]): readonly LineRange[] {
  const runs: { start: number; end: number }[] = [];
  for (const line of [...new Set(lines)].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last?.end === line - 1) last.end = line;
    else runs.push({ start: line, end: line });
  }
  return runs;
}
