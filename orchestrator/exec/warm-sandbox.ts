// A sandbox that is made before its command is known, since making one takes longer than most commands: 8 to 12 ms, while an answer of
// the model lies between two commands. It waits in the prepared shim (launcher.ts), knows nothing, and ends with it.
//
// What is mounted depends on what is there when the command begins. So right then, as for a new one, the arguments are made anew, and it is
// used only when they are the same, each place is the very one that was mounted, and the kernel lists the same mounts, in there and
// here: whatever was replaced, moved, added or unmounted meanwhile shows in one of these. Else it ends, and a new one is made.

import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isAlive, type ProcessIdentity } from '../process-identity.ts';
import { guardWaiting, parkWaiting, unparkWaiting } from './guard-control.ts';
import { mountedOf } from './sandbox.ts';

/** A sandbox that waits in a shim, with its output open in a folder that will be the command's. */
export interface Warm {
  /** Whether it is as one that was made now would be. */
  isAsNew(view: readonly string[]): boolean;
  /** From here on it and its folder are the command's. False: the folder cannot be this one. */
  take(dir: string): boolean;
  isOver(): boolean;
  end(): void;
}

/** How the shim makes it. */
export interface Warming {
  readonly dir: string;
  readonly argv: readonly string[];
  /** It is there with this pid; null: it could not be made. */
  made(pid: number | null): Warm | null;
}

/** What it holds open, such as a disk to be taken out, it does not hold for longer than that. */
const WAIT_MS = 60_000;

/** Says that it is up, then reads `bytes` and so many bytes: words, the last of which are the command's. */
const WAIT = `LC_ALL=C
export -n PWD OLDPWD SHLVL
echo up >&7; exec 7>&-
read -r bytes && read -r -N "$bytes" order && eval "$order"`;

const SHELL = ['/bin/bash', '--norc', '--noprofile', '-c', WAIT, 'odin-warm'];

/** How the folders begin. */
export const WARM = 'warm-';

let count = 0;

/** `view`: what a command would see now. */
export function warming(options: {
  readonly root: string;
  /** Of Odin's commands. */
  readonly folder: string;
  readonly profile: 'read-only' | 'read-write';
  readonly view: () => readonly string[];
}): Warming {
  const { root, folder, profile, view: viewNow } = options;
  const dir = join(folder, `${WARM}${process.pid}-${Math.random().toString(36).slice(2, 8)}${++count}`);
  const remove = () => {
    unparkWaiting(root);
    try {
      rmSync(dir, { recursive: true, force: true });
    } catch {
      // A later Odin removes it (commands.ts).
    }
  };
  const before = guarded(root, dir, profile, () => seen(viewNow()));
  return {
    dir,
    argv: [...before.view, '--clearenv', '--chdir', '/', '--', ...SHELL],
    made(pid) {
      const monitor = pid === null ? null : identityOf(pid);
      const child = monitor ? firstChild(monitor.pid) : '';
      const inside = mountsOf(child);
      const isSame = inside !== null && isStill(before, viewNow);
      parkWaiting(dir);
      if (monitor === null || !isSame) {
        if (monitor) kill(monitor);
        remove();
        return null;
      }
      const end = () => {
        clearTimeout(timer);
        kill(monitor);
        remove();
      };
      const timer = setTimeout(end, WAIT_MS).unref();
      return {
        isAsNew: (view) => isAlive(monitor) && isStill(before, () => view) && mountsOf(child) === inside,
        take(to) {
          try {
            renameSync(dir, to);
          } catch {
            return false;
          }
          clearTimeout(timer);
          return true;
        },
        isOver: () => !isAlive(monitor),
        end,
      };
    },
  };
}

/** With stand-ins for what is absent, until `made`; not when nothing comes of it. */
function guarded<T>(root: string, dir: string, profile: 'read-only' | 'read-write', look: () => T): T {
  try {
    if (profile === 'read-write') guardWaiting(root, dir);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    return look();
  } catch (error) {
    parkWaiting(dir);
    unparkWaiting(root);
    throw error;
  }
}

interface Seen {
  readonly view: readonly string[];
  /** Which file or folder each mounted place is. */
  readonly places: readonly string[];
  /** All that is mounted here. */
  readonly host: string | null;
}

const seen = (view: readonly string[]): Seen => ({
  view,
  places: mountedOf(view).map(identityOfPlace),
  host: mountsOf('self'),
});

/** What cannot be looked at is not the same. */
function isStill(before: Seen, view: () => readonly string[]): boolean {
  try {
    const now = seen(view());
    const isSame = now.host !== null && now.host === before.host && isSameList(now.view, before.view);
    return isSame && isSameList(now.places, before.places);
  } catch {
    return false;
  }
}

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((word, at) => word === b[at]);

function identityOfPlace(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}:${ino}`;
}

/** The mounts that a process sees; each has a number that is not used again while it lasts. */
function mountsOf(pid: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'latin1') || null;
  } catch {
    return null;
  }
}

/** The first process in the sandbox; '' when there is none. */
function firstChild(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ')[0] as string;
  } catch {
    return '';
  }
}

/** Bubblewrap's first process; what is in the sandbox ends with it. */
function kill(monitor: ProcessIdentity): void {
  try {
    if (isAlive(monitor)) process.kill(monitor.pid, 'SIGKILL');
  } catch {
    // Gone in this moment.
  }
}
