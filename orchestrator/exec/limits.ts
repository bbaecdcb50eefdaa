// What one command may use up (SAFETY 2.4): processes, the size of a file, time on the processors. RLIMIT_NPROC counts what runs in
// the sandbox alone, but never binds root; root gets a cgroup for each command. What no limit is set for, and why:
// address space, because compilers and runtimes reserve far more of it than they use. Memory in short supply is the kernel's to
// take back, from commands first (shim.ts).

import { mkdirSync, readdirSync, readFileSync, rmdir, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, release } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** How the number of processes of a command is limited here. */
export type ProcessLimit =
  /** `folder` is a cgroup below which each command gets its own. */
  | { readonly kind: 'cgroup'; readonly folder: string }
  | { readonly kind: 'user' }
  | { readonly kind: 'none'; readonly reason: string };

/** Threads count too. Large builds stay far below; a machine bears as many. */
export const MAX_PROCESSES = 2_048;
const MAX_FILE_KIB = 16 * 1024 * 1024;
const CPU_SLACK_S = 60;
const OWN = 'odin-';
const OLD_MS = 60_000;
const RETRY_MS = 20;

let found: ProcessLimit | undefined;

/** Tried once for the process, then remembered. */
export function findProcessLimit(): ProcessLimit {
  found ??= detectLimit();
  return found;
}

function detectLimit(): ProcessLimit {
  if (process.platform !== 'linux') {
    return {
      kind: 'none',
      reason: `The number of a command's processes is not limited: there is no way on ${process.platform}.`,
    };
  }
  if (!isRoot()) return { kind: 'user' };
  const folder = cgroupPlaces().find(canLimit);
  if (folder !== undefined) {
    sweep(folder);
    return { kind: 'cgroup', folder };
  }
  const reason =
    "The number of a command's processes is not limited: for root that takes a cgroup with a pids controller, and none can be made here. Run Odin as another user.";
  return { kind: 'none', reason };
}

/** Root of the machine, whom RLIMIT_NPROC does not bind. Root of a container with users of its own is somebody else outside. */
function isRoot(): boolean {
  if (process.getuid?.() !== 0) return false;
  const [inside, outside] = readOr('/proc/self/uid_map').trim().split(/\s+/);
  return inside === '0' && outside === '0';
}

/** The shell's own limits, as the beginning of a script: set inside of the sandbox, they count what runs in there. */
export function shellLimits(
  limit: ProcessLimit,
  { confined, timeoutMs, max }: { readonly confined: boolean; readonly timeoutMs: number | null; readonly max: number },
): string {
  const limits = [`-f ${MAX_FILE_KIB}`];
  // For a command whose Odin died and that nobody stops in time any more. Each of its threads may use a processor.
  if (timeoutMs !== null) limits.push(`-t ${Math.ceil(timeoutMs / 1_000) * availableParallelism() + CPU_SLACK_S}`);
  if (limit.kind === 'user') limits.push(`-u ${max + (confined && countsBySandbox() ? 0 : threadsOfUser())}`);
  return limits.map((one) => `ulimit ${one} 2>/dev/null; `).join('');
}

/** Makes a cgroup for a command; null where there is none. The shim joins it before it starts the command. */
export function openCgroup(limit: ProcessLimit, name: string, max: number): string | null {
  if (limit.kind !== 'cgroup') return null;
  const folder = join(limit.folder, `${OWN}${name}`);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'pids.max'), String(max));
    return folder;
  } catch {
    removeCgroup(folder, 1);
    return null;
  }
}

/** The cgroup of a command's shim that an earlier process started, as the kernel says; null when it is in none of ours. */
export function cgroupOf(limit: ProcessLimit, shim: number): string | null {
  if (limit.kind !== 'cgroup') return null;
  const names = readOr(`/proc/${shim}/cgroup`)
    .split('\n')
    .map((line) => basename(line))
    .filter((name) => name.startsWith(OWN));
  return names.map((name) => join(limit.folder, name)).find((folder) => pidsInCgroup(folder).includes(shim)) ?? null;
}

/** Whether the next command may have it: nothing runs in there, and it was not swept away. */
export const isFreeCgroup = (folder: string): boolean => readOr(join(folder, 'cgroup.procs'), 'gone') === '';

/** From here on nothing in it starts another process, so that killing comes to an end. */
export function freezeCgroup(folder: string): void {
  try {
    writeFileSync(join(folder, 'pids.max'), '0');
  } catch {
    // Gone with its last process.
  }
}

export const pidsInCgroup = (folder: string): readonly number[] =>
  readOr(join(folder, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);

/**
 * What was killed takes a moment to be gone. A cgroup that stays in use is left to a later Odin. Nobody waits for it: the kernel
 * takes some milliseconds for each.
 */
export function removeCgroup(folder: string, tries = 25): void {
  rmdir(folder, (error) => {
    if (error?.code === 'EBUSY' && tries > 1) setTimeout(() => removeCgroup(folder, tries - 1), RETRY_MS).unref();
  });
}

/** Since Linux 5.14 a user namespace counts for itself. */
function countsBySandbox(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** Everything that already runs as this user: the limit is one of the user, not of the command. */
function threadsOfUser(): number {
  const uid = process.getuid?.();
  let threads = 0;
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid !== uid) continue;
    threads += Number(/^Threads:\s*(\d+)/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? 1);
  }
  return threads;
}

/** Where a cgroup with a pids controller may be made: the own one, then those above it. */
function cgroupPlaces(): readonly string[] {
  const own = readOr('/proc/self/cgroup')
    .split('\n')
    .map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line));
  return readOr('/proc/self/mountinfo')
    .split('\n')
    .flatMap((line) => {
      const [mount = '', rest = ''] = line.split(' - ');
      const [, , , root = '', at = ''] = mount.split(' ');
      const [type, , options = ''] = rest.split(' ');
      const isPids = type === 'cgroup' && options.split(',').includes('pids');
      if (!isPids && type !== 'cgroup2') return [];
      const path = own.find((entry) => (isPids ? entry?.[1]?.split(',').includes('pids') : entry?.[1] === ''))?.[2];
      return path === undefined ? [] : foldersUp(at, path, root);
    });
}

function foldersUp(mount: string, path: string, mountRoot: string): readonly string[] {
  const below = mountRoot !== '/' && path.startsWith(mountRoot) ? path.slice(mountRoot.length) : path;
  // A cgroup outside of this namespace is told as /../…
  const folders = [join(mount, below.startsWith('/..') ? '/' : below)];
  for (let folder = folders[0] as string; folder !== mount && folder !== '/'; ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}

/** Tried for real: made, limited, removed. */
function canLimit(parent: string): boolean {
  const folder = join(parent, `${OWN}try-${process.pid}`);
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, 'pids.max'), '1');
    return true;
  } catch {
    return false;
  } finally {
    removeCgroup(folder, 1);
  }
}

/** Cgroups of commands that outlived their Odin and are over by now. One in use cannot be removed. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(OWN)) continue;
    const made = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs;
    if (made !== undefined && Date.now() - made > OLD_MS) removeCgroup(join(folder, name), 1);
  }
}

function readOr(path: string, otherwise = ''): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}
