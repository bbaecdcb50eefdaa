// What Tab and the small list below the editor offer: slash commands at the beginning of a message, files after `@`. File names come from
// the repository, from ripgrep's list without what git ignores, read once and again when it is old.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type AutocompleteProvider, fuzzyFilter } from '@earendil-works/pi-tui';
import { cleanLine } from '../../shared/clean-text.ts';
import type { SlashCommand } from './commands/command.ts';

const OLD_MS = 10_000;
const MAX_SHOWN = 30;
/** What can be put into a message as it is. */
const NAMEABLE = /^[\p{L}\p{N}\p{P}\p{S} ]+$/u;

export function createCompletion(
  commands: () => readonly SlashCommand[],
  listFiles: () => Promise<readonly string[]>,
): AutocompleteProvider {
  let files: { readonly at: number; readonly paths: Promise<readonly string[]> } | null = null;
  const paths = (): Promise<readonly string[]> => {
    if (files === null || Date.now() - files.at > OLD_MS) {
      files = { at: Date.now(), paths: listFiles().then(inOrder, () => []) };
    }
    return files.paths;
  };
  return {
    triggerCharacters: ['@'],
    async getSuggestions(lines, cursorLine, cursorCol, { signal }) {
      const before = (lines[cursorLine] ?? '').slice(0, cursorCol);
      const command = cursorLine === 0 ? /^\/([a-z]*)$/.exec(before) : null;
      if (command !== null) {
        const found = commands().filter(({ name }) => name.startsWith(command[1] ?? ''));
        const items = found.map(({ name, help }) => ({ value: name, label: `/${name}`, description: help }));
        return items.length === 0 ? null : { items, prefix: before };
      }
      const at = /(?:^|\s)@([^\s@]*)$/.exec(before);
      if (at === null) return null;
      const wanted = at[1] ?? '';
      const known = await paths();
      if (signal.aborted) return null;
      const found = wanted === '' ? known : fuzzyFilter([...known], wanted, (path) => path);
      const items = found.slice(0, MAX_SHOWN).map((path) => ({ value: path, label: cleanLine(path) }));
      return items.length === 0 ? null : { items, prefix: `@${wanted}` };
    },
    applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
      const line = lines[cursorLine] ?? '';
      const isCommand = prefix.startsWith('/');
      const text = isCommand ? `/${item.value} ` : `@${/\s/.test(item.value) ? `"${item.value}"` : item.value} `;
      const head = line.slice(0, cursorCol - prefix.length) + text;
      return { lines: lines.with(cursorLine, head + line.slice(cursorCol)), cursorLine, cursorCol: head.length };
    },
    shouldTriggerFileCompletion: (lines, cursorLine, cursorCol) =>
      /(?:^|\s)@[^\s@]*$/.test((lines[cursorLine] ?? '').slice(0, cursorCol)),
  };
}

/** What can be named, the shortest first: of those that match as well it is the likeliest. */
const inOrder = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => NAMEABLE.test(path)).sort((a, b) => a.length - b.length || (a < b ? -1 : 1));

const MAX_BYTES = 8 * 1024 * 1024;
const LIST_TIMEOUT_MS = 5_000;

/** Paths below the root as ripgrep lists them; a list that is too long ends early. */
export async function listFiles(root: string): Promise<readonly string[]> {
  const { rgPath } = await import('@vscode/ripgrep');
  const limits = { cwd: root, maxBuffer: MAX_BYTES, timeout: LIST_TIMEOUT_MS };
  const listed = await promisify(execFile)(rgPath, ['--files', '--no-config'], limits).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  return listed.stdout.split('\n').filter((path) => path !== '');
}
