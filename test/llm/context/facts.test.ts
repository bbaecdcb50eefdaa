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

test('O21: open questions and running agents are told once, and when they are settled or have ended', () => {
  const question = { id: 'q1', title: 'May I write outside of the project?', agent: 'a1' };
  const agent = { id: 'a1', title: 'Look for leaks', mode: 'ask', status: 'running', todos: [] } as const;
  const first = renderFacts(nothing, facts({ questions: [question], agents: [agent] }), 2);
  expect(first.text).toContain('open question to the user from a1: May I write outside of the project?');
  expect(first.text).toContain('agent a1 (ask, running): Look for leaks');
  expect(renderFacts(first.told, facts({ questions: [question], agents: [agent] }), 2).text).toBeNull();
  const { text } = renderFacts(first.told, facts(), 2);
  expect(text).toContain('agents that have ended: a1');
  expect(text).toContain('1 open questions are settled now');
});

test('O21: todos are told whole behind any number of cached files, and that there are none any more', () => {
  const cached = Array.from({ length: 100 }, (_, at) => file(`f${at}.ts`));
  const todos = [{ id: '1', content: 'the one that counts', status: 'pending' }] as const;
  const first = renderFacts(nothing, facts({ cached, todos }), 2);
  expect(first.text).toContain('[ ] the one that counts');
  expect(first.text).toContain('cached: and 60 more files');
  expect(renderFacts(first.told, facts({ cached }), 2).text).toContain('todos: none');
});
