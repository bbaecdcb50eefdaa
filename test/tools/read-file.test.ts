import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MAX_RESULT_CHARS } from '../../tools/cap-text.ts';
import { readFileTool } from '../../tools/read-file.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
beforeAll(async () => {
  bench = await openReadBench();
});
afterAll(() => bench.close());

const read = (file_path: string, more = {}) => bench.text(readFileTool, { file_path, ...more });
const rows = (count: number, text = 'row') => Array.from({ length: count }, (_, i) => `${text} ${i + 1}\n`).join('');

test('O10: ReadFile shows numbered lines and caches the whole file', async () => {
  const path = await bench.write('a.txt', 'one\r\ntwo\n\nfour');
  expect(await read('a.txt')).toBe('  1→one\n  2→two\n  3→\n  4→four\n');
  expect(bench.ctx.files.cached(path)).toMatchObject({ truncated: false, totalLines: 4 });
});

test('O7, O10: a range is cached as a segment, and a part of it is read from there', async () => {
  const path = await bench.write('b.txt', rows(50));
  expect(await read('b.txt', { offset: 10, limit: 3 })).toBe(
    '  10→row 10\n  11→row 11\n  12→row 12\n(Lines 10-12 of 50 in b.txt. Read on with offset 13.)',
  );
  expect(bench.ctx.files.cached(path)).toMatchObject({ truncated: true, ranges: ['10-12'] });
  expect(await bench.ctx.files.read(path, { start: 11, end: 11 })).toMatchObject({ value: { fromCache: true } });
  expect(await read('b.txt', { offset: 49 })).toBe('  49→row 49\n  50→row 50\n(Lines 49-50 of 50 in b.txt.)');
});

test('O10: a long file is read page by page without gap', async () => {
  const content = rows(4_100, 'a row of some length, so that a page is full before its lines are');
  await bench.write('long.txt', content);
  let text = '';
  for (let offset: number | undefined = 1, first = true; offset !== undefined; first = false) {
    const page: string = await read('long.txt', first ? {} : { offset });
    expect(page.length).toBeLessThanOrEqual(MAX_RESULT_CHARS);
    text += page.replace(/\(Lines .*$/, '');
    const next = /Read on with offset (\d+)\.\)$/.exec(page);
    offset = next ? Number(next[1]) : undefined;
  }
  expect(text.replaceAll(/^ *\d+→/gm, '')).toBe(content);
  expect((await read('long.txt', { limit: 5 })).split('\n')).toHaveLength(6);
});

test('O10: short lines fill up to 2000 lines at once, long lines are cut with a note', async () => {
  await bench.write('short.txt', '1\n'.repeat(2_500));
  expect(await read('short.txt')).toContain('(Lines 1-2000 of 2500 in short.txt. Read on with offset 2001.)');
  await bench.write('wide.txt', `${'x'.repeat(9_000)}\nend\n`);
  expect(await read('wide.txt')).toContain('x [… 7000 more characters in this line]\n  2→end');
});

test('E18: an empty file, a blank one and one past whose end is read get a text that says so', async () => {
  await bench.write('empty.txt', '');
  expect(await read('empty.txt')).toBe('empty.txt is empty.');
  expect(await bench.run(readFileTool, { file_path: 'a.txt', offset: 99 })).toMatchObject({
    ok: false,
    failure: { kind: 'invalid', message: expect.stringContaining('4 lines') },
  });
});

test('E3: folders, binary, missing and misspelt files each say what to do', async () => {
  await mkdir(join(bench.root, 'folder'));
  await bench.write('logo.png', new Uint8Array([137, 80, 0, 1, 2, 3]));
  await bench.write('src/components/button.tsx', '');
  const failure = async (file_path: string) => {
    const outcome = await bench.run(readFileTool, { file_path });
    return outcome.ok ? 'read' : outcome.failure.message;
  };
  expect(await failure('folder')).toContain('is a folder');
  expect(await failure('logo.png')).toContain('binary');
  expect(await failure('src/components/Button.tsx')).toContain('Did you mean src/components/button.tsx?');
  expect(await failure('src/button.tsx')).toContain('Did you mean src/components/button.tsx?');
  expect(await failure('nothing/like/this.xyz')).toContain('Look for it with Glob or LS.');
});

test('O10: a file too large to be cached whole is read by its first page', async () => {
  await bench.write('huge.log', 'a line of the log\n'.repeat(700_000));
  expect(await read('huge.log')).toMatch(
    /^ +1→a line of the log\n[\s\S]*of 700000 in huge\.log\. Read on with offset \d+\.\)$/,
  );
});

test('O23: secret files and files outside are asked for; in ask mode secrets are refused', async () => {
  await bench.write('.env', 'KEY=1\n');
  await symlink('/etc/hostname', join(bench.root, 'host'));
  expect(await bench.gate(readFileTool, { file_path: 'a.txt' })).toEqual({ verdict: 'allow' });
  expect(await bench.gate(readFileTool, { file_path: '.env' })).toMatchObject({ verdict: 'ask' });
  expect(await bench.gate(readFileTool, { file_path: '.env' }, 'ask')).toMatchObject({ verdict: 'deny' });
  expect(await bench.gate(readFileTool, { file_path: 'host' }, 'ask')).toMatchObject({ verdict: 'ask' });
  expect(await bench.gate(readFileTool, { file_path: 'a\u0000b' })).toMatchObject({
    verdict: 'deny',
    code: 'bad_path',
  });
});
