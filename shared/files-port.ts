// The file cache as the tools see it (SPEC O7, ARCHITECTURE 8, DURABILITY 12). The orchestrator owns it and is the only
// writer of files; a subagent's thread talks to it through a proxy of the same shape.

import type { Json } from './json.ts';
import type { Outcome } from './outcome.ts';
import type { BlobRef } from './payload.ts';
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

/**
 * The intent of one change, journaled right before it happens: enough to finish it after a crash, and to undo and redo it
 * (SPEC E14, DURABILITY 8). A null hash means that there is no file. A call that has several intents means its last.
 */
export interface FileIntent {
  readonly kind: 'file';
  /** Real path. */
  readonly path: string;
  readonly beforeHash: string | null;
  readonly afterHash: string | null;
  readonly beforeBlob: BlobRef | null;
  readonly afterBlob: BlobRef | null;
  /** Permission bits of the file, also for making it again. */
  readonly mode: number;
  /** The first of the folders that were made for it: undo takes them away again when they are empty. */
  readonly madeFolder?: string;
}

/** A change that was made. As a tool's `data` it is the record that undo and redo work from. */
export interface FileChange extends FileIntent {
  readonly added: number;
  readonly removed: number;
  /** Unified diff, capped. */
  readonly diff: string;
  /** True when the file had changed since it was read and the edit was applied to its current content. */
  readonly rebased: boolean;
}

/** What would be written: exact replacements in order, or a whole new content. */
export type ProposedChange = { readonly edits: readonly TextEdit[] } | { readonly content: string };

/** A dry run (SPEC O16): that the change can be made, and how well the file is known to the one who asks for it. */
export interface ChangePreview {
  readonly path: string;
  readonly exists: boolean;
  readonly totalLines: number;
  /** How much of the file's current content is cached; `stale`: what was read has changed on disk since. */
  readonly known: 'full' | 'segments' | 'stale' | 'none';
  /** Cached ranges with their text, when only segments are cached. */
  readonly segments: readonly (LineRange & { readonly text: string })[];
  /** Lines of the current content that the edits replace. */
  readonly places: readonly (LineRange & {
    /** Index of the edit. */
    readonly edit: number;
    /** Cached lines between the place and the nearest edge of its segment that is not the file's edge; null: not cached. */
    readonly margin: number | null;
  })[];
  readonly diff: string;
}

/** Where the bytes before and after a change are kept, by hash. A blob is durable before `put` resolves. */
export interface BlobPort {
  put(bytes: Uint8Array): Promise<BlobRef>;
  get(ref: BlobRef): Promise<Buffer>;
}

/** Awaited with a FileIntent right before the rename. When it rejects, nothing is written. */
export type Intend = (intent: Json) => Promise<void>;

/**
 * The files as one agent sees them. Everybody shares one cache, but each agent has its own port, because "the version that was
 * read" (`write`, `rebased`) is a matter of who read it.
 */
export interface FilesPort {
  /** Links resolved the way the kernel does, `..` after them. Relative paths start at the project's root. */
  resolve(path: string): Promise<Outcome<ResolvedPath>>;
  /** Whole file, or a range. Binary, unreadable and missing files are failures whose message says what to do. */
  read(path: string, range?: LineRange): Promise<Outcome<FileView>>;
  /**
   * Puts what a search has shown into the cache: matched lines with their context, contiguous runs as segments. Resolves to the
   * version of the file that they are of; null when they are of none.
   */
  remember(path: string, lines: readonly { readonly line: number; readonly text: string }[]): Promise<string | null>;
  /** What is cached of this path, validated against the disk; undefined when nothing is. */
  cached(path: string): CachedFileInfo | undefined;
  list(): readonly CachedFileInfo[];
  /** Says whether `edit` or `write` would succeed now, with the same failures, and changes nothing. */
  preview(path: string, change: ProposedChange): Promise<Outcome<ChangePreview>>;
  /**
   * Applies exact replacements in order, all or nothing, to the current content under the path's write lock.
   * `intend` is awaited with the change right before the rename; it journals the intent.
   */
  edit(path: string, edits: readonly TextEdit[], intend: Intend, signal?: AbortSignal): Promise<Outcome<FileChange>>;
  /** Writes a whole file; over an existing one only if it is still the version that was read. Makes missing folders. */
  write(path: string, content: string, intend: Intend, signal?: AbortSignal): Promise<Outcome<FileChange>>;
}
