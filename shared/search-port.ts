// Searching and listing, as the tools see it. Grep and Glob run in the heavy thread pool (SPEC C3); results come back as plain
// data. Paths in and out are absolute; the caller has judged `path` (SPEC O23), and a search never leaves it: links are not
// followed, files that hold secrets by their name are left out unless `path` is such a file itself.

import type { Outcome } from './outcome.ts';

export interface GrepQuery {
  readonly pattern: string;
  /** Absolute real path of a file or folder. */
  readonly path: string;
  /** Relative to `path`; without a slash it names files at any depth; a leading `!` leaves files out. */
  readonly glob?: string;
  readonly type?: string;
  readonly ignoreCase?: boolean;
  readonly multiline?: boolean;
  readonly before?: number;
  readonly after?: number;
  readonly output: 'content' | 'files_with_matches' | 'count';
  /** So many lines (content) or files (the others), counted after `skip`. */
  readonly limit: number;
  readonly skip?: number;
}

export interface GrepLine {
  readonly line: number;
  /** Without its line ending. */
  readonly text: string;
  readonly isMatch: boolean;
  /** Set when the text is not the line as it is on disk: cut because it is long, or not valid UTF-8. */
  readonly inexact?: true;
}

export interface GrepFile {
  readonly path: string;
  /** Matches in this file (count), matching lines shown (content), 1 when only the name was asked for. */
  readonly matches: number;
  /** Only with output `content`. */
  readonly lines: readonly GrepLine[];
}

export interface GrepResult {
  /** In order of path. */
  readonly files: readonly GrepFile[];
  /** Lines (content) or files (the others) that were found, before `skip` and `limit`. */
  readonly total: number;
  /** False when the search was stopped early because far more than `limit` was found: `total` is what came until then. */
  readonly complete: boolean;
  /** True when there is more after what is here. */
  readonly truncated: boolean;
  /** Files that could not be read or were left out, one line each. */
  readonly warnings: readonly string[];
}

export interface GlobQuery {
  /** Relative to `path`. `*` stays within a folder, `**` crosses folders. */
  readonly pattern: string;
  readonly path: string;
  readonly limit: number;
}

export interface FoundFile {
  readonly path: string;
  readonly mtimeMs: number;
}

export interface GlobResult {
  /** Newest first; of the same age in order of path. */
  readonly files: readonly FoundFile[];
  /** Counted before `limit` cut. */
  readonly total: number;
  readonly warnings: readonly string[];
}

export interface ListQuery {
  readonly path: string;
  /** Globs for names that are left out. */
  readonly ignore: readonly string[];
  readonly limit: number;
}

export interface FolderEntry {
  readonly name: string;
  readonly kind: 'directory' | 'file' | 'link' | 'other';
  /** Bytes, of files; null when it could not be asked. */
  readonly size: number | null;
  /** Where a link points, as it is written there. */
  readonly target?: string;
}

export interface ListResult {
  /** Folders first, then by name. */
  readonly entries: readonly FolderEntry[];
  /** Counted after `ignore`, before `limit`. */
  readonly total: number;
  readonly ignored: number;
}

export interface SearchPort {
  grep(query: GrepQuery, signal: AbortSignal): Promise<Outcome<GrepResult>>;
  /** Files below `path` that match the glob, .gitignore respected, hidden ones included. */
  glob(query: GlobQuery, signal: AbortSignal): Promise<Outcome<GlobResult>>;
  /** What one folder holds. */
  list(query: ListQuery): Promise<Outcome<ListResult>>;
}
