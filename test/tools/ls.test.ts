import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lsTool } from '../../tools/ls.ts';
import { readFileTool } from '../../tools/read-file.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
beforeAll(async () => {
  bench = await openReadBench();
  await bench.write('src/b.ts', 'x'.repeat(2_048));
  await bench.write('src/a.ts', 'one\ntwo\nthree\n');
  await bench.write('src/lib/c.ts', '');
  await bench.write('src/debug.log', '');
});
afterAll(() => bench.close());

test('O12: LS lists folders first with sizes, by absolute and by relative path, and caches nothing', async () => {
  const path = join(bench.root, 'src');
  const text = await bench.text(lsTool, { path });
  expect(text.split('\n')).toEqual([
    `${path} (4 entries):`,
    '  lib/',
    '  a.ts  14 B',
    '  b.ts  2.0 KB',
    '  debug.log  0 B',
  ]);
  expect(await bench.text(lsTool, { path: 'src' })).toBe(text);
  expect(bench.ctx.files.list()).toEqual([]);
});

test('O12: LS marks which files are cached, whole or in part', async () => {
  await bench.text(readFileTool, { file_path: 'src/b.ts' });
  await bench.text(readFileTool, { file_path: 'src/a.ts', offset: 2, limit: 1 });
  const text = await bench.text(lsTool, { path: 'src', ignore: ['*.log'] });
  expect(text.split('\n').slice(1)).toEqual(['  lib/', '  a.ts  14 B  [cached 2-2]', '  b.ts  2.0 KB  [cached]']);
  expect(text).toContain('1 left out by ignore');
});

test('O12: an empty folder, a file and a missing folder each get a clear answer', async () => {
  await mkdir(join(bench.root, 'empty'));
  expect(await bench.text(lsTool, { path: 'empty' })).toContain('is empty');
  expect(await bench.run(lsTool, { path: 'src/a.ts' })).toMatchObject({ ok: false, failure: { code: 'not_a_folder' } });
  expect(await bench.run(lsTool, { path: 'scr' })).toMatchObject({
    ok: false,
    failure: { code: 'not_found', message: 'scr does not exist. Look for it with Glob or LS.' },
  });
  expect(await bench.run(lsTool, { path: 'src/libs' })).toMatchObject({
    failure: { message: expect.stringContaining('Did you mean src/lib?') },
  });
});

test('O12: a folder of very many entries is cut with a note', async () => {
  await Promise.all(Array.from({ length: 620 }, (_, i) => bench.write(`many/f${i}`, '')));
  const text = await bench.text(lsTool, { path: 'many' });
  expect(text).toContain('(620 entries)');
  expect(text).toContain('(120 more are not shown.');
});

test('O23: LS of a folder outside the project asks first, also through a link', async () => {
  await symlink(dirname(bench.root), join(bench.root, 'way-out'));
  expect(await bench.gate(lsTool, { path: 'src' })).toEqual({ verdict: 'allow' });
  for (const path of ['..', dirname(bench.root), 'way-out']) {
    expect(await bench.gate(lsTool, { path })).toMatchObject({ verdict: 'ask', detail: dirname(bench.root) });
  }
});
