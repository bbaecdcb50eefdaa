// Odin's own names in the project, where they are not there yet (SAFETY 2.4, CVE-2026-25725): no command may make them. What is there is
// mounted read-only (sandbox.ts); what is absent cannot be. So an empty folder stands in for it while a sandboxed command runs: git
// does not see one, and a mount can be neither written, replaced nor renamed. For odinconfig.json only in the background, since
// `grep x *.json` would complain of it. What could be made all the same, also without a sandbox, is moved out of the project
// when the command is over, and said in its output. So are files by which git would take settings and hooks from elsewhere: its own are
// protected. A note in the state folder says what is to be done, also after a crash.

import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import * as z from 'zod';
import { isInside } from '../files/resolve-path.ts';
import { markOf } from './command-env.ts';
import { realOr } from './control-places.ts';
import { gitFolder, innerGitAbsent } from './inner-git.ts';
import { shimState } from './shim.ts';
import { holdStandIn, isThere, leave, park, removeUnused, standIn, standsIn, unpark } from './stand-ins.ts';

const NAMES = ['odinconfig.json', '.odin', '.git/commondir', '.git/config.worktree', '.git/hooks'];
/** An empty folder in their place disturbs nobody. */
const HELD: ReadonlySet<string> = new Set(['.odin', '.git/hooks']);
/** A command may be between its note and its start. */
const STARTING_MS = 60_000;

const guardedSchema = z.object({
  root: z.string(),
  /** The shim's folder. */
  dir: z.string(),
  /** Not there when the command began. */
  absent: z.array(z.string()),
  standIns: z.array(z.string()),
});
type Guarded = z.infer<typeof guardedSchema>;

/** Notes whose stand-ins this process counts: its own, and those of commands that outlived the process which started them. */
const counted = new Set<string>();
const inherited = new Map<string, Guarded>();
const LOOK_MS = 5_000;
let look: NodeJS.Timeout | undefined;

/** Before a command that can write the project begins in the shim's folder `dir`. */
export function guardControl(
  root: string,
  dir: string,
  { confined, background }: { readonly confined: boolean; readonly background: boolean },
): void {
  leaveEnded();
  const absent = absentOf(root);
  const wanted = confined ? absent.filter((name) => HELD.has(name) || (background && name === 'odinconfig.json')) : [];
  // Written before anything is made: what a crash leaves is known.
  if (absent.length > 0) note(notePath(dir), { root, dir, absent, standIns: wanted });
  if (wanted.length > 0) counted.add(notePath(dir));
  for (const name of wanted) standIn(join(root, name));
}

/** What stands in while the mounts of a sandbox are made that will wait for its command; `dir` is its folder. What is made meanwhile is the user's. */
export function guardWaiting(root: string, dir: string): void {
  const standIns = absentOf(root).filter((name) => HELD.has(name));
  if (standIns.length > 0) {
    note(waitingNotePath(dir), { root, dir, absent: standIns, standIns });
    counted.add(waitingNotePath(dir));
  }
  for (const name of standIns) standIn(join(root, name));
}

/** Its mounts are made: nothing stands in the project for it until its command begins. */
export function parkWaiting(dir: string): void {
  const path = waitingNotePath(dir);
  const guarded = noted(path);
  if (guarded === null) return;
  counted.delete(path);
  for (const name of guarded.standIns) park(join(guarded.root, name), `${dir}${name.replace('/', '')}`);
  rmSync(path, { force: true });
}

/** The sandbox that waited is gone. */
export function unparkWaiting(root: string): void {
  for (const name of HELD) unpark(join(root, name));
}

/** Of those that were inherited: also what no message here waits for has an end. */
function leaveEnded(): void {
  for (const [path, guarded] of inherited) {
    if (!isThere(path)) leaveAll(path, guarded);
    else if (isOver(path, guarded)) release(path, guarded);
  }
  clearTimeout(look);
  if (inherited.size > 0) look = setTimeout(lookAgain, LOOK_MS).unref();
}

function lookAgain(): void {
  try {
    leaveEnded();
  } catch {
    // The next command says what is the matter with its folder.
  }
}

/** After it and all that it started are gone. `dir` may be that of a command which another process has started. */
export function releaseControl(dir: string): void {
  const path = notePath(dir);
  const guarded = noted(path);
  if (guarded !== null) release(path, guarded);
}

/**
 * What commands of this project have left behind whose Odin is gone. Before this process runs its first: what stands in for one that runs
 * still, or is yet to be looked at, is not the project's, and must not go while a command of this process has it mounted.
 */
export function releaseLeft(root: string, commandsFolder: string): void {
  const folder = join(commandsFolder, NOTES);
  for (const name of statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const guarded = noted(path);
    if (guarded?.root !== root) continue;
    if (isOver(path, guarded)) release(path, guarded);
    else if (!counted.has(path)) {
      inherited.set(path, guarded);
      counted.add(path);
      for (const name of guarded.standIns) holdStandIn(join(root, name));
    }
  }
  leaveEnded();
}

function isOver(notedAt: string, { dir }: Guarded): boolean {
  const { kind } = shimState(dir);
  const age = Date.now() - (statSync(notedAt, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return kind !== 'running' && (kind !== 'absent' || age > STARTING_MS);
}

function leaveAll(notedAt: string, { root, standIns }: Guarded): void {
  inherited.delete(notedAt);
  const end = counted.delete(notedAt) ? leave : removeUnused;
  for (const name of standIns) end(join(root, name));
}

function release(notedAt: string, guarded: Guarded): void {
  const { root, dir, absent, standIns } = guarded;
  rmSync(notedAt, { force: true });
  leaveAll(notedAt, guarded);
  for (const name of absent) {
    const path = join(root, name);
    // Where something stood in, no command could make anything: what is there now is the user's.
    if (standIns.includes(name) || isAbsent(path) || leadsOut(path, root) || !isMade(path)) continue;
    const said = moveOut(path, join(dir, 'removed', name));
    if (statSync(dir, { throwIfNoEntry: false }))
      appendFileSync(
        join(dir, 'out'),
        `\n[odin: ${name} was made in the project, which only the user may do. ${said}]\n`,
      );
  }
}

/** A repository that a command makes has hooks of its own: there is nothing in it yet that somebody else runs. */
function absentOf(root: string): string[] {
  const git = gitFolder(root);
  const absent = NAMES.filter((name) => (name !== '.git/hooks' || git !== null) && isAbsent(join(root, name)));
  return [...absent, ...(git === null ? [] : innerGitAbsent(git).map((path) => relative(root, path)))];
}

const isAbsent = (path: string): boolean => standsIn(path) || !isThere(path);

/** What lies there was not made in the project: a command has made a link to it. */
const leadsOut = (path: string, root: string): boolean => !isInside(realOr(dirname(path)), root);

/** Something else than a stand-in. */
function isMade(path: string): boolean {
  try {
    if (!standsIn(path)) rmdirSync(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
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
const notePath = (dir: string, commandsFolder = dirname(dirname(dir))): string =>
  join(commandsFolder, NOTES, `${markOf(dir)}.json`);
/** Its folder is not yet in that of a session. */
const waitingNotePath = (dir: string): string => notePath(dir, dirname(dir));

function note(path: string, guarded: Guarded): void {
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
