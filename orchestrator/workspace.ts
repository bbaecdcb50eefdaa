// Which folder Odin works on: the project's root (SPEC O23), by real path, and the instructions that lie in it (SPEC O4, O22).

import { existsSync, realpathSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The nearest folder from `cwd` up that holds ODIN.md; else the one that holds .git; else `cwd`. Links resolved. */
export function findRoot(cwd: string): string {
  const start = realpathSync(cwd);
  return nearest(start, 'ODIN.md') ?? nearest(start, '.git') ?? start;
}

function nearest(start: string, name: string): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, name))) return folder;
    if (folder === dirname(folder)) return null;
  }
}

const INSTRUCTION_FILES = ['ODIN.md', 'AGENTS.md', 'CLAUDE.md'] as const;
const MAX_INSTRUCTION_BYTES = 32 * 1024;

/** Text of the first instruction file of the root, cut at 32 KB with a note; '' when there is none. */
export async function readInstructions(root: string): Promise<string> {
  for (const name of INSTRUCTION_FILES) {
    const text = await readCapped(join(root, name));
    if (text !== null) return `# ${name}\n${text}`;
  }
  return '';
}

async function readCapped(path: string): Promise<string | null> {
  const file = await open(path, 'r').catch(() => null);
  if (!file) return null;
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, MAX_INSTRUCTION_BYTES)), 0);
    const text = buffer.subarray(0, bytesRead).toString('utf8');
    return size > MAX_INSTRUCTION_BYTES ? `${text}\n[cut: the file has ${size} bytes]` : text;
  } finally {
    await file.close();
  }
}
