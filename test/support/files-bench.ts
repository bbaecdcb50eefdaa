// A project folder on disk with Odin's files over it, a small blob store in memory, and seeds that are printed.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { FileCacheConfig } from '../../orchestrator/files/file-cache.ts';
import { createFiles, type Files } from '../../orchestrator/files/files.ts';
import type { BlobPort, FilesPort } from '../../shared/files-port.ts';
import { sha256 } from '../../shared/ids.ts';
import type { Json } from '../../shared/json.ts';
import type { Outcome } from '../../shared/outcome.ts';

export interface FilesBench {
  readonly root: string;
  readonly files: Files;
  readonly port: FilesPort;
  /** All intents that were journaled. */
  readonly intents: Json[];
  intend(intent: Json): Promise<void>;
  /** Writes a file behind Odin's back; returns its path. */
  put(name: string, content: string | Uint8Array, mode?: number): string;
  close(): void;
}

/** Where thousands of runs do not wait for a disk: a file system in memory when there is one. */
export const FAST_FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export function openFilesBench(cache: Partial<FileCacheConfig> = {}, folder = tmpdir()): FilesBench {
  const base = realpathSync(mkdtempSync(join(folder, 'odin-files-')));
  const root = join(base, 'project');
  mkdirSync(root);
  const files = createFiles({ root, blobs: memoryBlobs(), cache });
  const intents: Json[] = [];
  return {
    root,
    files,
    port: files.portFor(),
    intents,
    async intend(intent) {
      intents.push(intent);
    },
    put(name, content, mode) {
      const path = join(root, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content, mode === undefined ? {} : { mode });
      return path;
    },
    close: () => rmSync(base, { recursive: true, force: true }),
  };
}

export function memoryBlobs(): BlobPort {
  const kept = new Map<string, Buffer>();
  return {
    async put(bytes) {
      const hash = sha256(bytes);
      kept.set(hash, Buffer.from(bytes));
      return { sha256: hash, bytes: bytes.byteLength };
    },
    async get(ref) {
      const bytes = kept.get(ref.sha256);
      if (!bytes) throw new Error(`no blob ${ref.sha256}`);
      return bytes;
    },
  };
}

/** The value, or the failure as an error. */
export function must<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(`${outcome.failure.code}: ${outcome.failure.message}`);
  return outcome.value;
}

export function codeOf(outcome: Outcome<unknown>): string {
  return outcome.ok ? 'ok' : outcome.failure.code;
}

export function messageOf(outcome: Outcome<unknown>): string {
  return outcome.ok ? 'ok' : outcome.failure.message;
}
