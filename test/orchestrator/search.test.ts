import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, open, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GlobQuery, GrepQuery } from '../../shared/search-port.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
const never = new AbortController().signal;

beforeAll(async () => {
  bench = await openReadBench();
});
afterAll(() => bench.close());

const folder = async (name: string, files: Record<string, string | Uint8Array>): Promise<string> => {
  for (const [file, content] of Object.entries(files)) await bench.write(`${name}/${file}`, content);
  return join(bench.root, name);
};

async function grep(query: Partial<GrepQuery> & Pick<GrepQuery, 'pattern' | 'path'>) {
  const outcome = await bench.ctx.search.grep({ output: 'content', limit: 100, ...query }, never);
  if (!outcome.ok) throw new Error(outcome.failure.message);
  return outcome.value;
}

async function globbed(query: Partial<GlobQuery> & Pick<GlobQuery, 'pattern' | 'path'>) {
  const outcome = await bench.ctx.search.glob({ limit: 100, ...query }, never);
  if (!outcome.ok) throw new Error(outcome.failure.message);
  return outcome.value.files.map((file) => file.path.slice(query.path.length + 1));
}

const names = (path: string, files: readonly { readonly path: string }[]) =>
  files.map((f) => f.path.slice(path.length + 1));

test('O13: content comes with context, line numbers and a stable order of paths', async () => {
  const path = await folder('context', { 'b.txt': 'one\ntwo needle\nthree\nfour\n', 'a.txt': 'needle\r\nrest\r\n' });
  const { files, total, complete, truncated } = await grep({ pattern: 'needle', path, before: 1, after: 1 });
  expect(names(path, files)).toEqual(['a.txt', 'b.txt']);
  expect(files[0]?.lines).toEqual([
    { line: 1, text: 'needle', isMatch: true },
    { line: 2, text: 'rest', isMatch: false },
  ]);
  expect(files[1]?.lines.map((line) => [line.line, line.isMatch])).toEqual([
    [1, false],
    [2, true],
    [3, false],
  ]);
  expect({ total, complete, truncated }).toEqual({ total: 5, complete: true, truncated: false });
});

test('O13: pages of a result join without gap or double', async () => {
  const path = await folder('pages', Object.fromEntries([0, 1, 2, 3].map((n) => [`f${n}.txt`, 'hit\nhit\nhit\n'])));
  const whole = await grep({ pattern: 'hit', path });
  const pages = [];
  for (let skip = 0; skip < 12; skip += 5) pages.push(await grep({ pattern: 'hit', path, limit: 5, skip }));
  const flat = (files: typeof whole.files) => files.flatMap((f) => f.lines.map((line) => `${f.path}:${line.line}`));
  expect(pages.flatMap((page) => flat(page.files))).toEqual(flat(whole.files));
  expect(pages.map((page) => page.truncated)).toEqual([true, true, false]);
});

test('O13: a search that finds far too much is stopped early and says so', async () => {
  const path = await folder('much', { 'big.txt': 'hit\n'.repeat(50_000) });
  const { files, complete, truncated, total } = await grep({ pattern: 'hit', path, limit: 10 });
  expect(files[0]?.lines).toHaveLength(10);
  expect({ complete, truncated }).toEqual({ complete: false, truncated: true });
  expect(total).toBeLessThan(50_000);
});

test('O13: names, counts, types, globs and case', async () => {
  const path = await folder('kinds', {
    'a.ts': 'Needle needle\n',
    'sub/b.ts': 'needle\n',
    'sub/c.js': 'needle\n',
    'sub/deep/d.test.ts': 'needle\n',
  });
  const list = async (more: Partial<GrepQuery>) =>
    names(path, (await grep({ pattern: 'needle', path, output: 'files_with_matches', ...more })).files);
  expect(await list({})).toEqual(['a.ts', 'sub/b.ts', 'sub/c.js', 'sub/deep/d.test.ts']);
  expect(await list({ type: 'js' })).toEqual(['sub/c.js']);
  expect(await list({ glob: '*.{ts,tsx}' })).toEqual(['a.ts', 'sub/b.ts', 'sub/deep/d.test.ts']);
  expect(await list({ glob: '!*.test.ts', type: 'ts' })).toEqual(['a.ts', 'sub/b.ts']);
  expect(await list({ glob: 'sub/*.ts' })).toEqual(['sub/b.ts']);
  expect(await list({ glob: 'sub/**' })).toEqual(['sub/b.ts', 'sub/c.js', 'sub/deep/d.test.ts']);
  expect(await list({ glob: '*.ts', type: 'js' })).toEqual([]);
  const counted = await grep({ pattern: 'needle', path, output: 'count', ignoreCase: true, glob: 'a.ts' });
  expect(counted.files.map((file) => file.matches)).toEqual([2]);
});

test('O13: .gitignore counts without a repository and is not overruled by a glob; hidden files are found', async () => {
  const path = await folder('ignored', {
    '.gitignore': 'node_modules/\n*.log\n',
    '.github/ci.yml': 'needle\n',
    'node_modules/x/a.ts': 'needle\n',
    'a.log': 'needle\n',
    'src/a.ts': 'needle\n',
    '.git/config': 'needle\n',
  });
  for (const glob of [undefined, '**/*', '**', '*']) {
    const { files } = await grep({ pattern: 'needle', path, output: 'files_with_matches', ...(glob ? { glob } : {}) });
    expect(names(path, files)).toEqual(['.github/ci.yml', 'src/a.ts']);
  }
  expect((await grep({ pattern: 'needle', path, glob: '*.log' })).files).toEqual([]);
  expect((await globbed({ pattern: '**/*', path })).sort()).toEqual(['.github/ci.yml', '.gitignore', 'src/a.ts']);
  expect(await globbed({ pattern: '**/*.log', path })).toEqual([]);
  expect(await globbed({ pattern: 'node_modules/**/*.ts', path })).toEqual(['node_modules/x/a.ts']);
});

test('O13: long lines are cut and bytes that are no UTF-8 shown as such; both are marked inexact', async () => {
  const path = await folder('odd', {
    'long.js': `needle ${'x'.repeat(9_000_000)}\n`,
    'latin.txt': Buffer.from('caf\xe9 needle\n', 'latin1'),
    'fine.txt': 'needle é 漢\n',
  });
  const { files } = await grep({ pattern: 'needle', path });
  expect(names(path, files)).toEqual(['fine.txt', 'latin.txt', 'long.js']);
  const [fine, latin, long] = files.map((file) => file.lines[0]);
  expect(fine).toEqual({ line: 1, text: 'needle é 漢', isMatch: true });
  expect(latin).toEqual({ line: 1, text: 'caf\ufffd needle', isMatch: true, inexact: true });
  expect(long?.inexact).toBe(true);
  expect(long?.text.length).toBeLessThan(2_100);
});

test('O13: binary files and files that hold secrets are left out, and said to be', async () => {
  const path = await folder('left-out', { 'a.bin': 'needle\0\0needle\n', '.env': 'KEY=needle\n', 'a.txt': 'needle\n' });
  const inFolder = await grep({ pattern: 'needle', path });
  expect(names(path, inFolder.files)).toEqual(['a.txt']);
  expect(inFolder.warnings.join()).toContain('.env');
  const named = await grep({ pattern: 'needle', path: join(path, 'a.bin') });
  expect(named.files).toEqual([]);
  expect(named.warnings).toEqual(['a.bin: binary file, its matches are not shown']);
  const secret = await grep({ pattern: 'needle', path: join(path, '.env') });
  expect(secret.files[0]?.lines[0]?.text).toBe('KEY=needle');
});

test('O13: files that cannot be read are warnings, the others are searched', async () => {
  const path = await folder('unreadable', { 'a.txt': 'needle\n', 'b.txt': 'needle\n' });
  await chmod(join(path, 'b.txt'), 0);
  const isRoot = process.getuid?.() === 0;
  const { files, warnings } = await grep({ pattern: 'needle', path });
  expect(names(path, files)).toEqual(isRoot ? ['a.txt', 'b.txt'] : ['a.txt']);
  expect(warnings).toHaveLength(isRoot ? 0 : 1);
});

test('O13: PCRE2 patterns, Go braces, leading dashes and patterns over lines work; a wrong one is the caller’s to correct', async () => {
  const path = await folder('regex', { 'a.go': 'var x interface{}\nfoo(bar)\n--flag\nend\n' });
  for (const pattern of ['interface{}', 'foo(?=\\()', '--flag', '--flag\\nend', '(?<=foo)\\(']) {
    expect((await grep({ pattern, path })).total).toBeGreaterThan(0);
  }
  const wrong = await bench.ctx.search.grep({ pattern: 'foo(', path, output: 'content', limit: 5 }, never);
  expect(wrong).toMatchObject({ ok: false, failure: { kind: 'invalid', code: 'bad_pattern' } });
  expect(wrong).toMatchObject({ failure: { message: expect.stringMatching(/unclosed group[\s\S]*must be escaped/) } });
  const type = await bench.ctx.search.grep({ pattern: 'x', path, type: 'nope', output: 'content', limit: 5 }, never);
  expect(type).toMatchObject({ ok: false, failure: { kind: 'invalid', code: 'bad_type' } });
});

test('O14: files come newest first, links are not followed, names may hold anything', async () => {
  const path = await folder('times', { 'old.ts': '', 'new.ts': '', 'odd\nname.ts': '', 'a b{c}.ts': '' });
  await utimes(join(path, 'old.ts'), 1, 1);
  await utimes(join(path, 'new.ts'), 4_000_000_000, 4_000_000_000);
  await mkdir(join(path, 'linked'));
  await symlink('/etc', join(path, 'linked', 'etc'));
  const found = await globbed({ pattern: '**/*.ts', path });
  expect(found).toHaveLength(4);
  expect(found[0]).toBe('new.ts');
  expect(found.at(-1)).toBe('old.ts');
  expect(await globbed({ pattern: 'linked/**', path })).toEqual([]);
  expect(await globbed({ pattern: 'linked/etc/*', path })).toEqual([]);
  const cut = await bench.ctx.search.glob({ pattern: '*', path, limit: 1 }, never);
  expect(cut).toMatchObject({ ok: true, value: { total: 4, files: [{ path: join(path, 'new.ts') }] } });
});

test('O14: stars stay within a folder, two stars cross folders, braces and classes choose', async () => {
  const path = await folder('globs', { 'a.ts': '', 'src/b.ts': '', 'src/x/c.tsx': '', 'test/d.js': '', '.x/e.ts': '' });
  const sorted = async (pattern: string) => (await globbed({ pattern, path })).sort();
  expect(await sorted('*.ts')).toEqual(['a.ts']);
  expect(await sorted('**/*.ts')).toEqual(['.x/e.ts', 'a.ts', 'src/b.ts']);
  expect(await sorted('src/**/*.{ts,tsx}')).toEqual(['src/b.ts', 'src/x/c.tsx']);
  expect(await sorted('{src,test}/*')).toEqual(['src/b.ts', 'test/d.js']);
  expect(await sorted('src/**')).toEqual(['src/b.ts', 'src/x/c.tsx']);
  expect(await sorted('src/')).toEqual(['src/b.ts', 'src/x/c.tsx']);
  expect(await sorted('[!s]*/d.?s')).toEqual(['test/d.js']);
  expect(await sorted('./src/b.ts')).toEqual(['src/b.ts']);
});

test('O12: a folder is listed with kinds and sizes, folders first', async () => {
  const path = await folder('list', { 'b.txt': '12345', 'z/x': '', 'c.log': '' });
  await symlink('b.txt', join(path, 'a-link'));
  const listed = await bench.ctx.search.list({ path, ignore: ['**/*.log'], limit: 10 });
  expect(listed).toEqual({
    ok: true,
    value: {
      total: 3,
      ignored: 1,
      entries: [
        { name: 'z', kind: 'directory', size: null },
        { name: 'a-link', kind: 'link', size: null, target: 'b.txt' },
        { name: 'b.txt', kind: 'file', size: 5 },
      ],
    },
  });
  expect(await bench.ctx.search.list({ path: join(path, 'none'), ignore: [], limit: 10 })).toMatchObject({ ok: false });
});

/** ripgrep processes that this process started, also those that ended and were not reaped. */
function ripgreps(): number {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return stat.includes('(rg)') && stat.split(') ')[1]?.split(' ')[1] === String(process.pid);
    } catch {
      return false;
    }
  }).length;
}

test('E11: cancelling a running search ends its ripgrep before it returns', async () => {
  const path = join(bench.root, 'endless.txt');
  const file = await open(path, 'w');
  await file.truncate(2 ** 38);
  await file.close();
  const abort = new AbortController();
  const searching = bench.ctx.search.grep({ pattern: 'needle', path, output: 'count', limit: 10 }, abort.signal);
  while (ripgreps() === 0) await delay(5);
  abort.abort();
  expect(await searching).toMatchObject({ ok: false, failure: { kind: 'cancelled' } });
  expect(ripgreps()).toBe(0);
});
