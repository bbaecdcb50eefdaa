// Grep's results in words: grouped by file, `12:` for a matching line and `12-` for its context, and what is missing and why.

import type { GrepFile, GrepResult } from '../shared/search-port.ts';
import { capText } from './cap-text.ts';
import { displayPath } from './read-target.ts';

export interface GrepWords {
  readonly output: 'content' | 'files_with_matches' | 'count';
  readonly pattern: string;
  /** The searched folder or file, as displayed. */
  readonly folder: string;
  readonly root: string;
  readonly numbers: boolean;
  readonly isFile: boolean;
  /** Results skipped, of a folder. */
  readonly skip: number;
}

export function grepText(found: GrepResult, words: GrepWords): string {
  const notes = found.warnings.map((warning) => `(${warning})`);
  if (found.files.length === 0) return [nothing(found, words), ...notes].join('\n');
  const body =
    words.output === 'content'
      ? found.files.map((file) => fileBlock(file, words)).join('\n\n')
      : found.files.map((file) => fileRow(file, words)).join('\n');
  const text = capText(body, 'Narrow the search with pattern, path or glob.');
  return [header(found, words), text, ...notes].join('\n');
}

function nothing(found: GrepResult, words: GrepWords): string {
  const { pattern, folder } = words;
  if (found.total > 0 && !words.isFile) {
    return `No more results for ${quoted(pattern)} in ${folder}: there are ${found.total}, offset ${words.skip} is past them.`;
  }
  const advice = words.isFile
    ? 'Check the pattern, its case (-i) and the line range.'
    : 'Check the pattern, its case (-i), glob and type. Files named by .gitignore are searched only when path names their folder.';
  return `No matches for ${quoted(pattern)} in ${folder}. ${advice}`;
}

function header(found: GrepResult, words: GrepWords): string {
  const { files, total, complete, truncated } = found;
  const shown = words.output === 'content' ? files.reduce((sum, file) => sum + file.lines.length, 0) : files.length;
  const unit =
    words.output === 'content'
      ? `${plural('line', shown)} in ${files.length} ${plural('file', files.length)}`
      : plural('file', shown);
  const matches = words.output === 'count' ? `, ${files.reduce((sum, file) => sum + file.matches, 0)} matches` : '';
  if (!truncated) return `${shown} ${unit}${matches}:`;
  const of = complete ? `of ${total}` : `of more than ${total} (search stopped early, order not final)`;
  const next = words.isFile
    ? 'Use offset and limit for other lines.'
    : `For more: offset ${words.skip + shown}, or narrow the search.`;
  return `${shown} ${unit}${matches}, ${of}. ${next}`;
}

function fileRow(file: GrepFile, words: GrepWords): string {
  const path = displayPath(file.path, words.root);
  return words.output === 'count' ? `${path}:${file.matches}` : path;
}

function fileBlock(file: GrepFile, words: GrepWords): string {
  const hasContext = file.lines.some((line) => !line.isMatch);
  const rows: string[] = [];
  let last: number | undefined;
  for (const { line, text, isMatch } of file.lines) {
    if (hasContext && last !== undefined && line > last + 1) rows.push('--');
    rows.push(words.numbers ? `${line}${isMatch ? ':' : '-'}${text}` : text);
    last = line;
  }
  return [displayPath(file.path, words.root), ...rows].join('\n');
}

const quoted = (pattern: string): string =>
  JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern);
const plural = (word: string, count: number): string => (count === 1 ? word : `${word}s`);
