// Grep's work in a heavy thread: ripgrep's arguments, and its output as plain data, bounded while it streams. The text output is
// read, not --json: it takes half the time, and ripgrep itself cuts long lines, where --json would hand over a whole minified
// file as one record. Matches come in any order; they are sorted here once ripgrep is done or was stopped.

import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { GrepFile, GrepLine, GrepQuery, GrepResult } from '../shared/search-port.ts';
import { isSecretFile } from '../tools/protected-paths.ts';
import { type FileFilter, grepFilter } from './heavy-file-filter.ts';
import { type RipgrepEnd, ripgrep } from './heavy-ripgrep.ts';

/** Bytes of a line; ripgrep says itself that it cut one. */
const MAX_LINE = 2_000;
/** How far past the limit a search goes on, so that small results are complete, sorted and counted. */
const SLACK = { content: 2_000, files_with_matches: 50_000, count: 50_000 } as const;
const MAX_CHARS = 4_000_000;

interface OpenFile {
  matches: number;
  lines: GrepLine[];
}

export async function grep(query: GrepQuery, signal: AbortSignal): Promise<Outcome<GrepResult>> {
  const kind = statSync(query.path, { throwIfNoEntry: false });
  if (!kind) return fail('failed', 'not_found', `${query.path} does not exist (any more).`);
  const isFile = !kind.isDirectory();
  const filter: FileFilter = isFile
    ? { cwd: dirname(query.path), args: [], keep: () => true }
    : grepFilter(query.path, query.glob, query.type);
  const { cwd } = filter;
  if (cwd === undefined) return ok({ files: [], total: 0, complete: true, truncated: false, warnings: [] });

  const found = collector(query, filter, isFile);
  const target = isFile ? `./${basename(query.path)}` : '.';
  const end = await ripgrep({
    cwd,
    args: [...argsOf(query), ...filter.args, `--regexp=${query.pattern}`, '--', target],
    separator: query.output === 'files_with_matches' ? '\0' : '\n',
    signal,
    onRecord: found.add,
  });
  if (!end.ok) return end.failure.kind === 'invalid' ? refused(query, end.failure.message) : end;
  return ok(resultOf(query, cwd, found, end.value));
}

function argsOf(query: GrepQuery): readonly string[] {
  const common = ['--engine=auto', '--null', '--with-filename', '--no-heading'];
  if (query.ignoreCase) common.push('--ignore-case');
  // In ripgrep's default mode a pattern with \n can never match.
  if (query.multiline || query.pattern.includes('\\n')) common.push('--multiline', '--multiline-dotall');
  switch (query.output) {
    case 'files_with_matches':
      return [...common, '--files-with-matches'];
    case 'count':
      return [...common, '--count-matches'];
    case 'content':
      return [
        ...common,
        '--line-number',
        '--no-context-separator',
        `--max-columns=${MAX_LINE}`,
        '--max-columns-preview',
        `--before-context=${query.before ?? 0}`,
        `--after-context=${query.after ?? 0}`,
      ];
  }
}

/** Takes ripgrep's records until there are far more than the query's limit. */
function collector(query: GrepQuery, filter: FileFilter, isFile: boolean) {
  const files = new Map<string, OpenFile>();
  const secrets = new Set<string>();
  const notes: string[] = [];
  const most = (query.skip ?? 0) + query.limit + SLACK[query.output];
  let total = 0;
  let chars = 0;

  const wanted = (path: string): boolean => {
    if (files.has(path)) return true;
    if (!filter.keep(path)) return false;
    if (isFile || !isSecretFile(basename(path))) return true;
    secrets.add(path);
    return false;
  };
  const open = (path: string): OpenFile => {
    const file = files.get(path) ?? { matches: 0, lines: [] };
    files.set(path, file);
    return file;
  };

  const add = (record: string): boolean => {
    const [name, rest] = query.output === 'files_with_matches' ? [record, ''] : cutAt(record, '\0');
    if (rest === undefined) {
      if (name.includes('binary file matches')) notes.push(binaryNote(name, query));
      return true;
    }
    const path = name.slice(2);
    if (!wanted(path)) return true;
    total++;
    chars += record.length;
    if (query.output === 'content') addLine(open(path), rest);
    else open(path).matches = query.output === 'count' ? Number(rest) : 1;
    return total < most && chars < MAX_CHARS;
  };
  return { files, secrets, notes, add, total: () => total };
}

function addLine(file: OpenFile, rest: string): void {
  const parts = /^(\d+)([:-])(.*)$/s.exec(rest);
  if (!parts) return;
  const [, number = '', mark, raw = ''] = parts;
  const text = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
  const isMatch = mark === ':';
  const cut = / \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$/.exec(text);
  const inexact = (cut && Buffer.byteLength(text) > MAX_LINE - 8) || text.includes('\ufffd');
  file.lines.push({ line: Number(number), text, isMatch, ...(inexact ? { inexact: true } : {}) });
  if (isMatch) file.matches++;
}

function resultOf(query: GrepQuery, cwd: string, found: ReturnType<typeof collector>, end: RipgrepEnd): GrepResult {
  const paths = [...found.files.keys()].sort();
  const skip = query.skip ?? 0;
  const files: GrepFile[] = [];
  let at = 0;
  for (const path of paths) {
    const file = found.files.get(path) as OpenFile;
    const size = query.output === 'content' ? file.lines.length : 1;
    const from = Math.max(0, skip - at);
    const to = Math.min(size, skip + query.limit - at);
    if (from < to) files.push({ path: join(cwd, path), ...sliceOf(file, query, from, to) });
    at += size;
  }
  const total = found.total();
  const truncated = end.stopped || total > skip + query.limit;
  return { files, total, complete: !end.stopped, truncated, warnings: warningsOf(found, end) };
}

function sliceOf(file: OpenFile, query: GrepQuery, from: number, to: number): Omit<GrepFile, 'path'> {
  if (query.output !== 'content') return file;
  const lines = file.lines.slice(from, to);
  return { lines, matches: lines.filter((line) => line.isMatch).length };
}

function warningsOf(found: ReturnType<typeof collector>, end: RipgrepEnd): readonly string[] {
  const secrets = [...found.secrets].sort();
  const left = secrets.length
    ? [
        `Left out, because they may hold passwords or keys: ${secrets.slice(0, 5).join(', ')}${secrets.length > 5 ? ', …' : ''}`,
      ]
    : [];
  return [...found.notes.slice(0, 5), ...end.warnings, ...left];
}

const binaryNote = (record: string, query: GrepQuery): string =>
  `${record.startsWith('./') ? record.slice(2).split(': ')[0] : basename(query.path)}: binary file, its matches are not shown`;

function refused(query: GrepQuery, why: string): Outcome<GrepResult> {
  if (query.type !== undefined && why.startsWith('unrecognized file type')) {
    return fail('invalid', 'bad_type', `${why}. Leave type out and use glob instead, as in "*.${query.type}".`);
  }
  const hint =
    'Literal braces, brackets, parentheses, dots and stars must be escaped, as in interface\\{\\} or call\\(.';
  return fail('invalid', 'bad_pattern', `ripgrep refuses the search:\n${why}\n${hint}`);
}

function cutAt(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
