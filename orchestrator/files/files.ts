// The files of one project: the cache, the locks and the only writer (ARCHITECTURE 8). Each agent gets its own FilesPort here;
// they share cache and locks, and each knows the version that its own agent has read. Reading is file-reader.ts, changing
// file-writer.ts; what is kept is file-cache.ts.

import type { BlobPort, FilesPort } from '../../shared/files-port.ts';
import { createRwLock, type RwLock } from '../rw-lock.ts';
import { createFileCache, DEFAULT_FILE_CACHE, type FileCache, type FileCacheConfig } from './file-cache.ts';
import { createReader } from './file-reader.ts';
import { createWriter } from './file-writer.ts';
import { createFolderSyncs, type FolderSyncs } from './folder-syncs.ts';
import { resolvePath } from './resolve-path.ts';
import type { SeenFiles } from './seen-files.ts';
import { createSeenVersions } from './seen-versions.ts';

export interface FilesOptions {
  /** Real path of the project's root. */
  readonly root: string;
  readonly blobs: BlobPort;
  readonly cache?: Partial<FileCacheConfig>;
}

/** What all ports of a project share. */
export interface Files {
  readonly root: string;
  readonly blobs: BlobPort;
  readonly config: FileCacheConfig;
  readonly cache: FileCache;
  readonly locks: RwLock;
  readonly syncs: FolderSyncs;
  /** The files as one agent sees them, who may have seen some in another process. A port is cheap: one for each agent, dropped with it. */
  portFor(seen?: SeenFiles): FilesPort;
}

export function createFiles(options: FilesOptions): Files {
  const { root, blobs } = options;
  const config = { ...DEFAULT_FILE_CACHE, ...options.cache };
  const files: Files = {
    root,
    blobs,
    config,
    cache: createFileCache(config),
    locks: createRwLock(),
    syncs: createFolderSyncs(),
    portFor: (seen) => createPort(files, seen),
  };
  return files;
}

function createPort(files: Files, known: SeenFiles = {}): FilesPort {
  const { root, cache } = files;
  const seen = createSeenVersions(files.config.maxFileBytes, known);
  return {
    resolve: async (path) => resolvePath(path, root),
    ...createReader(files, seen),
    ...createWriter(files, seen),
    cached(path) {
      if (cache.stats().entries === 0) return undefined;
      const target = resolvePath(path, root);
      const entry = target.ok ? cache.fresh(target.value.real) : undefined;
      return entry && cache.info(entry);
    },
    list: () => cache.list(),
  };
}
