// Odin's own names in the project, where they are not there yet (SAFETY 2.4, CVE-2026-25725): no command may make them. What is there is
// mounted read-only (sandbox.ts); what is absent cannot be. So an empty folder stands in for it while a sandboxed command runs: git
// does not see one, and a mount can be neither written, replaced nor renamed. For odinconfig.json only in the background, since
// `grep x *.json` would complain of it. What could be made all the same, also without a sandbox, is moved out of the project
// when the command is over, and said in its output. So are files by which git would take settings and hooks from elsewhere: its own are
// protected. A note in the state folder says what is to be done, also after a crash.

import {
  appendFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { markOf } from './command-env.ts';
import { shimState } from './shim.ts';

const NAMES = ['odinconfig.json', '.odin', '.git/commondir', '.git/config.worktree'] as const;
/** A command may be between its note and its start. */
const STARTING_MS = 60_000;

const guardedSchema = z.object({
  root: z.string(),
  /** The shim's folder. */
  dir: z.string(),
  /** Not there when the command began. */
  absent: z.array(z.enum(NAMES)),
  standIns: z.array(z.enum(NAMES)),
});
type Guarded = z.infer<typeof guardedSchema>;

/** Stand-ins of this process by path, and how many commands need them. One that is removed is unmounted everywhere. */
const inUse = new Map<string, number>();

/** Before a command that can write the project begins in the shim's folder `dir`. */
export function guardControl(
  root: string,
  dir: string,
  { confined, background }: { readonly confined: boolean; readonly background: boolean },
): void {
  const absent = NAMES.filter((name) => isAbsent(join(root, name)));
  const wanted = confined
    ? absent.filter((name) => name === '.odin' || (background && name === 'odinconfig.json'))
    : [];
  // Written before anything is made: what a crash leaves is known.
  if (absent.length > 0) note({ root, dir, absent, standIns: wanted });
  for (const name of wanted) standIn(join(root, name));
}

/** After it and all that it started are gone. `dir` may be that of a command which another process has started. */
export function releaseControl(dir: string): void {
  const guarded = noted(notePath(dir));
  if (guarded !== null) release(guarded);
}

/** What commands of this project have left behind whose Odin is gone. Before this process runs its first. */
export function releaseLeft(root: string, commandsFolder: string): void {
  const folder = join(commandsFolder, NOTES);
  for (const name of statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : []) {
    const guarded = noted(join(folder, name));
    if (guarded?.root !== root) continue;
    const { kind } = shimState(guarded.dir);
    const age = Date.now() - (statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (kind !== 'running' && (kind !== 'absent' || age > STARTING_MS)) release(guarded);
  }
}

function release({ root, dir, absent, standIns }: Guarded): void {
  rmSync(notePath(dir), { force: true });
  for (const name of standIns) leave(join(root, name));
  for (const name of absent) {
    const path = join(root, name);
    // Where something stood in, no command could make anything: what is there now is the user's.
    if (standIns.includes(name) || isAbsent(path) || !isMade(path)) continue;
    const said = moveOut(path, join(dir, 'removed', name));
    if (statSync(dir, { throwIfNoEntry: false }))
      appendFileSync(
        join(dir, 'out'),
        `\n[odin: ${name} was made in the project, which only the user may do. ${said}]\n`,
      );
  }
}

const isAbsent = (path: string): boolean => inUse.has(path) || !isThere(path);

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    // `.git` may be a file.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Something else than a stand-in. */
function isMade(path: string): boolean {
  try {
    if (!inUse.has(path)) rmdirSync(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

function standIn(path: string): void {
  try {
    // Also when it is known: another process may have taken it away.
    mkdirSync(path, { mode: 0o755 });
  } catch {
    // Made meanwhile, or not ours to make: what is there is mounted read-only.
    if (!inUse.has(path)) return;
  }
  inUse.set(path, (inUse.get(path) ?? 0) + 1);
}

function leave(path: string): void {
  const left = (inUse.get(path) ?? 1) - 1;
  if (left > 0) {
    inUse.set(path, left);
    return;
  }
  inUse.delete(path);
  try {
    rmdirSync(path);
  } catch {
    // Gone, or something else stands there now.
  }
}

/** In words, where it is now. Links are moved as links. */
function moveOut(path: string, to: string): string {
  try {
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    try {
      renameSync(path, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
      cpSync(path, to, { recursive: true, verbatimSymlinks: true });
      rmSync(path, { recursive: true, force: true });
    }
    return `It was moved to ${to}.`;
  } catch (error) {
    return `It could not be moved away (${(error as NodeJS.ErrnoException).code}): look at it, and remove it.`;
  }
}

const NOTES = 'guards';
const notePath = (dir: string): string => join(dirname(dirname(dir)), NOTES, `${markOf(dir)}.json`);

function note(guarded: Guarded): void {
  const path = notePath(guarded.dir);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, JSON.stringify(guarded), { mode: 0o600 });
}

function noted(path: string): Guarded | null {
  try {
    return guardedSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}
