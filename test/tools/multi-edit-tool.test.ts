import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { multiEditTool } from '../../tools/multi-edit-tool.ts';
import { type EditBench, openEditBench } from '../support/edit-bench.ts';
import { codeOf, messageOf, must } from '../support/files-bench.ts';
import { printedSeed } from '../support/seed.ts';

let bench: EditBench;
beforeEach(() => {
  bench = openEditBench();
});
afterEach(() => bench.close());

const edit = (old_string: string, new_string: string, replace_all = false) => ({ old_string, new_string, replace_all });

describe('O17: MultiEditTool', () => {
  test('makes edits in order, each on the result of those before, with one intent', async () => {
    const path = bench.put('a.ts', 'one\ntwo\n');
    must(await bench.port.read(path));
    must(
      await bench.call(multiEditTool, {
        file_path: path,
        edits: [edit('one', 'two'), edit('two', '2', true), edit('2\n2', 'end')],
      }),
    );
    expect(readFileSync(path, 'utf8')).toBe('end\n');
    expect(bench.intents).toHaveLength(1);
  });

  test('one edit that does not fit undoes none and makes none', async () => {
    const path = bench.put('a.ts', 'one\ntwo\n');
    must(await bench.port.read(path));
    const outcome = await bench.call(multiEditTool, { file_path: path, edits: [edit('one', '1'), edit('three', '3')] });
    expect(messageOf(outcome)).toMatch(/^Edit 2 of 2: old_string was not found.*None of the edits was made\.$/);
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
    expect(bench.intents).toEqual([]);
  });

  test('never creates a file, and wants at least one edit', async () => {
    const path = join(bench.root, 'new.ts');
    expect(messageOf(await bench.call(multiEditTool, { file_path: path, edits: [edit('a', 'b')] }))).toMatch(
      /cannot create it; use WriteFile/,
    );
    expect(existsSync(path)).toBe(false);
    expect(codeOf(multiEditTool.parse(JSON.stringify({ file_path: path, edits: [] })))).toBe('bad_arguments');
  });

  test('O16: every place has to be known', async () => {
    const path = bench.put('a.ts', Array.from({ length: 100 }, (_, i) => `line ${i + 1};\n`).join(''));
    must(await bench.port.read(path, { start: 1, end: 20 }));
    const edits = [edit('line 10;', 'ten;'), edit('ten;', '10;'), edit('line 60;', 'x'), edit('line 90;', 'y')];
    expect(messageOf(await bench.call(multiEditTool, { file_path: path, edits }))).toMatch(
      /Read lines 40-80, 70-100|Read lines 40-100 /,
    );
  });
});

test('O17: MultiEditTool against a plain reference, all or nothing', async () => {
  const seed = printedSeed('MultiEditTool against a reference');
  const word = fc.constantFrom('a', 'b', 'ab', 'é\n', '\tc', '\n', '$1');
  const piece = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));
  const textArb = fc.array(word, { maxLength: 14 }).map((parts) => parts.join(''));
  const edits = fc.array(fc.tuple(piece, piece, fc.boolean()), { minLength: 1, maxLength: 4 });
  let made = 0;
  await fc.assert(
    fc.asyncProperty(textArb, fc.constantFrom('\n', '\r\n'), edits, async (text, ending, wanted) => {
      let expected: string | undefined = text;
      for (const [from, to, all] of wanted) {
        if (expected === undefined) break;
        const at: number = expected.indexOf(from);
        const fits: boolean = from !== to && at !== -1 && (all || at === expected.lastIndexOf(from));
        expected = !fits
          ? undefined
          : all
            ? expected.split(from).join(to)
            : expected.slice(0, at) + to + expected.slice(at + from.length);
      }
      const path = bench.put('f.txt', text.replaceAll('\n', ending));
      must(await bench.port.read(path));
      const outcome = await bench.call(multiEditTool, {
        file_path: path,
        edits: wanted.map(([from, to, all]) => edit(from, to, all)),
      });
      expect(outcome.ok).toBe(expected !== undefined);
      if (outcome.ok) made++;
      const usual = text.includes('\n') ? ending : '\n';
      expect(readFileSync(path, 'utf8')).toBe(
        expected === undefined ? text.replaceAll('\n', ending) : expected.replaceAll('\n', usual),
      );
    }),
    { seed, numRuns: 2_000 },
  );
  expect(made).toBeGreaterThan(50);
});
