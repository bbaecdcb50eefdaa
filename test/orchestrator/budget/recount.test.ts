import { afterEach, expect, test } from '@jest/globals';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateRequest, guessedMessages, NO_TOKENS } from '../../../llm/context/token-estimate.ts';
import { createRecount, isWorthIt } from '../../../orchestrator/budget/recount.ts';
import { type HeavyPool, openHeavyPool } from '../../../orchestrator/pool.ts';
import type { ModelMessage, ModelRequest } from '../../../shared/messages.ts';

const open: HeavyPool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

const never = new AbortController().signal;

const request = (messages: readonly ModelMessage[]): ModelRequest => ({
  model: 'gpt-any',
  system: '',
  tools: [],
  messages,
  maxOutputTokens: 100,
  cacheKey: 'k',
});

test('E7: near the window what was guessed is counted by the tokenizer in a thread, and the next estimate is its count', async () => {
  const pool = openHeavyPool();
  open.push(pool);
  const done = Promise.withResolvers<void>();
  const watched: HeavyPool = {
    ...pool,
    async run(kind, input, signal) {
      const outcome = await pool.run(kind, input, signal);
      setImmediate(() => done.resolve());
      return outcome;
    },
  };
  // Marks of a model's own, and no gaps: what a tokenizer may stumble over.
  const texts = ['<|endoftext|> is data', 'x'.repeat(50_000), Buffer.from('odd'.repeat(9_000)).toString('base64')];
  const messages = texts.map((text): ModelMessage => ({ role: 'user', text }));
  const asked = request(messages);
  expect(guessedMessages(NO_TOKENS, asked)).toHaveLength(3);
  createRecount(watched, never)(NO_TOKENS, asked, 10_000);
  await done.promise;
  expect(guessedMessages(NO_TOKENS, asked)).toHaveLength(0);
  const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };
  const real = texts.reduce((sum, text) => sum + countTokens(text, plain), 0);
  const estimated = estimateRequest(NO_TOKENS, asked, null).tokens;
  expect(Math.abs(estimated - real) / real).toBeLessThan(0.01);
});

test('E7: it is asked only near the window, and only when much was guessed', () => {
  expect(isWorthIt({ tokens: 80_000, exactBase: 0 }, 100_000)).toBe(true);
  expect(isWorthIt({ tokens: 60_000, exactBase: 0 }, 100_000)).toBe(false);
  expect(isWorthIt({ tokens: 80_000, exactBase: 78_000 }, 100_000)).toBe(false);
});
