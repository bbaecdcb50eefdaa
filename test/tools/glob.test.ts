import { utimes } from 'node:fs/promises';
import { dirname, join, matchesGlob } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { globRegExp, splitGlob } from '../../shared/glob-pattern.ts';
import { globTool } from '../../tools/glob.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
beforeAll(async () => {
  bench = await openReadBench();
  const names = ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/d.js'];
  for (const [i, name] of names.entries()) await utimes(await bench.write(name, ''), 1_000 + i, 1_000 + i);
});
afterAll(() => bench.close());

test('O14: Glob finds files at any depth, newest first, by paths relative to the project', async () => {
  const text = await bench.text(globTool, { pattern: '**/*.ts' });
  expect(text.split('\n')).toEqual(['3 files, newest first:', 'src/deep/c.ts', 'src/b.ts', 'a.ts']);
});

test('O14: path is optional and patterns are relative to it; an absolute pattern brings its own', async () => {
  const rows = async (args: { pattern: string; path?: string }) =>
    (await bench.text(globTool, args)).split('\n').slice(1, 3);
  expect(await rows({ pattern: 'deep/*', path: 'src' })).toEqual(['src/deep/c.ts']);
  expect(await rows({ pattern: `${bench.root}/src/**/*.ts` })).toEqual(['src/deep/c.ts', 'src/b.ts']);
});

test('O14: a pattern without folders says that it looks in one folder only', async () => {
  expect(await bench.text(globTool, { pattern: '*.js' })).toContain('for any depth: "**/*.js"');
  expect(await bench.text(globTool, { pattern: '**/*.rs' })).toContain('No files match "**/*.rs"');
});

test('O14: very many files are cut with their number', async () => {
  await Promise.all(Array.from({ length: 230 }, (_, i) => bench.write(`many/f${i}.md`, '')));
  const text = await bench.text(globTool, { pattern: 'many/*.md' });
  expect(text.split('\n')).toHaveLength(201);
  expect(text).toContain('230 files, newest first; the newest 200 are shown');
});

test('O14: wrong folders and patterns get an answer that says what to do', async () => {
  expect(await bench.run(globTool, { pattern: '*', path: 'nowhere' })).toMatchObject({
    failure: { code: 'not_found' },
  });
  expect(await bench.run(globTool, { pattern: '*', path: 'a.ts' })).toMatchObject({
    failure: { code: 'not_a_folder' },
  });
  expect(await bench.run(globTool, { pattern: '../*' })).toMatchObject({ failure: { code: 'bad_glob' } });
});

test('O23: Glob outside the project asks first, also by an absolute pattern', async () => {
  const outside = dirname(bench.root);
  expect(await bench.gate(globTool, { pattern: '**/*' })).toEqual({ verdict: 'allow' });
  expect(await bench.gate(globTool, { pattern: '*', path: outside })).toMatchObject({ verdict: 'ask' });
  expect(await bench.gate(globTool, { pattern: join(outside, '**', '*') })).toMatchObject({
    verdict: 'ask',
    detail: outside,
  });
});

test('O14: globs mean what they mean to Node', () => {
  const part = fc.constantFrom('a', 'b', 'ab', '*', '?', 'a*', '**', '[ab]', '[!a]', '{a,b}', '{a,b*}c', 'x{1..3}');
  const name = fc.constantFrom('a', 'b', 'ab', 'bc', 'x2', 'abc');
  const paths = (segment: fc.Arbitrary<string>) =>
    fc.array(segment, { minLength: 1, maxLength: 4 }).map((all) => all.join('/'));
  fc.assert(
    fc.property(paths(part), paths(name), (glob, path) => {
      // Node lets a last `**` match nothing at all, which no file's path is.
      fc.pre(!matchesGlob(path, glob) || !glob.endsWith('**') || matchesGlob(path, `${glob.slice(0, -2)}**/*`));
      expect(globRegExp(glob).test(path)).toBe(matchesGlob(path, glob));
      const { base, rest } = splitGlob(glob);
      const below = base === '' ? path : path.startsWith(`${base}/`) ? path.slice(base.length + 1) : undefined;
      expect(below !== undefined && globRegExp(rest).test(below)).toBe(globRegExp(glob).test(path));
    }),
    { numRuns: 500, verbose: 1 },
  );
});
