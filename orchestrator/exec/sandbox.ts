// Confinement of commands with bubblewrap (SAFETY 2.4): what a command may see and write, whatever its text says. One function
// wraps a command line; whether it works on this machine is tried once and remembered.

import { execFile } from 'node:child_process';
import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { ExtraPath, SandboxStatus } from '../../shared/exec-port.ts';
import { isInside } from '../files/resolve-path.ts';
import { gitFolder, innerGitMounts } from './inner-git.ts';

export interface Confinement {
  /** Real path of the project's root. */
  readonly root: string;
  readonly cwd: string;
  readonly profile: 'read-only' | 'read-write';
  readonly network: boolean;
  readonly extraPaths: readonly ExtraPath[];
  /** Odin's own state: never visible, since its sockets would answer. */
  readonly hidden: readonly string[];
  /** The user's home. */
  readonly home: string;
  /** Stands in for the user's git settings; null: none. */
  readonly gitConfig: string | null;
  readonly env: Readonly<Record<string, string>>;
}

/** Wraps a command line so that it runs confined. */
export type Sandbox = (argv: readonly string[], confinement: Confinement) => readonly string[];

/** The system's own first: distributions allow user namespaces by that path. */
const PROGRAMS = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'];

const NAMESPACES = [
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--disable-userns', '--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
];

const VIEW = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp', '--tmpfs', '/run'];

/** Inside the project, read-only even where the rest is writable: what runs later, outside, because it stands there. */
const PROTECTED = [
  ...['.git/hooks', '.git/config', '.git/config.worktree', '.git/commondir', 'odinconfig.json', '.odin'],
  ...['.husky', '.githooks', '.vscode', '.idea', '.envrc', '.mcp.json'],
];

/** Below the home, which is otherwise empty: programs and compilers, no credentials. */
const TOOLCHAINS = [
  ...[
    '.nvm',
    '.volta',
    '.fnm',
    '.asdf',
    '.pyenv',
    '.rbenv',
    '.rustup',
    '.cargo/bin',
    '.deno/bin',
    '.bun/bin',
    '.sdkman',
  ],
  ...['.local/bin', '.local/share/mise', '.local/share/pnpm', '.local/pipx', 'go/bin', 'bin'],
];

export const bwrapSandbox =
  (program: string): Sandbox =>
  (argv, confinement) => [program, ...bwrapArguments(confinement), '--', ...argv];

/** Of a confined command line: what it sees. After it come environment, folder and command. */
export const viewOf = (confined: readonly string[]): readonly string[] =>
  confined.slice(0, confined.indexOf(ENVIRONMENT));

/** What is mounted from outside, other than as a whole. */
export const mountedOf = (view: readonly string[]): readonly string[] =>
  view.filter((path, at) => /^--(?:ro-)?bind$/.test(view[at - 1] ?? '') && path !== '/');

const ENVIRONMENT = '--clearenv';

function bwrapArguments(confinement: Confinement): readonly string[] {
  const { root, cwd, profile, network, extraPaths, hidden, home, gitConfig, env } = confinement;
  const writable = profile === 'read-write';
  const below = (folder: string, names: readonly string[]) =>
    names.map((name) => join(folder, name)).filter(existsSync);
  const readOnly = (path: string) => ['--ro-bind', path, path];
  const git = writable ? gitFolder(root) : null;
  return [
    ...NAMESPACES,
    ...(network ? [] : ['--unshare-net']),
    ...VIEW,
    ...(network ? resolverFile() : []),
    ...homesOf(home).flatMap((path) => ['--tmpfs', path]),
    ...below(home, TOOLCHAINS).flatMap(readOnly),
    ...(gitConfig === null || home === '/' ? [] : ['--ro-bind', gitConfig, join(home, '.gitconfig')]),
    // A folder before what is below it, which it would hide; where both are the same place, what is written stays so.
    ...extraPaths
      .flatMap(({ path, access }) => {
        const place = placeOf(path, access, [root, home, ...hidden]);
        return place === null ? [] : [{ place, access }];
      })
      .toSorted((a, b) => a.place.length - b.place.length || a.access.localeCompare(b.access))
      .flatMap(({ place, access }) => [access === 'write' ? '--bind' : '--ro-bind', place, place]),
    ...(writable ? ['--bind', root, root] : readOnly(root)),
    // A mount cannot be renamed: without this one, a new .git in its place would have hooks of its own.
    ...(git === null ? [] : ['--bind', git, git, ...innerGitMounts(git)]),
    ...(writable ? protectedIn(root).flatMap(readOnly) : []),
    ...hidden.flatMap(hide),
    ENVIRONMENT,
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', cwd],
  ];
}

/**
 * By their real paths. A link that a command made may lead out of the project, where nothing can be written: a mount would only show
 * what is hidden there. A file `.git` says where settings and hooks are.
 */
function protectedIn(root: string): readonly string[] {
  const isFile = lstatSync(join(root, '.git'), { throwIfNoEntry: false })?.isFile();
  return [...PROTECTED, ...(isFile ? ['.git'] : [])]
    .map((name) => join(root, name))
    .filter(existsSync)
    .map((path) => realpathSync(path))
    .filter((path) => isInside(path, root));
}

/**
 * What is mounted for an allowed path. A file to be made needs its folder; not when that folder holds the project, the home
 * or Odin's state, for that would allow more than was asked.
 */
function placeOf(path: string, access: 'read' | 'write', precious: readonly string[]): string | null {
  if (existsSync(path)) return path;
  const folder = dirname(path);
  const wide =
    folder === '/' || dirname(folder) === '/' || precious.some((place) => `${place}/`.startsWith(`${folder}/`));
  return access === 'write' && !wide && existsSync(folder) ? folder : null;
}

/** A folder is empty in there, a socket nothing that answers. What lies in a folder that is hidden is so already. */
function hide(path: string, at: number, hidden: readonly string[]): readonly string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat || hidden.indexOf(path) < at || hidden.some((other) => path.startsWith(`${other}/`))) return [];
  return stat.isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];
}

/** The home in use and that of the account, which differ where HOME was set: neither is seen. */
function homesOf(home: string): readonly string[] {
  let account = home;
  try {
    account = realpathSync(userInfo().homedir);
  } catch {
    // No entry for this user, or no such folder: nothing to hide.
  }
  return [...new Set([home, account])].filter((path) => path !== '/').toSorted((a, b) => a.length - b.length);
}

/** Names are resolved through a file that may lie in /run, which is masked. */
function resolverFile(): readonly string[] {
  try {
    const file = realpathSync('/etc/resolv.conf');
    return file.startsWith('/run/') ? ['--ro-bind', file, file] : [];
  } catch {
    return [];
  }
}

export interface FoundSandbox {
  readonly status: SandboxStatus;
  /** Null when commands run unconfined. */
  readonly sandbox: Sandbox | null;
}

let found: Promise<FoundSandbox> | undefined;

/** The sandbox of this machine, found by running `true` in it, once. */
export function findSandbox(): Promise<FoundSandbox> {
  found ??= detect(PROGRAMS);
  return found;
}

/** Tries bubblewrap at these paths. */
export async function detect(programs: readonly string[]): Promise<FoundSandbox> {
  const none = (reason: string): FoundSandbox => ({ status: { kind: 'none', reason }, sandbox: null });
  if (process.platform !== 'linux')
    return none(`Commands run without a sandbox: there is none for ${process.platform}.`);
  const program = programs.find((path) => existsSync(path));
  if (program === undefined) {
    return none(
      'Commands run without a sandbox: bubblewrap is not installed (apt install bubblewrap, dnf install bubblewrap).',
    );
  }
  const complaint = await tryOut(program, [...NAMESPACES, '--unshare-net', ...VIEW]);
  if (complaint === null) return { status: { kind: 'bwrap' }, sandbox: bwrapSandbox(program) };
  const cause = (await tryOut(program, ['--unshare-user', '--ro-bind', '/', '/'])) === null ? MOUNTS : USER_NAMESPACES;
  return none(`Commands run without a sandbox: ${program} does not work here (${complaint}). ${cause}`);
}

const MOUNTS = 'A network or process namespace, or mounting /proc, is not allowed here, as in many containers.';
const USER_NAMESPACES =
  'User namespaces are not allowed for it: see sysctl kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns.';

/** What it complained about, or null. */
function tryOut(program: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...args, '--', 'true'],
      { timeout: 5_000, env: { PATH: '/usr/bin:/bin' } },
      (error, _out, err) => {
        resolve(error === null ? null : err.trim().split('\n')[0] || `it ended with ${error.code ?? error.signal}`);
      },
    );
  });
}
