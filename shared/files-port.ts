// The file cache as the tools see it (SPEC O7, ARCHITECTURE 8, DURABILITY 12). The orchestrator owns it and is the only
// writer of files; a subagent's thread talks to it through a proxy of the same shape.

import type { Json } from './json.ts';
import type { Outcome } from './outcome.ts';
import type { CachedFileInfo } from './state.ts';

/** A path judged by its real path, links resolved (SPEC O23, SAFETY R4). */
export interface ResolvedPath {
  /** Absolute, links resolved; of a file that does not exist, the real parent plus the name. */
  readonly real: string;
  readonly inside: boolean;
  readonly kind: 'file' | 'directory' | 'missing' | 'other';
}

/** Lines of a file, 1-based and inclusive. Line endings are kept in `text`. */
export interface FileView {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly totalLines: number;
  readonly size: number;
  readonly text: string;
  /** True when nothing was read from disk. */
  readonly fromCache: boolean;
  /** sha256 of the whole file this was read from. */
  readonly version: string;
}

export interface LineRange {
  /** 1-based. */
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
}

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

/** A change of a file, as journaled intent and as result: enough to finish, undo or redo it (SPEC E14). Null hash: no file. */
export interface FileChange {
  readonly path: string;
  readonly beforeHash: string | null;
  readonly afterHash: string | null;
  readonly added: number;
  readonly removed: number;
  /** Unified diff, capped. */
  readonly diff: string;
  /** True when the file had changed since it was read and the edit was applied to its current content. */
  readonly rebased: boolean;
}

export interface FilesPort {
  resolve(path: string): Promise<Outcome<ResolvedPath>>;
  /** Whole file, or a range. Binary, unreadable and missing files are failures whose message says what to do. */
  read(path: string, range?: LineRange): Promise<Outcome<FileView>>;
  /** Puts what a search has shown into the cache: matched lines with their context, contiguous runs as segments. */
  remember(path: string, lines: readonly { readonly line: number; readonly text: string }[]): Promise<void>;
  /** What is cached of this path, validated against the disk; undefined when nothing is. */
  cached(path: string): CachedFileInfo | undefined;
  list(): readonly CachedFileInfo[];
  /**
   * Applies exact replacements in order, all or nothing, to the current content under the path's write lock.
   * `intend` is awaited with the change right before the rename; it journals the intent.
   */
  edit(path: string, edits: readonly TextEdit[], intend: (intent: Json) => Promise<void>): Promise<Outcome<FileChange>>;
  /** Writes a whole file; over an existing one only if it is still the version that was read. */
  write(path: string, content: string, intend: (intent: Json) => Promise<void>): Promise<Outcome<FileChange>>;
}
