import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { capLine, capText, MAX_RESULT_CHARS } from '../../tools/cap-text.ts';

test('E18: whatever a text is, its capped form is not empty, fits the limit and is well-formed', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 3_000 }),
      fc.integer({ min: 300, max: 2_000 }),
      (text, limit) => {
        const capped = capText(text, 'Read the rest with offset.', limit);
        expect(capped.trim()).not.toBe('');
        expect(capped.length).toBeLessThanOrEqual(limit);
        expect(capped.isWellFormed()).toBe(true);
      },
    ),
    { verbose: 1 },
  );
});

test('O9: a long text keeps its head and its tail, whole lines, and says what is missing and how to read it', () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => `row ${i + 1}`);
  const capped = capText(rows.join('\n'), 'Use a narrower pattern.');
  expect(capped.length).toBeLessThanOrEqual(MAX_RESULT_CHARS);
  const kept = capped.split('\n').filter((line) => line.startsWith('row '));
  expect(kept.every((line) => rows.includes(line))).toBe(true);
  expect([kept[0], kept.at(-1)]).toEqual(['row 1', 'row 10000']);
  const [, lines] = /\[… (\d+) lines, \d+ characters cut here\. Use a narrower pattern\.\]/.exec(capped) ?? [];
  expect(Math.abs(Number(lines) + kept.length - rows.length)).toBeLessThanOrEqual(2);
});

test('O9: a short text stays as it is; a long line is cut with its size', () => {
  expect(capText('as it is', 'x')).toBe('as it is');
  expect(capLine('as it is')).toBe('as it is');
  expect(capLine('x'.repeat(5_000))).toBe(`${'x'.repeat(2_000)} [… 3000 more characters in this line]`);
});
