// Who commits: the user's name and address for git, in a file that holds nothing else. A sandbox hides the home, and with it
// the user's own settings, which may hold tokens and programs.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes `<folder>/gitconfig` from the settings in `userHome`; null when these name nobody. */
export function gitIdentityFile(userHome: string, folder: string): string | null {
  const found = ['.gitconfig', '.config/git/config'].map((name) => userSection(join(userHome, name)));
  const lines = found.find((section) => section.length > 0);
  if (lines === undefined) return null;
  const path = join(folder, 'gitconfig');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path, `[user]\n${lines.join('\n')}\n`, { mode: 0o600 });
  return path;
}

/** The lines of name and address. One that goes on in the next line is left out: it would swallow what follows. */
function userSection(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  let inside = false;
  return text.split('\n').filter((line) => {
    if (/^\s*\[/.test(line)) inside = /^\s*\[user\]\s*$/i.test(line);
    return inside && /^\s*(?:name|email)\s*=.*[^\\]$/i.test(line);
  });
}
