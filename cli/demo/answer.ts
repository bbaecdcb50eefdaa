// The demo's answer, put together from what the tools gave: names, counts, and excerpts with their place. Nothing is made up.

import { basename } from 'node:path';
import type { Search } from './choose.ts';
import type { Excerpt, Folder, FoundFiles, FoundLines } from './read-results.ts';

export interface Seen {
  readonly folder: Folder;
  readonly files: FoundFiles;
  readonly search: Search;
  /** What the project says about itself. */
  readonly self: readonly Excerpt[];
  readonly found: FoundLines;
  readonly read: readonly {
    readonly path: string;
    readonly lines: readonly Excerpt[] | null;
    readonly problem: string;
  }[];
}

const MAX_CHARS = 100;
const MAX_FOUND = 5;
const LINES_OF_A_FILE = 2;

export function demoAnswer(seen: Seen): string {
  const { folder, files } = seen;
  const name = basename(folder.path) || folder.path;
  const head = `**${name}** (${folder.path}): ${count(folder.entries, 'entry', 'entries')} at the top, ${count(files.total, 'file')} in all.`;
  if (files.total === 0) return `${head}\n\nThere is no file here to quote.`;
  return [head, aboutItself(seen), definitions(seen), excerpts(seen)].filter((part) => part !== '').join('\n\n');
}

function aboutItself({ self }: Seen): string {
  return self.length === 0 ? '' : `It says about itself:\n${self.slice(0, 3).map(quote).join('\n')}`;
}

function definitions({ found, search }: Seen): string {
  if (found.excerpts.length === 0) return '';
  const where = search.kind === null ? 'all files' : `its .${search.kind} files`;
  const files = new Map(found.excerpts.toReversed().map((excerpt) => [excerpt.path, excerpt]));
  const firsts = [...files.values()].toReversed();
  const shown = [...firsts, ...found.excerpts.filter((excerpt) => !firsts.includes(excerpt))].slice(0, MAX_FOUND);
  return `A search of ${where} for \`${search.pattern}\` gave ${found.count}. Some of them:\n${shown.map(quote).join('\n')}`;
}

function excerpts({ read }: Seen): string {
  const parts = read.map(({ path, lines, problem }) => {
    if (lines === null) return `- \`${path}\` could not be read: ${problem}`;
    const full = lines.filter(({ text }) => text.trim().length > 1);
    return full.length === 0 ? `- \`${path}\` is empty` : full.slice(0, LINES_OF_A_FILE).map(quote).join('\n');
  });
  return parts.length === 0 ? '' : `From the files read:\n${parts.join('\n')}`;
}

function quote({ path, line, text }: Excerpt): string {
  const chars = [...text.trim().replaceAll('`', "'")];
  const cut = chars.length > MAX_CHARS ? `${chars.slice(0, MAX_CHARS - 1).join('')}…` : chars.join('');
  return `- \`${path.replaceAll('`', "'")}:${line}\`: \`${cut}\``;
}

const count = (value: number, one: string, many = `${one}s`): string =>
  `${value.toLocaleString('en-US')} ${value === 1 ? one : many}`;
