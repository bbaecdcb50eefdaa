// The volatile facts: only what is new, never twice.

import { expect, test } from '@jest/globals';
import { type CurrentFacts, renderFacts, type ToldFacts } from '../../../llm/context/facts.ts';

const file = (name: string, totalLines = 10) => ({
  filePath: `/p/${name}`,
  size: 100,
  totalLines,
  mtimeMs: 0,
  cachedAt: 0,
  isModified: false,
  truncated: false,
  ranges: [],
});
const facts = (more: Partial<CurrentFacts> = {}): CurrentFacts => ({
  date: '2026-11-20',
  cached: [],
  todos: [],
  agents: [],
  questions: [],
  repeats: 0,
  root: '/p',
  ...more,
});
const nothing: ToldFacts = new Map();

test('O8: the planner is told once of a cached file, again when it changed, and when it is gone', () => {
  const first = renderFacts(nothing, facts({ cached: [file('a.ts')] }), 2);
  expect(first.text).toContain('cached: a.ts (10 lines');
  expect(renderFacts(first.told, facts({ cached: [file('a.ts')] }), 2).text).toBeNull();
  const grown = renderFacts(first.told, facts({ cached: [file('a.ts', 11)] }), 2);
  expect(grown.text).toContain('11 lines');
  expect(grown.text).not.toContain('today');
  expect(renderFacts(grown.told, facts(), 2).text).toContain('no longer cached: a.ts');
});

test('O8: ranges, changes made here and todos are told', () => {
  const partial = { ...file('b.ts', 900), truncated: true, ranges: ['1-40', '80-90'], isModified: true };
  const { text } = renderFacts(
    nothing,
    facts({ cached: [partial], todos: [{ id: '1', content: 'look', status: 'in_progress' }] }),
    2,
  );
  expect(text).toContain('lines 1-40, 80-90 of 900');
  expect(text).toContain('modified by you');
  expect(text).toContain('[>] look');
});

test('O2: the planner is told when it repeats itself', () => {
  const told = renderFacts(nothing, facts(), 2).told;
  expect(renderFacts(told, facts({ repeats: 1 }), 2).text).toBeNull();
  expect(renderFacts(told, facts({ repeats: 2 }), 2).text).toContain('3 times in a row');
});
