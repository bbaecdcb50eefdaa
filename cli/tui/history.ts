// What was typed before, over all sessions of this home: one JSON string a line in $ODIN_HOME/history.jsonl, which only the user can read.
// It is a convenience: what cannot be read or written is left.

import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MAX_ENTRIES = 500;
const MAX_CHARS = 10_000;

const fileOf = (home: string): string => join(home, 'history.jsonl');

/** Oldest first, the newest MAX_ENTRIES; a file that has grown to twice of that is cut. */
export async function readHistory(home: string): Promise<readonly string[]> {
  const text = await readFile(fileOf(home), 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  const newest = lines.slice(-MAX_ENTRIES);
  if (lines.length > 2 * MAX_ENTRIES) {
    await writeFile(fileOf(home), `${newest.join('\n')}\n`, { mode: 0o600 }).catch(() => {});
  }
  return newest.flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === 'string' ? [value] : [];
    } catch {
      return [];
    }
  });
}

/** All that was sent from the editor. Keys are typed at a prompt (components/prompt.ts) and never come here. */
export async function addToHistory(home: string, text: string): Promise<void> {
  if (text.length > MAX_CHARS) return;
  await mkdir(home, { recursive: true, mode: 0o700 }).catch(() => {});
  await appendFile(fileOf(home), `${JSON.stringify(text)}\n`, { mode: 0o600 }).catch(() => {});
}
