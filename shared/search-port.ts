// ripgrep, as the tools see it. It runs in the heavy thread pool (SPEC C3); results come back as plain data.

import type { Outcome } from './outcome.ts';

export interface GrepQuery {
  readonly pattern: string;
  /** Absolute real path of a file or folder. */
  readonly path: string;
  readonly glob?: string;
  readonly type?: string;
  readonly ignoreCase?: boolean;
  readonly multiline?: boolean;
  readonly before?: number;
  readonly after?: number;
  readonly output: 'content' | 'files_with_matches' | 'count';
  /** Stop after so many lines (content) or files (the others), counted after `skip`. */
  readonly limit: number;
  readonly skip?: number;
}

export interface GrepLine {
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
}

export interface GrepFile {
  readonly path: string;
  /** Matching lines in this file (count), 1 when only the name was asked for. */
  readonly matches: number;
  /** Only with output `content`. */
  readonly lines: readonly GrepLine[];
}

export interface GrepResult {
  readonly files: readonly GrepFile[];
  /** True when the limit cut the result. */
  readonly truncated: boolean;
  /** Files that could not be read, one line each. */
  readonly warnings: readonly string[];
}

export interface FoundFile {
  readonly path: string;
  readonly mtimeMs: number;
}

export interface SearchPort {
  grep(query: GrepQuery, signal: AbortSignal): Promise<Outcome<GrepResult>>;
  /** Files below `path` that match the glob, newest first, .gitignore respected. `total` counts before `limit` cut. */
  glob(
    query: { readonly pattern: string; readonly path: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Outcome<{ readonly files: readonly FoundFile[]; readonly total: number }>>;
}
