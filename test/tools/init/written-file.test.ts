// How InitTool writes: beside what the user wrote, never over it, and only what was shown.

import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { codeOf, messageOf, must } from '../../support/files-bench.ts';
import { type InitBench, openInitBench } from '../../support/init-bench.ts';

let bench: InitBench;
beforeAll(async () => {
  bench = await openInitBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.clear());

describe('O22: what the user wrote stays', () => {
  const USER = '# Mine\r\n\r\nKeep ü this.\r\n';

  test('over two runs the text outside of the marks is the same byte for byte, line endings and byte-order mark included', async () => {
    await bench.put({ 'a.py': 'x = 1\n' });
    writeFileSync(join(bench.root, 'ODIN.md'), `\ufeff${USER}`);
    must(await bench.init());
    const first = bench.odinMd();
    expect(first.startsWith(`\ufeff${USER}\r\n<!-- odin:begin`)).toBe(true);
    expect(first.replaceAll('\r\n', '')).not.toContain('\n');
    writeFileSync(join(bench.root, 'ODIN.md'), `${first}\r\nAnd below.\n\tno end`);
    await bench.put({ 'b/c.rb': 'x\n' });
    const { text } = must(await bench.init());
    expect(text).toContain('brought up to date');
    const second = bench.odinMd();
    expect(second.startsWith(`\ufeff${USER}\r\n<!-- odin:begin`)).toBe(true);
    expect(second.endsWith('<!-- odin:end -->\r\n\r\nAnd below.\n\tno end')).toBe(true);
    expect(second).toContain('Ruby (1)');
    expect(second.match(/odin:begin/g)).toHaveLength(1);
    expect(must(await bench.init()).text).toContain('is up to date. Nothing was written.');
    expect(bench.odinMd()).toBe(second);
  });

  test('a file in a one-byte encoding keeps every byte', async () => {
    await bench.put({ 'a.py': 'x = 1\n' });
    const bytes = Buffer.from('# Gr\xfc\xdfe\n', 'latin1');
    writeFileSync(join(bench.root, 'ODIN.md'), bytes);
    must(await bench.init());
    expect(readFileSync(join(bench.root, 'ODIN.md')).subarray(0, bytes.length)).toEqual(bytes);
  });

  test.each([
    ['only the beginning', '# a\n<!-- odin:begin x -->\ntext\n', /there is a mark at line 2/],
    ['only the end', '<!-- odin:end -->\n', /there is a mark at line 1/],
    [
      'two parts',
      '<!-- odin:begin -->\n<!-- odin:end -->\n<!-- odin:begin -->\n<!-- odin:end -->\n',
      /at line 1, 2, 3, 4/,
    ],
    ['the wrong order', '<!-- odin:end -->\n<!-- odin:begin -->\n', /at line 1, 2/],
    ['a mark that is not closed', '<!-- odin:begin\n-->\n<!-- odin:end -->\n', /at line 1, 3/],
  ])(
    'damaged marks (%s) are told with their lines, before anybody is asked, and nothing is written',
    async (_, text, where) => {
      await bench.put({ 'a.py': 'x = 1\n', 'ODIN.md': text });
      expect(messageOf(await bench.init())).toMatch(where);
      expect(bench.odinMd()).toBe(text);
      expect(bench.asked).toEqual([]);
    },
  );

  test('a link out of the project, a folder, a binary and a huge file are refused; a link inside is followed', async () => {
    await bench.put({ 'a.py': 'x = 1\n' });
    const path = join(bench.root, 'ODIN.md');
    const outside = join(dirname(bench.root), 'outside.md');
    writeFileSync(outside, 'theirs\n');
    symlinkSync('../outside.md', path);
    expect(codeOf(await bench.init())).toBe('outside');
    expect(readFileSync(outside, 'utf8')).toBe('theirs\n');
    await rm(path);
    await mkdir(path);
    expect(codeOf(await bench.init())).toBe('is_directory');
    await rm(path, { recursive: true });
    writeFileSync(path, Buffer.from([0, 1, 2]));
    expect(codeOf(await bench.init())).toBe('binary');
    writeFileSync(path, 'x\n'.repeat(6 * 1024 * 1024));
    expect(messageOf(await bench.init())).toMatch(/too large to be instructions/);
    await rm(path);
    await bench.put({ 'AGENTS.md': 'ours\n' });
    symlinkSync('AGENTS.md', path);
    must(await bench.init());
    expect(readFileSync(join(bench.root, 'AGENTS.md'), 'utf8')).toMatch(/^ours\n\n<!-- odin:begin/);
  });

  test('a long file of the user is added to, and the user is told that it is too long to be read whole', async () => {
    await bench.put({ 'a.py': 'x = 1\n', 'ODIN.md': 'long line\n'.repeat(4_000) });
    expect(must(await bench.init()).text).toContain('is over 32 KB');
  });

  test('a file that changes while the question waits is not overwritten', async () => {
    await bench.put({ 'a.py': 'x = 1\n', 'ODIN.md': 'one\n' });
    const outcome = await bench.init({}, () => bench.write('ODIN.md', 'two\n'));
    expect(codeOf(outcome)).toBe('conflict');
    expect(bench.odinMd()).toBe('two\n');
  });
});

describe('SAFETY R9: the question', () => {
  test('it shows the very text that is written then; the intent is journaled; a dry run asks and writes nothing', async () => {
    await bench.put({ 'a.py': 'x = 1\n' });
    const gate = await bench.gate();
    if (gate.verdict !== 'ask') throw new Error(gate.verdict);
    expect(gate).toMatchObject({
      title: `Write ${join(bench.root, 'ODIN.md')}?`,
      paths: [{ path: join(bench.root, 'ODIN.md'), outside: false, access: 'write' }],
    });
    const dry = must(await bench.init({ dry_run: true }));
    expect(() => bench.odinMd()).toThrow('ENOENT');
    expect(bench.intents).toEqual([]);
    must(await bench.init());
    const added = gate.detail.split('\n').filter((line) => line.startsWith('+') && !line.startsWith('+++'));
    expect(added.map((line) => line.slice(1)).join('\n')).toBe(bench.odinMd().trimEnd());
    expect(dry.text.endsWith(bench.odinMd())).toBe(true);
    expect(bench.intents).toMatchObject([{ kind: 'file', beforeHash: null }]);
  });

  test('a proposal cannot be smuggled in with the arguments', async () => {
    await bench.put({ 'a.py': 'x = 1\n' });
    await expect(bench.init({ proposal: { path: '/etc/passwd', content: 'x' } })).rejects.toThrow(/Unrecognized key/);
  });
});
