import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toolSpec } from '../../shared/define-tool.ts';
import { editTool } from '../../tools/edit-tool.ts';
import { multiEditTool } from '../../tools/multi-edit-tool.ts';
import { writeFileTool } from '../../tools/write-file.ts';
import { type EditBench, openEditBench } from '../support/edit-bench.ts';
import { codeOf, messageOf, must } from '../support/files-bench.ts';
import { printedSeed } from '../support/seed.ts';

let bench: EditBench;
beforeEach(() => {
  bench = openEditBench();
});
afterEach(() => bench.close());

const numbered = Array.from({ length: 100 }, (_, i) => `line ${i + 1};\n`).join('');
const args = (path: string, old_string: string, new_string: string) => ({ file_path: path, old_string, new_string });

test('O9: each file tool takes at most 900 bytes of a request', () => {
  for (const tool of [editTool, multiEditTool, writeFileTool]) {
    expect(JSON.stringify(toolSpec(tool)).length).toBeLessThanOrEqual(900);
    expect(tool).toMatchObject({ effect: 'write', requiresPermission: true });
  }
});

describe('O16: EditTool', () => {
  test('edits a file that was read, says what it did, and carries the record for undo', async () => {
    const path = bench.put('src/a.ts', 'const a = 1;\nconst b = 2;\n');
    must(await bench.port.read(path));
    const response = must(await bench.call(editTool, args(path, 'a = 1', 'a = 10')));
    expect(readFileSync(path, 'utf8')).toBe('const a = 10;\nconst b = 2;\n');
    expect(response.text).toBe(`Edited ${path} (+1 -1 lines).`);
    expect(response.affectedFiles).toEqual([path]);
    expect(response.data).toMatchObject({ kind: 'file', path, rebased: false, added: 1, removed: 1 });
    expect(bench.port.cached(path)).toMatchObject({ truncated: false, isModified: true });
    expect(bench.asked).toEqual([]);
  });

  test('a relative path starts at the project', async () => {
    const path = bench.put('src/a.ts', 'one\n');
    must(await bench.port.read('src/a.ts'));
    must(await bench.call(editTool, args('src/a.ts', 'one', 'two')));
    expect(readFileSync(path, 'utf8')).toBe('two\n');
    const call = editTool.parse(JSON.stringify(args('src/a.ts', 'one', 'two')));
    expect(call.ok && call.value.touches(bench.root)).toEqual([{ path, access: 'write' }]);
  });

  test('replace_all replaces all', async () => {
    const path = bench.put('a.ts', 'x y x\nx\n');
    must(await bench.port.read(path));
    must(await bench.call(editTool, { ...args(path, 'x', 'z'), replace_all: true }));
    expect(readFileSync(path, 'utf8')).toBe('z y z\nz\n');
  });

  test('an unread file is refused with the range to read', async () => {
    const path = bench.put('a.ts', numbered);
    expect(await bench.gate(editTool, args(path, 'line 5;', 'x'))).toEqual({
      verdict: 'deny',
      code: 'not_read',
      message: `${path} has not been read. An edit needs the exact text. Read it (lines 1-100) first, then call again.`,
    });
  });

  test('an edit after somebody else changed the file says that it was made on the current content', async () => {
    const path = bench.put('a.ts', 'one\ntwo\n');
    must(await bench.port.read(path));
    writeFileSync(path, 'zero\none\ntwo\n');
    const { text } = must(await bench.call(editTool, args(path, 'two', '2')));
    expect(text).toMatch(/had changed since you read it[^]*-two\n\+2/);
  });

  test("O23: outside paths are asked for with the diff, Odin's own files are refused", async () => {
    const outside = bench.put('../outside.txt', 'one\n');
    must(await bench.port.read(outside));
    const gate = await bench.gate(editTool, args(outside, 'one', 'two'));
    expect(gate).toMatchObject({ verdict: 'ask', reasons: [`outside the project ${bench.root}`] });
    expect(gate.verdict === 'ask' && gate.detail).toContain('-one\n+two');
    const config = bench.put('odinconfig.json', '{}\n');
    must(await bench.port.read(config));
    expect(await bench.gate(editTool, args(config, '{}', '{"a":1}'))).toMatchObject({
      verdict: 'deny',
      code: 'protected',
    });
  });

  test('SAFETY 2.3: a link put in the way after the gate is not followed: what was judged is what is written', async () => {
    const outside = bench.put('../outside.txt', 'one\n');
    const path = bench.put('a.ts', 'one\n');
    must(await bench.port.read(path));
    const outcome = await bench.call(editTool, args(path, 'one', 'two'), () => {
      rmSync(path);
      symlinkSync(outside, path);
    });
    expect(codeOf(outcome)).toBe('path_moved');
    expect(readFileSync(outside, 'utf8')).toBe('one\n');
  });

  test('nobody is asked about an edit that cannot be made', async () => {
    const outside = bench.put('../outside.txt', 'one\n');
    must(await bench.port.read(outside));
    expect(await bench.gate(editTool, args(outside, 'nowhere', 'x'))).toMatchObject({
      verdict: 'deny',
      code: 'no_match',
    });
  });
});

describe('O16: is enough of the file known?', () => {
  const path = () => bench.put('a.ts', numbered);
  const yes = '{"sufficient": true, "reason": "all there", "ranges": []}';

  test('text outside of what was read: the ranges to read are named without asking the lesser model', async () => {
    const file = path();
    must(await bench.port.read(file, { start: 1, end: 10 }));
    expect(messageOf(await bench.call(editTool, args(file, 'line 50;', 'x')))).toMatch(
      /have not been read. Read lines 30-70 \(the file has 100\)/,
    );
    expect(bench.asked).toEqual([]);
  });

  test('only segments are cached: the lesser model is asked, and its yes lets the edit through', async () => {
    const file = path();
    must(await bench.port.read(file, { start: 40, end: 60 }));
    bench.answers.push(`\`\`\`json\n${yes}\n\`\`\``);
    must(await bench.call(editTool, args(file, 'line 50;', 'x')));
    expect(bench.asked).toHaveLength(1);
    expect(bench.asked[0]).toContain('Edit 1, at lines 50-50');
    expect(bench.asked[0]).toContain('Lines 40-60 as read:\nline 40;');
    expect(bench.port.cached(file)).toMatchObject({ truncated: false, ranges: ['1-100'] });
  });

  test('its no names the ranges', async () => {
    const file = path();
    must(await bench.port.read(file, { start: 40, end: 60 }));
    bench.answers.push('{"sufficient": false, "reason": "The function goes on.", "ranges": ["35-75", "90-300"]}');
    const outcome = await bench.call(editTool, args(file, 'line 59;', 'x'));
    expect(codeOf(outcome)).toBe('insufficient');
    expect(messageOf(outcome)).toMatch(/: The function goes on\. Read lines 35-75, 90-100 /);
    expect(readFileSync(file, 'utf8')).toBe(numbered);
  });

  test.each(['', 'I think so!', '{"sufficient": "maybe"}', '{"sufficient": false, "ranges": ["all of it"]}'])(
    'without a usable answer (%j) the distance to the edge decides',
    async (answer) => {
      const file = path();
      must(await bench.port.read(file, { start: 40, end: 60 }));
      if (answer) bench.answers.push(answer, answer);
      expect(messageOf(await bench.call(editTool, args(file, 'line 59;', 'x')))).toMatch(
        /at the edge of what has been read. Read lines 39-79/,
      );
      must(await bench.call(editTool, args(file, 'line 50;', 'x')));
    },
  );

  test('edit.validation: always asks for whole files too, never asks nobody', async () => {
    const file = path();
    must(await bench.port.read(file));
    bench.answers.push(yes);
    bench.validate('always');
    must(await bench.call(editTool, args(file, 'line 50;', 'x')));
    expect(bench.asked).toHaveLength(1);
    const other = bench.put('b.ts', numbered);
    must(await bench.port.read(other, { start: 40, end: 60 }));
    bench.validate('never');
    must(await bench.call(editTool, args(other, 'line 60;', 'x')));
    expect(bench.asked).toHaveLength(1);
  });
});

test('O16: EditTool against a plain reference, on files of every line ending', async () => {
  const seed = printedSeed('EditTool against a reference');
  const line = fc
    .array(fc.constantFrom('a', 'b', '\t', ' ', 'é', '猫', '$&', '\\'), { maxLength: 4 })
    .map((parts) => parts.join(''));
  const cases = fc.tuple(
    fc.array(line, { minLength: 1, maxLength: 6 }),
    fc.constantFrom('\n', '\r\n'),
    fc.nat(20),
    fc.integer({ min: 1, max: 6 }),
    line,
    fc.boolean(),
  );
  await fc.assert(
    fc.asyncProperty(cases, async ([lines, ending, at, length, to, all]) => {
      const text = lines.join('\n');
      const from = text.slice(at, at + length);
      const path = bench.put('f.txt', lines.join(ending));
      must(await bench.port.read(path));
      const outcome = await bench.call(editTool, { ...args(path, from, to), replace_all: all });
      const times = from === '' ? 0 : text.split(from).length - 1;
      const unique = text.indexOf(from) === text.lastIndexOf(from);
      const fits = from !== to && times > 0 && (all || unique);
      expect(outcome.ok).toBe(fits);
      const expected = fits ? text.split(from).join(to) : text;
      expect(readFileSync(path, 'utf8')).toBe(expected.replaceAll('\n', ending));
    }),
    { seed, numRuns: 2_000 },
  );
});
