import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyEdits } from '../../../orchestrator/files/apply-edits.ts';
import { decodeText, encodeText } from '../../../orchestrator/files/text-format.ts';
import type { TextEdit } from '../../../shared/files-port.ts';
import { codeOf, messageOf, must } from '../../support/files-bench.ts';
import { printedSeed } from '../../support/seed.ts';

const RUNS = 2_500;

const edit = (oldText: string, newText: string, replaceAll = false): TextEdit => ({ oldText, newText, replaceAll });
const apply = (text: string, ...edits: TextEdit[]) => applyEdits(text, edits, '/f');

/** The same in the plainest way, on LF text. */
function reference(text: string, edits: readonly TextEdit[]): string | undefined {
  let now = text;
  for (const { oldText, newText, replaceAll } of edits) {
    if (oldText === newText || oldText === '') return undefined;
    const first = now.indexOf(oldText);
    if (first === -1) return undefined;
    if (replaceAll) now = now.split(oldText).join(newText);
    else if (now.lastIndexOf(oldText) !== first) return undefined;
    else now = now.slice(0, first) + newText + now.slice(first + oldText.length);
  }
  return now;
}

const word = fc.constantFrom('a', 'b', 'ab', ' ', '\t', 'é', '猫', '🙂', '\\n', '"', '\r', 'x'.repeat(40));
const lineArb = fc.array(word, { maxLength: 4 }).map((parts) => parts.join('').replace(/\r$/, ''));
const linesArb = fc.array(lineArb, { maxLength: 12 });
const pieceArb = fc.array(lineArb, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n'));

/** Edits of which many hit: their old text is cut out of the text. */
const editsFor = (text: string) =>
  fc.array(
    fc.record({
      oldText: fc.oneof(
        {
          weight: 4,
          arbitrary: fc
            .tuple(fc.nat(text.length), fc.integer({ min: 1, max: 24 }))
            .map(([at, n]) => text.slice(at, at + n)),
        },
        { weight: 1, arbitrary: pieceArb },
      ),
      newText: pieceArb,
      replaceAll: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  );

/** CR before LF is part of an ending and not of a text that a model sends. */
const isPlain = (edits: readonly TextEdit[], text: string) =>
  ![text, ...edits.flatMap(({ oldText, newText }) => [oldText, newText])].some(
    (part) => part.includes('\r\n') || part.endsWith('\r'),
  );

describe('O16, O17: edits against a plain reference', () => {
  for (const [name, ending] of [
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ] as const) {
    test(`on ${name} files the result is the reference's with the file's endings, or both refuse`, () => {
      const seed = printedSeed(`edits on ${name}`);
      const cases = linesArb.chain((lines) => fc.tuple(fc.constant(lines.join('\n')), editsFor(lines.join('\n'))));
      fc.assert(
        fc.property(cases, ([text, edits]) => {
          fc.pre(isPlain(edits, text));
          const expected = reference(text, edits);
          const got = applyEdits(text.replaceAll('\n', ending), edits, '/f');
          // A file without a line has no ending to keep.
          const usual = text.includes('\n') ? ending : '\n';
          if (expected === undefined) expect(got.ok).toBe(false);
          else expect(must(got).text).toBe(expected.replaceAll('\n', usual));
        }),
        { seed, numRuns: RUNS },
      );
    });
  }

  test("on files with mixed endings the text is the reference's and every untouched line keeps its ending", () => {
    const seed = printedSeed('edits on mixed endings');
    const mixed = fc
      .array(fc.tuple(lineArb, fc.constantFrom('\n', '\r\n')), { minLength: 2, maxLength: 12 })
      .map((lines) => lines.map(([line, ending], i) => ({ line: `${i}:${line}`, ending })));
    const cases = mixed.chain((lines) => {
      const text = lines.map(({ line }) => `${line}\n`).join('');
      return fc.tuple(fc.constant(lines), fc.constant(text), editsFor(text));
    });
    fc.assert(
      fc.property(cases, ([lines, text, edits]) => {
        // A lone CR that comes to stand before LF becomes part of an ending: legal, but not what this is about.
        fc.pre(![text, ...edits.map(({ newText }) => newText)].some((part) => part.includes('\r')));
        const expected = reference(text, edits);
        const got = applyEdits(lines.map(({ line, ending }) => line + ending).join(''), edits, '/f');
        if (expected === undefined) return expect(got.ok).toBe(false);
        const result = must(got).text;
        expect(result.replaceAll('\r\n', '\n')).toBe(expected);
        const after = result.split('\n');
        for (const { line, ending } of lines) {
          // Numbered, so a line that is still there whole is the same line, unless an edit made it anew.
          if (edits.some(({ oldText, newText }) => `${oldText}${newText}`.includes(line.slice(0, 2)))) continue;
          const touched = edits.some(({ oldText }) => oldText.includes('\n'));
          const same = after.find((one) => one === line || one === `${line}\r`);
          if (same !== undefined && !touched) expect(same.endsWith('\r')).toBe(ending === '\r\n');
        }
      }),
      { seed, numRuns: RUNS },
    );
  });

  test('bytes of any encoding survive decoding and encoding', () => {
    const seed = printedSeed('encodings');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (raw, bom) => {
        const bytes = Buffer.concat([Buffer.from(bom ? [0xef, 0xbb, 0xbf] : []), raw]);
        const decoded = decodeText(bytes, '/f');
        if (!decoded.ok) return expect(['binary', 'utf16']).toContain(decoded.failure.code);
        expect(encodeText(decoded.value.text, decoded.value.encoding)).toEqual(bytes);
      }),
      { seed, numRuns: RUNS },
    );
  });
});

describe('O16: a failed edit says what to do', () => {
  test('several matches name their lines', () => {
    const outcome = apply('a\nfoo\nb\nfoo\n', edit('foo', 'bar'));
    expect(codeOf(outcome)).toBe('several_matches');
    expect(messageOf(outcome)).toMatch(/2 times.*lines 2, 4.*replace_all/);
  });

  test('white space is named and the exact lines are shown', () => {
    const outcome = apply('function f() {\n\treturn 1;\n}\n', edit('function f() {\n    return 1;\n}', 'x'));
    expect(messageOf(outcome)).toContain('lines 1-3 differs in white space only');
    expect(messageOf(outcome)).toContain('\treturn 1;');
  });

  test.each([
    ['upper and lower case', 'Hello World\n', 'hello world', /line 1 differs in upper and lower case/],
    ['quotes', 'say \u201chi\u201d\n', 'say "hi"', /quotes, dashes/],
    ['line numbers', 'one\ntwo\n', '  1→one\n  2→two', /without the line numbers/],
    ['escapes', 'one\n\ttwo\n', 'one\\n\\ttwo', /real line breaks/],
    ['spelled-out escapes', 'print("a\\nb")\n', 'print("a\nb")', /spelled out/],
    ['HTML entities', 'if (a < b && c) {\n', 'if (a &lt; b &amp;&amp; c) {', /HTML entities/],
    ['an end too many', 'last', 'last\n', /beginning or end/],
    ['an empty file', '', 'x', /empty/],
  ])('a difference in %s is recognised', (_, text, old, expected) => {
    const outcome = apply(text, edit(old, 'new'));
    expect(codeOf(outcome)).toBe('no_match');
    expect(messageOf(outcome)).toMatch(expected);
    expect(messageOf(outcome)).toContain('Nothing was changed.');
  });

  test('otherwise the nearest place and the first line that differs are named', () => {
    const text = 'zero\nalpha = 1\nbeta = 2\ngamma = 3\n';
    const outcome = apply(text, edit('alpha = 1\nbeta = 22\ngamma = 3', 'x'));
    expect(messageOf(outcome)).toMatch(/lines 2-4.*you sent "beta = 22", the file has "beta = 2" \(line 3\)/);
    expect(outcome).toMatchObject({ failure: { details: { lines: [{ start: 2, end: 4 }] } } });
  });

  test('same, empty and lost texts are refused, each with its reason', () => {
    expect(messageOf(apply('a\n', edit('a', 'a')))).toMatch(/the same\. There is nothing/);
    expect(messageOf(apply('a\r\nb\n', edit('a\r\nb', 'a\nb')))).toMatch(/line endings/);
    expect(codeOf(apply('a\n', edit('', 'b')))).toBe('empty_text');
    const lost = apply('a\nb\n', edit('a', 'c'), edit('a', 'd'));
    expect(messageOf(lost)).toMatch(
      /^Edit 2 of 2: .*An edit before it in the same call changed it\. None of the edits was made\./,
    );
  });

  test('E18: an overlapping second place counts', () => {
    expect(codeOf(apply('aaa', edit('aa', 'b')))).toBe('several_matches');
    expect(must(apply('aaa', edit('aa', 'b', true))).text).toBe('ba');
  });
});

test('O16: a model that sends CRLF edits an LF file all the same, and lone CRs stay', () => {
  expect(must(apply('a\nb\rc\n', edit('a\r\nb', 'x\r\ny'))).text).toBe('x\ny\rc\n');
  expect(must(apply('a\r\r\nb\r\n', edit('b', 'c\nd'))).text).toBe('a\r\r\nc\r\nd\r\n');
});

test('O16: an edit among mixed endings gives new lines the ending of the line they are added to', () => {
  expect(must(apply('a\r\nb\nc\n', edit('b\nc', 'b\nnew\nc'))).text).toBe('a\r\nb\nnew\nc\n');
  expect(must(apply('a\r\nb\r\nc\n', edit('a\nb', 'a\nnew\nb'))).text).toBe('a\r\nnew\r\nb\r\nc\n');
  expect(must(apply('x\r\nx\nx\n', edit('x\n', 'y\nz\n', true))).text).toBe('y\r\nz\r\ny\nz\ny\nz\n');
});
