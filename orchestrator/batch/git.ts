// Git as Odin itself runs it for a batch (SAFETY 2.4). Tasks work in clones: those have their own .git, so that commands in the sandbox
// find a whole repository and can harm none but it, and they have nothing of the repository's settings: no hooks, no filters, no
// monitors, since a clone takes objects and names and no configuration.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { removeTree } from './copy-tree.ts';

/** Before every command. */
export const SAFE = [
  ...['-c', 'core.quotePath=false'],
  ...['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'protocol.allow=never'],
  ...['-c', 'protocol.file.allow=always', '-c', 'core.untrackedCache=false', '-c', 'gc.auto=0'],
];

/** Nothing of the user's environment steers it, and nothing of the user's or the system's settings holds. */
export const gitEnv = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
});

const MAX_OUTPUT = 64 * 1024 * 1024;

interface GitRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One command of git, as safely as this file can run it. */
export function git(cwd: string, args: readonly string[], input?: string): Promise<GitRun> {
  return new Promise((resolve) => {
    const options = { cwd, env: gitEnv(), maxBuffer: MAX_OUTPUT, encoding: 'utf8' as const };
    const child = execFile('git', [...SAFE, '--no-pager', ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 128;
      resolve({ code, stdout, stderr: error !== null && stderr === '' ? error.message : stderr });
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });
}

export const firstLine = ({ stderr }: GitRun): string => stderr.trim().split('\n')[0] ?? '';

/** The top folder of the repository that a folder lies in; null when it lies in none. */
export async function repositoryOf(folder: string): Promise<string | null> {
  const run = await git(folder, ['rev-parse', '--show-toplevel']);
  return run.code === 0 ? run.stdout.replace(/\n$/, '') : null;
}

/** The commit that a name stands for; null when there is none. */
export async function commitOf(repository: string, name: string): Promise<string | null> {
  const run = await git(repository, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]);
  return run.code === 0 ? run.stdout.trim() : null;
}

/**
 * A working copy of a commit. What stood there goes; what a failure leaves there is for the caller to remove. `shares`: its objects are
 * second names of the repository's own files.
 */
export async function makeClone(
  repository: string,
  commit: string,
  folder: string,
  { shares = true }: { readonly shares?: boolean } = {},
): Promise<Outcome<null>> {
  await removeTree(folder);
  // Of a file's state, what a copy of it has too.
  const copied = ['-c', 'core.checkStat=minimal', '-c', 'core.trustctime=false'];
  const how = shares ? copied : [...copied, '--no-hardlinks'];
  const args = ['clone', '--quiet', '--no-checkout', '--template=', ...how, '--', repository, folder];
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  let cloned = await git(repository, args);
  // Another process may have cleared the folder above while it was empty.
  if (cloned.code !== 0 && !existsSync(dirname(folder))) {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    cloned = await git(repository, args);
  }
  if (cloned.code !== 0) return cloneFailed(`${repository} cannot be cloned: ${firstLine(cloned)}`);
  const out = await git(folder, ['checkout', '--quiet', '--detach', commit]);
  if (out.code !== 0)
    return cloneFailed(`${repository} has no commit ${commit} that can be checked out: ${firstLine(out)}`);
  return ok(null);
}

/** Fewer files and folders: loose objects and names become packs. Where it fails there are more of them. */
export async function packClone(folder: string): Promise<void> {
  await git(folder, ['repack', '-d', '--quiet']);
  await git(folder, ['pack-refs', '--all']);
}

const cloneFailed = (message: string) => fail('failed', 'no_working_copy', message);

const STAGE = ['add', '--all'] as const;
/** Says as one patch what is staged and not as in a commit, whose name comes next and then `--`. */
export const STAGED_PATCH = [
  ...['diff', '--cached', '--binary', '--no-renames', '--full-index', '--no-ext-diff', '--no-textconv', '--no-color'],
  ...['--src-prefix=a/', '--dst-prefix=b/'],
] as const;

/**
 * Stages everything that was changed, new files included and ignored ones not. For a repository inside of the folder that is in its index,
 * `git add` runs `git status` in there, and with it the programs which that one's settings name: whoever works in the folder can write
 * them. So these entries stay as they are. `before`: options of git itself.
 */
export async function stage(folder: string, before: readonly string[] = []): Promise<GitRun> {
  const listed = await git(folder, [...before, 'ls-files', '--stage', '-z']);
  if (listed.code !== 0) return listed;
  const inner = [...listed.stdout.matchAll(/(?<=^|\0)160000 [0-9a-f]+ 0\t([^\0]*\0)/g)].map(([, path]) => path);
  if (inner.length > 0) {
    const skipped = await git(folder, [...before, 'update-index', '-z', ...LEFT_ALONE], inner.join(''));
    if (skipped.code !== 0) return skipped;
  }
  return git(folder, [...before, ...STAGE]);
}

const LEFT_ALONE = ['--skip-worktree', '--stdin'] as const;

/** As `stage`, for a shell that is in the folder; `call` is git with its options. */
export const stageScript = (call: string): string =>
  [
    `inner=$(${call} ls-files --stage | sed -n 's/^160000 [0-9a-f]* 0.//p')`,
    `{ [ -z "$inner" ] || printf '%s\\n' "$inner" | ${call} update-index ${LEFT_ALONE.join(' ')}; }`,
    `${call} ${STAGE.join(' ')}`,
  ].join(' && ');

/** The files that a patch of `patchOf` changes; a name with odd characters is quoted as git does it. */
export const filesOf = (patch: string): readonly string[] =>
  [...patch.matchAll(/^diff --git (?:a\/(.+) b\/\1|"a\/.*" ("b\/.*"))$/gm)].map(
    ([, plain, quoted]) => plain ?? quoted ?? '',
  );

export type Applied = 'applied' | 'already' | 'conflict';

/** Applies a patch to the files of a repository's working copy: as it is, or by a merge of three; in conflict nothing is changed. */
export async function applyPatch(repository: string, patch: string): Promise<Applied> {
  const backwards = await git(repository, ['apply', '--check', '--reverse', '-'], patch);
  if (backwards.code === 0) return 'already';
  // A merge leaves marks of conflict behind, so what cannot be merged cleanly is tried on paper first.
  for (const how of [[], ['--3way']]) {
    const tried = await git(repository, ['apply', '--check', ...how, '-'], patch);
    if (tried.code !== 0 || tried.stderr.includes('with conflicts')) continue;
    const applied = await git(repository, ['apply', ...how, '-'], patch);
    return applied.code === 0 ? 'applied' : 'conflict';
  }
  return 'conflict';
}

/** A branch with one commit, made of a patch to a commit, without touching any working copy. */
export async function branchOf(
  repository: string,
  {
    name,
    base,
    patch,
    subject,
  }: { readonly name: string; readonly base: string; readonly patch: string; readonly subject: string },
  scratch: string,
): Promise<Outcome<string>> {
  const wrong = (run: GitRun) => fail('failed', 'no_branch', `${name}: ${firstLine(run)}`);
  const named = await git(repository, ['check-ref-format', '--branch', name]);
  if (named.code !== 0) return fail('failed', 'no_branch', `"${name}" cannot be the name of a branch.`);
  const made = await makeClone(repository, base, scratch);
  if (!made.ok) return made;
  try {
    const applied = await git(scratch, ['apply', '--index', '-'], patch);
    if (applied.code !== 0) return wrong(applied);
    const who = ['-c', 'user.name=Odin', '-c', 'user.email=odin@localhost', '-c', 'commit.gpgSign=false'];
    const committed = await git(scratch, [...who, 'commit', '--quiet', '--no-verify', '-m', subject]);
    if (committed.code !== 0) return wrong(committed);
    const fetched = await git(repository, [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      scratch,
      `HEAD:refs/heads/${name}`,
    ]);
    return fetched.code === 0 ? ok(name) : wrong(fetched);
  } finally {
    await removeTree(scratch);
  }
}
