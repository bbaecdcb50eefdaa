import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { codeOf, type FilesBench, must, openFilesBench } from '../../support/files-bench.ts';

let bench: FilesBench;
beforeAll(() => {
  bench = openFilesBench();
  const { root, put } = bench;
  put('src/a.ts', 'a');
  put('../project2/b.ts', 'b');
  put('../outside/deep/c.ts', 'c');
  mkdirSync(`${root}/dir`);
  symlinkSync('../outside/deep', `${root}/out`);
  symlinkSync('src', `${root}/in`);
  symlinkSync('../outside/new.ts', `${root}/dangling`);
  symlinkSync('loop2', `${root}/loop1`);
  symlinkSync('loop1', `${root}/loop2`);
  execFileSync('mkfifo', [`${root}/pipe`]);
});
afterAll(() => bench.close());

const resolve = async (path: string) => must(await bench.port.resolve(path.replaceAll('<root>', bench.root)));

describe('O23: a path is judged by where it really leads', () => {
  test.each([
    ['<root>/src/a.ts', '<root>/src/a.ts', true, 'file'],
    ['src/a.ts', '<root>/src/a.ts', true, 'file'],
    ['<root>', '<root>', true, 'directory'],
    ['<root>/in/a.ts', '<root>/src/a.ts', true, 'file'],
    ['<root>/out/c.ts', '<root>/../outside/deep/c.ts', false, 'file'],
    ['<root>/../project2/b.ts', '<root>/../project2/b.ts', false, 'file'],
    // As the kernel: `out` is followed before the `..` behind it.
    ['<root>/out/../deep/c.ts', '<root>/../outside/deep/c.ts', false, 'file'],
    ['<root>/out/../a.ts', '<root>/../outside/a.ts', false, 'missing'],
    ['<root>/new/folder/x.ts', '<root>/new/folder/x.ts', true, 'missing'],
    ['<root>/out/x.ts', '<root>/../outside/deep/x.ts', false, 'missing'],
    ['<root>/dangling', '<root>/../outside/new.ts', false, 'missing'],
    ['<root>/pipe', '<root>/pipe', true, 'other'],
    ['/dev/null', '/dev/null', false, 'other'],
    ['/proc/self/root/etc', '/etc', false, 'directory'],
  ])('%s', async (path, real, inside, kind) => {
    const parent = bench.root.slice(0, bench.root.lastIndexOf('/'));
    const expected = real.replace('<root>/..', parent).replace('<root>', bench.root);
    expect(await resolve(path)).toEqual({ real: expected, inside, kind });
  });

  test.each([
    ['', 'bad_path'],
    ['<root>/a\0b', 'bad_path'],
    ['<root>/a\nb', 'bad_path'],
    ['<root>/a\u202eb', 'bad_path'],
    ['<root>/a\u00a0b', 'bad_path'],
    ['<root>/a\u200bb', 'bad_path'],
    ['<root>/loop1', 'loop'],
    ['<root>/src/a.ts/x', 'not_found'],
    ['<root>/nowhere/../src/a.ts', 'not_found'],
    [`<root>/${'n'.repeat(300)}`, 'bad_path'],
  ])('%j is refused', async (path, code) => {
    expect(codeOf(await bench.port.resolve(path.replace('<root>', bench.root)))).toBe(code);
  });
});
