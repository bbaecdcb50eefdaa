// The instructions of a session (SPEC O4, O22; SAFETY 7, "Rules-file backdoor"): the user's own ODIN.md, then ODIN.md, AGENTS.md and
// CLAUDE.md from the folder Odin was started in up to the project's root, nearest first. Read when the session is opened, as files of
// strangers: only regular files inside the project, none that may hold secrets, cut at a size, invisible characters shown. Files of the
// same name elsewhere in the project are data. What their words count for is said in llm/context/instructions-text.ts.

import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type InstructionText, instructionsText } from '../llm/context/instructions-text.ts';
import { cleanLine, cleanText } from '../shared/clean-text.ts';
import type { InstructionFile } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import { isControlPath, isSecretFile } from '../tools/protected-paths.ts';
import { readStart } from './files/read-disk.ts';
import { isInside } from './files/resolve-path.ts';

export interface Instructions {
  /** As the prompt has them; '' when there are none. */
  readonly text: string;
  readonly files: readonly InstructionFile[];
  /** What was not read or is odd, one line each, for the user. */
  readonly warnings: readonly string[];
}

export interface InstructionPlace {
  /** Real path of the project's root. */
  readonly root: string;
  /** The folder Odin was started in. */
  readonly cwd: string;
  /** Where the user's own ODIN.md is: the state folder. */
  readonly home: string;
  /** Whether the user has accepted the project's folder. */
  readonly trusted: boolean;
}

/** In this order within one folder. */
const NAMES = ['ODIN.md', 'AGENTS.md', 'CLAUDE.md'] as const;
const MAX_FILE_BYTES = 32 * 1024;
const MAX_BYTES = 64 * 1024;
const MAX_FILES = 20;
const MAX_WARNINGS = 10;
/** What lies below such a folder came with somebody else's code, also when Odin was started there. */
const FOREIGN = new Set(['node_modules', 'vendor', 'third_party', 'site-packages', '.git', '.venv', 'venv']);

export function readInstructions({ root, cwd, home, trusted }: InstructionPlace): Instructions {
  const reader = createReader(root);
  const user = reader.read(join(home, NAMES[0]), null);
  for (const folder of foldersUp(cwd, root)) for (const name of NAMES) reader.readProject(join(folder, name));
  const { project, warnings } = reader;
  const file = ({ name, bytes }: ReadFile, isTrusted: boolean): InstructionFile => ({
    path: name,
    trusted: isTrusted,
    bytes,
  });
  return {
    text: instructionsText({ user: user ? [user] : [], project, trusted }),
    files: [...(user ? [file(user, true)] : []), ...project.map((one) => file(one, trusted))],
    warnings,
  };
}

/** From `cwd` up to the root; without what is somebody else's code. */
function foldersUp(cwd: string, root: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = realpathSync(cwd); isInside(folder, root); folder = dirname(folder)) {
    const parts = relative(root, folder).split('/');
    if (!parts.some((part) => FOREIGN.has(part))) folders.push(folder);
    if (folder === root) break;
  }
  return folders;
}

interface ReadFile extends InstructionText {
  /** Bytes of the whole file. */
  readonly bytes: number;
}

function createReader(root: string) {
  const project: ReadFile[] = [];
  const warnings: string[] = [];
  const taken = new Set<string>();
  let left = MAX_BYTES;

  /** Undefined when there is none, when it was taken already, or when it is not to be read. `inside`: the folder it may not lead out of. */
  function read(path: string, inside: string | null): ReadFile | undefined {
    const real = realPath(path);
    if (real === undefined || taken.has(real)) return undefined;
    taken.add(real);
    const name = nameOf(path, inside);
    const refusal = inside === null ? undefined : refusalOf(real, inside);
    if (refusal !== undefined) return warn(`${name} ${refusal}: it is not read`);
    if (left <= 0) return warn(`${name} is not read: the files before it fill ${MAX_BYTES / 1024} KB`);
    const start = readStart(real, Math.min(MAX_FILE_BYTES, left));
    if (!start.ok) return warn(`${name} is not read: ${start.failure.message}`);
    const { bytes, size } = start.value;
    if (bytes.includes(0)) return warn(`${name} is no text: it is not read`);
    const raw = new TextDecoder().decode(bytes, { stream: true });
    const hash = sha256(raw.trim());
    if (raw.trim() === '' || taken.has(hash)) return undefined;
    taken.add(hash);
    left -= bytes.length;
    return { name, text: shown(name, raw, bytes.length, size), bytes: size };
  }

  function shown(name: string, raw: string, length: number, size: number): string {
    const text = cleanText(raw);
    const odd = text.match(/<U\+[0-9A-F]{4,6}>|\ufffd/g)?.length ?? 0;
    const before = raw.match(/<U\+[0-9A-F]{4,6}>|\ufffd/g)?.length ?? 0;
    if (odd > before) warn(`${name} holds ${odd - before} invisible or control characters: look at it`);
    if (length >= size) return text;
    warn(`${name} has ${size} bytes: only the first ${length} are used`);
    return `${text}\n[cut: the file has ${size} bytes, these are the first ${length}]`;
  }

  function readProject(path: string): void {
    const file = read(path, root);
    if (!file) return;
    const pointers = basename(path) === 'CLAUDE.md' ? pointersIn(file.text) : [];
    if (!isPointersAlone(file.text, pointers)) project.push(file);
    for (const pointer of pointers) {
      if (project.length >= MAX_FILES) return;
      const target = read(resolve(dirname(path), pointer), root);
      if (target) project.push(target);
    }
  }

  function warn(line: string): undefined {
    if (warnings.length < MAX_WARNINGS) warnings.push(line);
  }
  return { read, readProject, project, warnings };
}

function realPath(path: string): string | undefined {
  // Most of them do not exist, and an exception costs several times as much as this.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

function refusalOf(real: string, root: string): string | undefined {
  if (!isInside(real, root)) return 'leads out of the project';
  const parts = relative(root, real).split('/');
  if (parts.includes('.git') || isControlPath(parts) || isSecretFile(basename(real)))
    return 'leads to a protected file';
  return undefined;
}

const nameOf = (path: string, root: string | null): string =>
  cleanLine(root !== null && path.startsWith(`${root}/`) ? relative(root, path) : path, 200);

/** Lines of CLAUDE.md that say no more than `@FILE`: that file is meant. */
const pointersIn = (text: string): readonly string[] =>
  [...text.matchAll(/^[ \t]*(?:[-*] )?@([^\s@]+)[ \t]*$/gm)].map(([, path = '']) => path);

const isPointersAlone = (text: string, pointers: readonly string[]): boolean =>
  pointers.length > 0 && text.split('\n').filter((line) => line.trim() !== '').length === pointers.length;
