import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { removeTree } from '../../../orchestrator/batch/copy-tree.ts';
import { commitOf, stage } from '../../../orchestrator/batch/git.ts';
import { openPatchShell } from '../../../orchestrator/batch/patch-shell.ts';
import {
  openWorkingCopies,
  removeShared,
  taskFolder,
  workingCopies,
} from '../../../orchestrator/batch/working-copy.ts';
import { git, makeRepository } from '../../support/batch-world.ts';
import { until } from '../../support/until.ts';

test('O19: a task’s copy is the commit as git has it, shares no file with the repository, and its patch is what was changed', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-copies-')));
  try {
    const project = join(folder, 'project');
    makeRepository(project, {
      '.gitignore': 'ignored\n',
      'a.txt': 'one\n',
      'in/deep/b.txt': 'two\n',
      'run.sh': 'true\n',
    });
    chmodSync(join(project, 'run.sh'), 0o755);
    symlinkSync('in/deep', join(project, 'link'));
    git(project, 'add', '--all');
    git(project, 'commit', '--quiet', '-m', 'second');
    writeFileSync(join(project, 'a.txt'), 'not committed\n');
    const [home, base] = [join(folder, 'home'), (await commitOf(project, 'HEAD')) ?? ''];
    const copies = openWorkingCopies(home);
    const patches = openPatchShell();
    const own = (item: string) => {
      const copy = taskFolder(home, 'b', item, 0);
      return copies.own(copy, 'b', project, base).then((made) => (made.ok ? made.value : made.failure.message));
    };
    const [one, two] = await Promise.all([own('one'), own('two')]);
    const shared = await copies.shared(taskFolder(home, 'b', 'reads', 0), 'b', project, base);
    const status = [one, two, shared.ok ? shared.value : ''].map((copy) => git(copy, 'status', '--porcelain'));
    expect([status, git(one, 'rev-parse', 'HEAD').trim()]).toEqual([['', '', ''], base]);
    expect([readFileSync(join(one, 'a.txt'), 'utf8'), lstatSync(join(one, 'link')).isSymbolicLink()]).toEqual([
      'one\n',
      true,
    ]);
    expect(git(one, 'fsck', '--strict')).not.toContain('missing');

    const inode = (path: string) => lstatSync(path).ino;
    const theirs = new Set(filesIn(project).map(inode));
    expect(filesIn(one).filter((path) => theirs.has(inode(path)))).toEqual([]);

    expect(await patches.patchOf(one, base)).toEqual({ ok: true, value: '' });
    writeFileSync(join(one, 'a.txt'), 'ONE\n');
    writeFileSync(join(one, 'new.txt'), 'new\n');
    writeFileSync(join(one, 'ignored'), 'x');
    rmSync(join(one, 'in'), { recursive: true });
    const taken = await Promise.all([patches.patchOf(one, base), patches.patchOf(two, base)]);
    expect(taken).toMatchObject([{ ok: true }, { ok: true, value: '' }]);
    // Not at once with the other of the same copy: git locks its index.
    expect(await patches.patchOf(two, 'no-commit')).toMatchObject({ ok: false, failure: { code: 'no_patch' } });
    expect(taken[0]?.ok && taken[0].value.match(/^(\+|deleted|new)[^+].*$/gm)).toEqual([
      '+ONE',
      'deleted file mode 100644',
      'new file mode 100644',
      '+new',
    ]);
    await patches.close();

    await Promise.all(['one', 'two', 'reads'].map((item) => removeTree(taskFolder(home, 'b', item, 0))));
    await removeShared(home, 'b');
    expect(readdirSync(workingCopies(home))).toEqual([]);
    expect([existsSync(join(project, '.git')), git(project, 'fsck')]).toEqual([true, '']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('SAFETY 2.4: a patch is taken without running what a repository inside of the copy names', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-inner-')));
  const patches = openPatchShell();
  try {
    const [copy, ran] = [join(folder, 'copy'), join(folder, 'ran')];
    makeRepository(copy, { 'a.txt': 'one\n' });
    const base = git(copy, 'rev-parse', 'HEAD').trim();
    for (const name of ['inner', 'in "quotes"']) {
      const inner = join(copy, name);
      makeRepository(inner, { 'b.txt': 'two\n' });
      git(inner, 'config', 'filter.x.clean', `touch ${ran}; cat`);
      git(copy, 'add', name);
      // Of the same length, so that git has to read it to know.
      writeFileSync(join(inner, 'b.txt'), 'TWO\n');
      writeFileSync(join(inner, '.gitattributes'), '* filter=x\n');
    }
    git(copy, 'status');
    expect(existsSync(ran)).toBe(true);
    rmSync(ran);
    writeFileSync(join(copy, 'a.txt'), 'ONE\n');
    const patch = await patches.patchOf(copy, base);
    expect(patch.ok && patch.value).toContain('+ONE');
    git(copy, 'update-index', '--no-skip-worktree', 'inner', 'in "quotes"');
    expect(await stage(copy)).toMatchObject({ code: 0 });
    expect(existsSync(ran)).toBe(false);
  } finally {
    await patches.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('SAFETY 6: nothing of a patch stays behind when the process that takes it is killed', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-killed-')));
  const module = new URL('../../../orchestrator/batch/patch-shell.ts', import.meta.url).href;
  const program = `
    const { openPatchShell } = await import(${JSON.stringify(module)});
    await openPatchShell().patchOf('/', 'HEAD');
    console.log('taken');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env['PATH'], TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    expect(readdirSync(folder)).toHaveLength(1);
    child.kill('SIGKILL');
    await until(() => readdirSync(folder).length === 0);
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
