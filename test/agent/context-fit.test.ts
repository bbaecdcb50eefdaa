// When the context is made smaller, and how much room an answer gets.

import { expect, test } from '@jest/globals';
import { checkFit } from '../../agent/context-fit.ts';
import { NO_TOKENS } from '../../llm/context/token-estimate.ts';
import { foldWindow, NO_WINDOW, type WindowMemory } from '../../llm/context/window-memory.ts';
import { emptyMemory } from '../../orchestrator/session-memory.ts';
import type { EventOf, JournalEvent } from '../../shared/events.ts';
import { type OpId, opId } from '../../shared/ids.ts';

const WINDOW = 100_000;
const MODEL = 'p/gpt-test';
const OP = opId(1, 5, 0);

/** A request that the provider has counted as `tokens`. */
const fitOf = (tokens: number, more: { window?: WindowMemory; maxOutputTokens?: number; op?: OpId } = {}) => {
  const base = { model: 'gpt-test', mode: 'ask', tokens, messages: 1 } as const;
  const memory = { ...emptyMemory('s'), tokens: { ...NO_TOKENS, base }, window: more.window ?? NO_WINDOW };
  const request = {
    model: 'gpt-test',
    system: '',
    tools: [],
    messages: [{ role: 'user', text: 'Hi' } as const],
    maxOutputTokens: more.maxOutputTokens ?? 8_000,
    cacheKey: 's',
  };
  const contextSettings = { compactAt: 0.8, target: 0.4, keepRecent: 6, summaryTimeoutMs: 1 };
  const deps = { memory, contextSettings, contextWindow: () => WINDOW, now: () => 7 };
  return checkFit(deps, { op: more.op ?? OP, model: MODEL, request, facts: null });
};

const fold = (...events: readonly JournalEvent[]) => events.reduce(foldWindow, NO_WINDOW);
const compacted = (tokensAfter: number, op: OpId): EventOf<'compact.done'> => ({
  type: 'compact.done',
  op,
  why: 'window',
  messages: { inline: [] },
  processors: [],
  tokensBefore: 90_000,
  tokensAfter,
  at: 0,
});
const asked = (estimate: number): EventOf<'llm.req'> => ({
  type: 'llm.req',
  op: OP,
  model: MODEL,
  reqHash: '',
  attempt: 1,
  estimate,
  at: 0,
});
const refused: EventOf<'llm.fail'> = {
  type: 'llm.fail',
  op: OP,
  failure: { kind: 'failed', code: 'context_too_long', message: '' },
  at: 0,
};

test('O21: the context is full when request and answer together pass the mark', () => {
  expect(fitOf(71_000).full).toBeNull();
  expect(fitOf(73_000).full).toEqual({
    type: 'context.full',
    op: OP,
    why: 'window',
    tokens: 73_000,
    window: WINDOW,
    at: 7,
  });
});

test('O21: after a compaction in this step only the window itself counts; in later ones it must have grown', () => {
  expect(fitOf(97_000, { window: fold(compacted(75_000, OP)) }).full).toBeNull();
  expect(fitOf(99_500, { window: fold(compacted(75_000, OP)) }).full?.why).toBe('window');
  const before = fold(compacted(75_000, opId(1, 4, 0)));
  expect(fitOf(80_000, { window: before }).full).toBeNull();
  expect(fitOf(83_000, { window: before }).full?.why).toBe('window');
});

test('O21: a wish is granted before the next step, once', () => {
  const wish = { type: 'tool.done', compact: 'the parser' } as unknown as EventOf<'tool.done'>;
  expect(fitOf(1_000, { window: fold(wish) }).full?.why).toBe('asked');
  expect(fitOf(1_000, { window: fold(wish, compacted(900, OP)), op: opId(1, 6, 0) }).full).toBeNull();
});

test('O21: what a model has refused is its window from then on, for that model', () => {
  const window = fold(asked(50_000), refused, asked(40_000), refused, asked(60_000), refused);
  expect(window.refused).toEqual({ model: MODEL, tokens: 40_000 });
  expect(fitOf(26_000, { window }).full).toBeNull();
  expect(fitOf(30_000, { window }).full?.why).toBe('window');
  expect(fitOf(30_000, { window: { ...window, refused: { model: 'p/other', tokens: 9 } } }).full).toBeNull();
});

test('E7: an answer gets the room that is left in the window, in steps, and never none', () => {
  expect(fitOf(50_000, { maxOutputTokens: 32_000 }).maxOutputTokens).toBe(32_000);
  expect(fitOf(70_000, { maxOutputTokens: 32_000 }).maxOutputTokens).toBe(7 * 4_096);
  expect(fitOf(70_100, { maxOutputTokens: 32_000 }).maxOutputTokens).toBe(7 * 4_096);
  expect(fitOf(99_900, { maxOutputTokens: 32_000 }).maxOutputTokens).toBe(1_024);
});
