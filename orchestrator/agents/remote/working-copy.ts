// What an agent on another machine works on (SPEC C5): a clone at the commit of its parent's working copy, made the same as that by a patch,
// and what the agent changed as a patch again. The parent's repository is only read: index and new objects are in a scratch folder, and its
// own settings of git hold for none of it.

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { fail, type Outcome, ok } from '../../../shared/outcome.ts';
import type { Scrub } from '../../../shared/scrub.ts';
import { isSecretFile } from '../../../tools/protected-paths.ts';
import { removeTree } from '../../batch/copy-tree.ts';
import { commitOf, filesOf, firstLine, git, makeClone, STAGED_PATCH, stage } from '../../batch/git.ts';

export const MAX_PATCH_BYTES = 8 * 1024 * 1024;

const refused = (code: string, message: string) => fail('failed', code, message);

/** A place for git to work in beside a repository, with its objects to read. Remove `folder` when done. */
async function openScratch(
  repository: string,
): Promise<Outcome<{ readonly folder: string; readonly args: readonly string[] }>> {
  const found = await git(repository, [
    'rev-parse',
    '--git-path',
    'objects',
    '--git-path',
    'index',
    '--show-object-format',
  ]);
  const [objects = '', index = '', format = ''] = found.stdout.split('\n');
  if (found.code !== 0) return refused('no_repository', `${repository} cannot be read: ${firstLine(found)}`);
  const folder = await mkdtemp(join(tmpdir(), 'odin-scratch-'));
  const bare = join(folder, 'git');
  const made = await git(folder, ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, '--', bare]);
  if (made.code !== 0) {
    await removeTree(folder);
    return refused('no_scratch', `No scratch folder can be made: ${firstLine(made)}`);
  }
  const whole = (path: string) => (isAbsolute(path) ? path : resolve(repository, path));
  mkdirSync(join(bare, 'objects', 'info'), { recursive: true });
  writeFileSync(join(bare, 'objects', 'info', 'alternates'), `${whole(objects)}\n`);
  for (const [from, to] of [
    // With it git need not read the files that have not changed.
    [whole(index), join(bare, 'index')],
    [join(whole(objects), '..', 'info', 'exclude'), join(bare, 'info', 'exclude')],
  ] as const) {
    try {
      mkdirSync(join(to, '..'), { recursive: true });
      copyFileSync(from, to);
    } catch {
      // It is faster with them; and without, nothing is excluded but by .gitignore.
    }
  }
  return ok({ folder, args: [`--git-dir=${bare}`, `--work-tree=${repository}`] });
}

export interface ParentCopy {
  readonly base: string;
  /** '' when the working copy is the commit. */
  readonly patch: string;
}

/** What the working copy of a repository is: its commit, and what was changed since. Fails when it cannot go elsewhere. */
export async function describeCopy(repository: string, scrub: Scrub): Promise<Outcome<ParentCopy>> {
  const base = await commitOf(repository, 'HEAD');
  if (base === null) return refused('no_commit', `${repository} has no commit yet`);
  const scratch = await openScratch(repository);
  if (!scratch.ok) return scratch;
  const { folder, args } = scratch.value;
  try {
    const added = await stage(repository, args);
    if (added.code !== 0)
      return refused('no_patch', `what was changed in ${repository} cannot be read: ${firstLine(added)}`);
    const diff = await git(repository, [...args, ...STAGED_PATCH, base, '--']);
    if (diff.code !== 0)
      return refused('no_patch', `what was changed in ${repository} cannot be read: ${firstLine(diff)}`);
    const why = unfit(diff.stdout, scrub);
    return why === null ? ok({ base, patch: diff.stdout }) : refused('unfit_patch', `what is not committed ${why}`);
  } finally {
    await removeTree(folder);
  }
}

/** Why a patch must not go through Redis to another machine. */
function unfit(patch: string, scrub: Scrub): string | null {
  if (Buffer.byteLength(patch) > MAX_PATCH_BYTES) return `is more than ${MAX_PATCH_BYTES / 1024 / 1024} MB`;
  if (patch.includes('\uFFFD')) return 'is not all UTF-8 text';
  const secret = filesOf(patch).find((path) => isSecretFile(basename(path)));
  if (secret !== undefined) return `holds ${secret}, which may have passwords or keys`;
  return scrub(patch) === patch ? null : 'holds what looks like a key or a password';
}

/**
 * A clone in `folder` that is what the parent's working copy was. The tree's id: what is changed is changed since that. `shares`, as for
 * `makeClone`, is for copies that no command can write to.
 */
export async function makeCopy(
  repository: string,
  { base, patch }: ParentCopy,
  folder: string,
  { shares }: { readonly shares: boolean },
): Promise<Outcome<string>> {
  const fresh = `${folder}.new`;
  await Promise.all([removeTree(folder), removeTree(fresh)]);
  try {
    const made = await makeClone(repository, base, fresh, { shares });
    if (!made.ok) return made;
    if (patch !== '') {
      const applied = await git(fresh, ['apply', '--index', '-'], patch);
      if (applied.code !== 0) {
        return refused('no_working_copy', `What the parent had changed does not fit its commit: ${firstLine(applied)}`);
      }
    }
    const tree = await git(fresh, ['write-tree']);
    if (tree.code !== 0) return refused('no_working_copy', firstLine(tree));
    await writeFile(treeFile(folder), tree.stdout.trim());
    await rename(fresh, folder);
    return ok(tree.stdout.trim());
  } finally {
    await removeTree(fresh);
  }
}

/** The tree of a copy that is there; null when there is none. */
export const treeOfCopy = (folder: string): Promise<string | null> =>
  existsSync(folder) ? readFile(treeFile(folder), 'utf8').catch(() => null) : Promise.resolve(null);

export const removeCopy = async (folder: string): Promise<void> => {
  await Promise.all([removeTree(folder), rm(treeFile(folder), { force: true })]);
};

const KEPT = '.kept';

/** Where a copy whose changes could not be taken stays for its user: no worker clears it away. */
export const keptCopy = (folder: string): string => folder + KEPT;
export const isKeptCopy = (name: string): boolean => name.endsWith(KEPT);

const treeFile = (folder: string): string => `${folder}.tree`;

/** What was changed in a copy since it was made; '' when nothing was. Holds no secret and is not without end. */
export async function takePatch(folder: string, tree: string, scrub: Scrub): Promise<Outcome<string>> {
  const added = await stage(folder);
  const diff = await git(folder, [...STAGED_PATCH, tree, '--']);
  if (added.code !== 0 || diff.code !== 0) {
    return refused('no_patch', `What it changed cannot be read: ${firstLine(added.code === 0 ? diff : added)}`);
  }
  const why = unfit(diff.stdout, scrub);
  return why === null ? ok(diff.stdout) : refused('unfit_patch', `What it changed ${why}, so it was not taken.`);
}

/** One file of a patch, whole: null where there is none. */
export interface ChangedFile {
  /** From the repository's top. */
  readonly path: string;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly isExecutable: boolean;
}

/** The files of a patch that was made in a copy, from what the copy began with to what it became. */
export async function filesOfPatch(
  repository: string,
  { base, patch: begin }: ParentCopy,
  patch: string,
): Promise<Outcome<readonly ChangedFile[]>> {
  const scratch = await openScratch(repository);
  if (!scratch.ok) return scratch;
  const { folder, args } = scratch.value;
  const run = (more: readonly string[], input?: string) => git(repository, [...args, ...more], input);
  const wrong = (what: string) => refused('bad_patch', `The patch cannot be read: ${what}`);
  try {
    const read = await run(['read-tree', base]);
    if (read.code !== 0) return wrong(firstLine(read));
    if (begin !== '') {
      const began = await run(['apply', '--cached', '-'], begin);
      if (began.code !== 0) return wrong(firstLine(began));
    }
    const tree = await run(['write-tree']);
    if (tree.code !== 0) return wrong(firstLine(tree));
    const before = join(folder, 'before/');
    const after = join(folder, 'after/');
    // What git would put into a working copy, line endings and all.
    const putOut = async (paths: readonly string[], to: string): Promise<boolean> => {
      if (paths.length === 0) return true;
      const input = paths.map((path) => `${path}\0`).join('');
      return (await run(['checkout-index', '--quiet', '-z', '--stdin', `--prefix=${to}`], input)).code === 0;
    };
    const applied = await run(['apply', '--cached', '-'], patch);
    if (applied.code !== 0) return wrong(firstLine(applied));
    const raw = await run(['diff', '--cached', '--raw', '-z', '--no-abbrev', '--no-renames', tree.stdout.trim(), '--']);
    if (raw.code !== 0) return wrong(firstLine(raw));
    const entries = rawEntries(raw.stdout);
    const odd = entries.find(({ modes }) => modes.some((mode) => !/^(000000|100644|100755)$/.test(mode)));
    if (odd) return wrong(`${odd.path} is a link or a repository of its own, not a file.`);
    const paths = (side: 0 | 1) => entries.flatMap(({ path, modes }) => (modes[side] === '000000' ? [] : [path]));
    if (!(await putOut(paths(1), after))) return wrong('its files cannot be written out.');
    const back = await run(['read-tree', tree.stdout.trim()]);
    if (back.code !== 0 || !(await putOut(paths(0), before))) return wrong('its files cannot be written out.');
    const bytes = (folder: string, path: string, mode: string) =>
      mode === '000000' ? null : readFileSync(join(folder, path));
    return ok(
      entries.map(({ path, modes: [was, is] }) => ({
        path,
        before: bytes(before, path, was),
        after: bytes(after, path, is),
        isExecutable: is === '100755',
      })),
    );
  } finally {
    await removeTree(folder);
  }
}

/** `:<mode> <mode> <id> <id> <status>\0<path>\0`, again and again. */
function rawEntries(raw: string): readonly { readonly path: string; readonly modes: readonly [string, string] }[] {
  const parts = raw.split('\0');
  const entries: { readonly path: string; readonly modes: readonly [string, string] }[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [was = '', is = ''] = (parts[i] ?? '').slice(1).split(' ');
    entries.push({ path: parts[i + 1] ?? '', modes: [was, is] });
  }
  return entries;
}
