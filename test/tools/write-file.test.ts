import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { writeFileTool } from '../../tools/write-file.ts';
import { type EditBench, openEditBench } from '../support/edit-bench.ts';
import { codeOf, messageOf, must } from '../support/files-bench.ts';

let bench: EditBench;
beforeEach(() => {
  bench = openEditBench();
});
afterEach(() => bench.close());

describe('O15: WriteFile', () => {
  test('creates a file and its folders without a read before', async () => {
    const path = join(bench.root, 'src/deep/new.ts');
    const response = must(await bench.call(writeFileTool, { file_path: path, content: 'a\nb\n' }));
    expect(readFileSync(path, 'utf8')).toBe('a\nb\n');
    expect(response).toMatchObject({
      text: `Created ${path} (+2 -0 lines).`,
      affectedFiles: [path],
      data: { beforeHash: null },
    });
    expect(bench.port.cached(path)).toMatchObject({ isModified: true, truncated: false });
    must(await bench.call(writeFileTool, { file_path: path, content: 'c\n' }));
    expect(readFileSync(path, 'utf8')).toBe('c\n');
  });

  test('an existing file has to be read, and to be what was read', async () => {
    const path = bench.put('a.ts', 'one\n');
    const call = () => bench.call(writeFileTool, { file_path: path, content: 'mine\n' });
    expect(messageOf(await call())).toMatch(
      /has not been read. It exists, and writing it whole replaces what is in it. Read it \(lines 1-1\) first/,
    );
    must(await bench.port.read(path));
    writeFileSync(path, 'theirs\n');
    expect(messageOf(await call())).toMatch(/not the version that you read.*Read the whole file again/);
    expect(readFileSync(path, 'utf8')).toBe('theirs\n');
    must(await bench.port.read(path));
    must(await call());
    expect(readFileSync(path, 'utf8')).toBe('mine\n');
  });

  test('the same content again is said to be there already', async () => {
    const path = bench.put('a.ts', 'one\n');
    must(await bench.port.read(path));
    expect(must(await bench.call(writeFileTool, { file_path: path, content: 'one\n' })).text).toMatch(
      /already has exactly this content/,
    );
  });

  test("O23: the gate asks for protected files and refuses what is Odin's or no file", async () => {
    const gate = (file_path: string) => bench.gate(writeFileTool, { file_path, content: 'x\n' });
    expect(await gate('.github/workflows/ci.yml')).toMatchObject({
      verdict: 'ask',
      reasons: ['steers Odin, git, an editor or a shell'],
    });
    expect(await gate('.env')).toMatchObject({ verdict: 'ask', detail: expect.stringContaining('+x') });
    expect(await gate('.odin/state')).toMatchObject({ verdict: 'deny', code: 'protected' });
    expect(await gate(bench.root)).toMatchObject({ verdict: 'deny', code: 'is_directory' });
    expect(await gate('/dev/null')).toMatchObject({ verdict: 'deny', code: 'not_a_file' });
    expect(existsSync(join(bench.root, '.github'))).toBe(false);
  });

  test('text that no file can hold is refused', async () => {
    expect(codeOf(await bench.call(writeFileTool, { file_path: 'a.txt', content: 'half \ud83d' }))).toBe('encoding');
  });
});
