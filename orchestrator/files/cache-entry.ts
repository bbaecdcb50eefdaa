// One file in the cache (SPEC O7): whole, or segments of lines keyed "start-end". All of an entry is of one version of the file;
// a new version replaces it. Pure data and arithmetic: whether it still is what is on disk is the file cache's question.

import type { LineRange } from '../../shared/files-port.ts';
import { sha256 } from '../../shared/ids.ts';
import type { FileStamp } from './file-stamp.ts';
import { type Encoding, lineStarts } from './text-format.ts';

/** A version of a file: what is the same for all of its ranges. */
export interface FileVersion {
  /** sha256 of all its bytes. */
  readonly hash: string;
  readonly size: number;
  readonly totalLines: number;
  readonly encoding: Encoding;
  readonly stamp: FileStamp;
}

export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly hash: string;
  readonly bytes: number;
  readonly cachedAt: number;
}

export interface CacheEntry {
  readonly path: string;
  version: FileVersion;
  full: { readonly text: string; starts?: readonly number[] } | null;
  /** By "start-end", disjoint and never adjacent; oldest first. */
  readonly segments: Map<string, Segment>;
  bytes: number;
  cachedAt: number;
  lastAccessed: number;
  accessCount: number;
  /** Odin wrote it in this session, and it is not back to what it was. */
  isModified: boolean;
  /** Hash at the first read. */
  originalHash: string | null;
}

/** What an entry costs besides its text. */
export const ENTRY_OVERHEAD = 256;
const SEGMENT_OVERHEAD = 128;

/** The lines of a range, when they are cached; undefined when not all are. The range lies within the file. */
export function textOfRange(entry: CacheEntry, { start, end }: LineRange): string | undefined {
  if (entry.full) {
    if (start === 1 && end === entry.version.totalLines) return entry.full.text;
    entry.full.starts ??= lineStarts(entry.full.text);
    return linesOf(entry.full.text, entry.full.starts, start, end);
  }
  for (const segment of entry.segments.values()) {
    if (segment.start > start || segment.end < end) continue;
    if (segment.start === start && segment.end === end) return segment.text;
    return linesOf(segment.text, lineStarts(segment.text), start - segment.start + 1, end - segment.start + 1);
  }
  return undefined;
}

/** Lines `start` to `end` (1-based, inclusive) of a text whose line starts are known. */
export const linesOf = (text: string, starts: readonly number[], start: number, end: number): string =>
  text.slice(starts[start - 1] ?? text.length, starts[end] ?? text.length);

export function setFull(entry: CacheEntry, text: string, now: number): void {
  entry.full = { text };
  entry.segments.clear();
  entry.cachedAt = now;
  entry.bytes = ENTRY_OVERHEAD + entry.version.size;
}

/**
 * Adds lines, joined with the segments that overlap or touch them. When a file's lines are complete they become the full entry,
 * if `maxBytes` allows. Beyond `maxSegments` or `maxBytes` the oldest go, never the new one.
 */
export function addSegment(
  entry: CacheEntry,
  range: LineRange,
  text: string,
  limits: { readonly maxSegments: number; readonly maxBytes: number },
  now: number,
): void {
  if (entry.full) return;
  let { start, end } = range;
  let joined = text;
  let cachedAt = now;
  for (const [key, other] of entry.segments) {
    if (other.end < start - 1 || other.start > end + 1) continue;
    const starts = lineStarts(other.text);
    if (other.start < start) joined = linesOf(other.text, starts, 1, start - other.start) + joined;
    if (other.end > end) joined += linesOf(other.text, starts, end - other.start + 2, starts.length);
    start = Math.min(start, other.start);
    end = Math.max(end, other.end);
    // As old as its oldest lines, so that a time limit holds for all of them.
    cachedAt = Math.min(cachedAt, other.cachedAt);
    entry.segments.delete(key);
  }
  if (start === 1 && end === entry.version.totalLines && entry.version.size <= limits.maxBytes) {
    return setFull(entry, joined, cachedAt);
  }
  const bytes = SEGMENT_OVERHEAD + Buffer.byteLength(joined);
  entry.segments.set(`${start}-${end}`, { start, end, text: joined, hash: sha256(joined), bytes, cachedAt });
  entry.cachedAt = now;
  entry.bytes = ENTRY_OVERHEAD;
  for (const segment of entry.segments.values()) entry.bytes += segment.bytes;
  for (const [key, segment] of entry.segments) {
    if (entry.segments.size === 1 || (entry.segments.size <= limits.maxSegments && entry.bytes <= limits.maxBytes))
      break;
    entry.segments.delete(key);
    entry.bytes -= segment.bytes;
  }
}

/** What is cached, as ranges in the order of the file. */
export function rangesOf(entry: CacheEntry): readonly LineRange[] {
  if (entry.full) return entry.version.totalLines === 0 ? [] : [{ start: 1, end: entry.version.totalLines }];
  return [...entry.segments.values()].map(({ start, end }) => ({ start, end })).sort((a, b) => a.start - b.start);
}
