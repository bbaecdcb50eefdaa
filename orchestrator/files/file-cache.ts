// The cache of file contents (SPEC O7): what is kept, for how long, and whether it is still what is on disk. Nothing is handed
// out unchecked: each hit is compared with the file's stat tuple, and its hash when the tuple differs or proves nothing.
// Reading the disk to fill it is files.ts's work. All of it is synchronous, so a hit needs no lock.

import { lstatSync } from 'node:fs';
import type { LineRange } from '../../shared/files-port.ts';
import type { CachedFileInfo } from '../../shared/state.ts';
import { addSegment, type CacheEntry, ENTRY_OVERHEAD, type FileVersion, rangesOf, setFull } from './cache-entry.ts';
import { sameStamp } from './file-stamp.ts';
import { readWhole } from './read-disk.ts';

export interface FileCacheConfig {
  readonly maxBytes: number;
  /** A larger file is cached in segments only, together no more than this. */
  readonly maxFileBytes: number;
  readonly maxEntries: number;
  readonly maxSegments: number;
  /** 0: entries do not expire. */
  readonly ttlMs: number;
  /** hybrid: unmodified before modified, then the least recently used. */
  readonly eviction: 'lru' | 'lfu' | 'hybrid';
  /** False: reads trust the cache without asking the disk, until a conflict. Changes always ask. */
  readonly enableAutoRefresh: boolean;
}

export const DEFAULT_FILE_CACHE: FileCacheConfig = {
  maxBytes: 100 * 1024 * 1024,
  maxFileBytes: 10 * 1024 * 1024,
  maxEntries: 500,
  maxSegments: 50,
  ttlMs: 0,
  eviction: 'hybrid',
  enableAutoRefresh: true,
};

export interface FileCacheStats {
  readonly entries: number;
  readonly bytes: number;
  readonly hits: number;
  readonly segmentHits: number;
  readonly misses: number;
  readonly evictions: number;
  /** Hits whose stat tuple did not prove them, so that the file was hashed. */
  readonly rehashes: number;
  /** Entries found to be out of date. */
  readonly refreshes: number;
}

export interface FileCache {
  /** The entry of a real path if it holds anything and that is still what is on disk. */
  fresh(path: string): CacheEntry | undefined;
  /** Counts an access that was answered by the entry, or was not. */
  touch(path: string, entry: CacheEntry | undefined): void;
  /** `written`: by Odin, over this hash, not read. A text over the limit of a file is not kept. */
  storeFull(path: string, version: FileVersion, text: string, written?: { readonly over: string | null }): void;
  storeSegment(path: string, version: FileVersion, range: LineRange, text: string): void;
  /** What is known of the version of a file too large to be cached whole, checked by its reader. */
  versionOf(path: string): FileVersion | undefined;
  drop(path: string): void;
  info(entry: CacheEntry): CachedFileInfo;
  list(): readonly CachedFileInfo[];
  stats(): FileCacheStats;
}

export function createFileCache(config: FileCacheConfig, now: () => number = Date.now): FileCache {
  /** In the order of use, the least recently used first. */
  const entries = new Map<string, CacheEntry>();
  const count = { bytes: 0, hits: 0, segmentHits: 0, misses: 0, evictions: 0, rehashes: 0, refreshes: 0 };
  const limits = { maxSegments: config.maxSegments, maxBytes: config.maxFileBytes };

  function resize(entry: CacheEntry, change: () => void): void {
    count.bytes -= entry.bytes;
    change();
    count.bytes += entry.bytes;
  }

  function drop(path: string): void {
    const entry = entries.get(path);
    if (!entry) return;
    entries.delete(path);
    count.bytes -= entry.bytes;
  }

  /** Forgets the content and keeps the history (originalHash, isModified, counts) for the next version. */
  function empty(entry: CacheEntry): void {
    resize(entry, () => {
      entry.full = null;
      entry.segments.clear();
      entry.bytes = ENTRY_OVERHEAD;
    });
  }

  function expire(entry: CacheEntry): void {
    if (config.ttlMs === 0) return;
    const oldest = now() - config.ttlMs;
    if (entry.full && entry.cachedAt < oldest) return empty(entry);
    for (const [key, segment] of entry.segments) {
      if (segment.cachedAt >= oldest) continue;
      resize(entry, () => {
        entry.segments.delete(key);
        entry.bytes -= segment.bytes;
      });
    }
  }

  function isCurrent(entry: CacheEntry): boolean {
    if (!config.enableAutoRefresh) return true;
    const stats = lstatSync(entry.path, { bigint: true, throwIfNoEntry: false });
    const { stamp, size, hash } = entry.version;
    if (stats && sameStamp(stamp, stats) && !stamp.racy) return true;
    if (!stats?.isFile() || Number(stats.size) !== size || size > config.maxFileBytes) return false;
    count.rehashes++;
    const file = readWhole(entry.path, config.maxFileBytes);
    if (!file.ok || file.value.hash !== hash) return false;
    entry.version = { ...entry.version, stamp: file.value.stamp };
    return true;
  }

  function open(path: string, version: FileVersion, originalHash: string | null = version.hash): CacheEntry {
    let entry = entries.get(path);
    if (!entry) {
      const at = now();
      const fields = { full: null, bytes: ENTRY_OVERHEAD, accessCount: 0, isModified: false, originalHash };
      entry = { path, version, segments: new Map(), cachedAt: at, lastAccessed: at, ...fields };
      count.bytes += entry.bytes;
    } else if (entry.version.hash !== version.hash) {
      empty(entry);
    }
    entry.version = version;
    entries.delete(path);
    entries.set(path, entry);
    return entry;
  }

  function victim(keep: CacheEntry): CacheEntry | undefined {
    let best: CacheEntry | undefined;
    for (const entry of entries.values()) {
      if (entry === keep) continue;
      if (config.eviction === 'lru' || (config.eviction === 'hybrid' && !entry.isModified)) return entry;
      if (!best || (config.eviction === 'lfu' && entry.accessCount < best.accessCount)) best = entry;
    }
    return best;
  }

  function makeRoom(keep: CacheEntry): void {
    while (entries.size > config.maxEntries || count.bytes > config.maxBytes) {
      const entry = victim(keep);
      if (!entry) return;
      drop(entry.path);
      count.evictions++;
    }
  }

  /** Of whole files what was told last: a list is made with every request to the model. */
  const told = new WeakMap<FileVersion, CachedFileInfo>();

  function info(entry: CacheEntry): CachedFileInfo {
    const last = told.get(entry.version);
    const isWhole = entry.full !== null && last?.truncated === false && last.filePath === entry.path;
    if (isWhole && last.cachedAt === entry.cachedAt && last.isModified === entry.isModified) return last;
    const made = makeInfo(entry);
    told.set(entry.version, made);
    return made;
  }

  function makeInfo(entry: CacheEntry): CachedFileInfo {
    const { size, totalLines, stamp } = entry.version;
    const ranges = rangesOf(entry).map(({ start, end }) => `${start}-${end}`);
    const mtimeMs = Number(stamp.mtimeNs / 1_000_000n);
    const { path: filePath, cachedAt, isModified } = entry;
    return { filePath, size, totalLines, mtimeMs, cachedAt, isModified, truncated: entry.full === null, ranges };
  }

  function fresh(path: string): CacheEntry | undefined {
    const entry = entries.get(path);
    if (!entry) return undefined;
    expire(entry);
    if (!entry.full && entry.segments.size === 0) return undefined;
    if (isCurrent(entry)) return entry;
    count.refreshes++;
    empty(entry);
    return undefined;
  }

  return {
    fresh,
    drop,
    info,
    touch(path, entry) {
      if (!entry) {
        count.misses++;
        return;
      }
      if (entry.full) count.hits++;
      else count.segmentHits++;
      entry.accessCount++;
      entry.lastAccessed = now();
      entries.delete(path);
      entries.set(path, entry);
    },
    storeFull(path, version, text, written) {
      if (version.size > config.maxFileBytes) return drop(path);
      const entry = open(path, version, written?.over);
      resize(entry, () => setFull(entry, text, now()));
      if (written) entry.isModified = version.hash !== entry.originalHash;
      makeRoom(entry);
    },
    storeSegment(path, version, range, text) {
      const entry = open(path, version);
      resize(entry, () => addSegment(entry, range, text, limits, now()));
      makeRoom(entry);
    },
    versionOf: (path) => entries.get(path)?.version,
    list: () => [...entries.keys()].flatMap((path) => fresh(path) ?? []).map(info),
    stats: () => ({ entries: entries.size, ...count }),
  };
}
