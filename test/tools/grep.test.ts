import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Json } from '../../shared/json.ts';
import { grepTool } from '../../tools/grep.ts';
import { TOOLS } from '../../tools/registry.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
beforeAll(async () => {
  bench = await openReadBench();
  await bench.write('src/a.ts', 'one\ntwo TODO\nthree\nfour\nfive TODO\nsix\n');
  await bench.write('src/b.ts', 'TODO b\n');
  await bench.write('src/c.js', 'todo\n');
});
afterAll(() => bench.close());

const grep = (args: Json) => bench.text(grepTool, args);
const cached = (name: string) => bench.ctx.files.cached(`${bench.root}/${name}`);

test('O13: by default Grep of a folder names files, with count their matches', async () => {
  expect(await grep({ pattern: 'TODO' })).toBe('2 files:\nsrc/a.ts\nsrc/b.ts');
  expect(await grep({ pattern: 'todo', '-i': true, path: 'src', output_mode: 'count' })).toBe(
    '3 files, 4 matches:\nsrc/a.ts:2\nsrc/b.ts:1\nsrc/c.js:1',
  );
  expect(await grep({ pattern: 'TODO', glob: 'b.*', type: 'ts' })).toBe('1 file:\nsrc/b.ts');
});

test('O13: content is grouped by file with context, and exactly what was shown is cached', async () => {
  expect(await grep({ pattern: 'TODO', output_mode: 'content', '-A': 1, glob: 'a.ts' })).toBe(
    '4 lines in 1 file:\nsrc/a.ts\n2:two TODO\n3-three\n--\n5:five TODO\n6-six',
  );
  expect(cached('src/a.ts')).toMatchObject({ truncated: true, ranges: ['2-3', '5-6'] });
  expect(await grep({ pattern: 'TODO', output_mode: 'content', '-n': false, path: 'src/b.ts', '-C': 1 })).toBe(
    '1 line in 1 file:\nsrc/b.ts\nTODO b',
  );
});

test('O13: a file searched on its own is read whole and cached whole', async () => {
  await bench.write('auth.ts', 'alpha\nbeta TODO\ngamma\n');
  expect(await grep({ pattern: 'TODO', path: 'auth.ts' })).toBe('1 line in 1 file:\nauth.ts\n2:beta TODO');
  expect(cached('auth.ts')).toMatchObject({ truncated: false, totalLines: 3 });
});

test('O7, O13: offset and limit with a file read lines as segments; a part of one reads no disk', async () => {
  await bench.write('logs.txt', Array.from({ length: 6_000 }, (_, i) => `line ${i + 1}\n`).join(''));
  const text = await grep({ pattern: '', path: 'logs.txt', offset: 1_000, limit: 100 });
  expect(text).toMatch(/^ +1000→line 1000\n/);
  expect(text).toContain('(Lines 1000-1099 of 6000 in logs.txt. Read on with offset 1100.)');
  expect(cached('logs.txt')).toMatchObject({ truncated: true, ranges: ['1000-1099'] });
  expect(await bench.ctx.files.read('logs.txt', { start: 1_045, end: 1_055 })).toMatchObject({
    value: { fromCache: true },
  });
  await grep({ pattern: '.*', path: 'logs.txt', offset: 5_000, limit: 10 });
  expect(cached('logs.txt')?.ranges).toEqual(['1000-1099', '5000-5009']);
});

test('O13: a pattern with a line range of a file finds in that range only', async () => {
  const text = await grep({ pattern: 'line \\d*7$', path: 'logs.txt', offset: 100, limit: 20 });
  expect(text.split('\n').slice(2)).toEqual(['107:line 107', '117:line 117']);
});

test('O13: head_limit cuts and says how to go on; offset of a folder goes on', async () => {
  const first = await grep({ pattern: 'TODO', output_mode: 'content', path: 'src', head_limit: 2 });
  expect(first).toBe(
    '2 lines in 1 file, of 3. For more: offset 2, or narrow the search.\nsrc/a.ts\n2:two TODO\n5:five TODO',
  );
  expect(await grep({ pattern: 'TODO', output_mode: 'content', path: 'src', offset: 2 })).toContain(
    'src/b.ts\n1:TODO b',
  );
  expect(await grep({ pattern: 'TODO', path: 'src', offset: 9 })).toContain('offset 9 is past them');
});

test('O13: a long line is cut with one note, and its cut text does not enter the cache', async () => {
  await bench.write('min/app.js', `needle${'x'.repeat(50_000)}\n`);
  const text = await grep({ pattern: 'needle', path: 'min', output_mode: 'content' });
  expect(text).toMatch(/1:needlex+ \[\.\.\. omitted end of long line\]$/);
  expect(text.length).toBeLessThan(2_200);
  expect(cached('min/app.js')).toBeUndefined();
});

test('O13: multiline patterns match over lines', async () => {
  expect(await grep({ pattern: 'three.four', multiline: true, path: 'src/a.ts' })).toContain('3:three\n4:four');
  expect(await grep({ pattern: 'three\\nfour', path: 'src/a.ts' })).toContain('3:three\n4:four');
});

test('E10: a wrong pattern is for the model to correct, with ripgrep’s own words and a hint', async () => {
  expect(await bench.run(grepTool, { pattern: 'call(' })).toMatchObject({
    ok: false,
    failure: { kind: 'invalid', message: expect.stringMatching(/unclosed group[\s\S]*must be escaped/) },
  });
  expect(await bench.run(grepTool, { pattern: 'x', path: 'src/aa.ts' })).toMatchObject({
    failure: { code: 'not_found', message: expect.stringContaining('Did you mean src/a.ts') },
  });
});

test('O23: Grep outside the project and in a secret file asks first', async () => {
  await bench.write('.env', 'KEY=1');
  expect(await bench.gate(grepTool, { pattern: 'x' })).toEqual({ verdict: 'allow' });
  expect(await bench.gate(grepTool, { pattern: 'x', path: dirname(bench.root) })).toMatchObject({ verdict: 'ask' });
  expect(await bench.gate(grepTool, { pattern: 'x', path: '.env' })).toMatchObject({ verdict: 'ask' });
  expect(await grep({ pattern: 'KEY', output_mode: 'content' })).not.toContain('KEY=1');
});

test('E11: a cancelled Grep is cancelled', async () => {
  const signal = AbortSignal.abort();
  expect(await bench.run(grepTool, { pattern: 'x' }, { signal })).toMatchObject({ failure: { kind: 'cancelled' } });
});

test('E18: whatever a reading tool is asked, its result is not empty and never a throw', async () => {
  const path = fc.constantFrom(
    '.',
    'src',
    'src/a.ts',
    'src/b.ts',
    'empty.txt',
    'blank.txt',
    'none',
    '..',
    '/',
    '',
    'a.bin',
  );
  const pattern = fc.oneof(fc.constantFrom('', '.*', 'TODO', '^$', '(', '{}', '\\n'), fc.string({ maxLength: 6 }));
  const glob = fc.oneof(
    fc.constantFrom('*', '**', '*.ts', '{a,b', '[', 'src/**', '/etc/*'),
    fc.string({ maxLength: 6 }),
  );
  const small = fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined });
  const mode = fc.constantFrom('content', 'files_with_matches', 'count', undefined);
  const calls: fc.Arbitrary<[string, object]> = fc.oneof(
    fc.tuple(
      fc.constant('Grep'),
      fc.record({
        pattern,
        path,
        glob: fc.option(glob, { nil: undefined }),
        output_mode: mode,
        offset: small,
        limit: small,
        '-C': small,
      }),
    ),
    fc.tuple(fc.constant('Glob'), fc.record({ pattern: glob, path: fc.constantFrom('.', 'src', 'none') })),
    fc.tuple(fc.constant('ReadFile'), fc.record({ file_path: path, offset: small, limit: small })),
    fc.tuple(
      fc.constant('LS'),
      fc.record({ path: path.filter((p) => p !== '/'), ignore: fc.array(glob, { maxLength: 2 }) }),
    ),
  );
  await bench.write('empty.txt', '');
  await bench.write('blank.txt', '\n \n');
  await bench.write('a.bin', new Uint8Array([0, 1, 10, 0]));
  await fc.assert(
    fc.asyncProperty(calls, async ([name, args]) => {
      // Above the project there may be anything; what matters here is the wording.
      fc.pre(name !== 'Grep' || !['..', '/'].includes((args as { path: string }).path));
      const call = TOOLS.get(name)?.parse(JSON.stringify(args));
      const outcome = call?.ok ? await call.value.run(bench.ctx) : call;
      const text = outcome?.ok ? (outcome.value as { text: string }).text : outcome?.failure.message;
      expect(text?.trim()).toBeTruthy();
    }),
    { numRuns: 150, verbose: 1 },
  );
});
