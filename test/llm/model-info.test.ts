import { describe, expect, test } from '@jest/globals';
import { costOf, modelInfo, UNKNOWN_MODEL } from '../../llm/model-info.ts';
import table from '../../llm/models.json' with { type: 'json' };

const usage = (input: number, output: number, cacheRead = 0, cacheWrite = 0) => ({
  input,
  output,
  cacheRead,
  cacheWrite,
});

describe('modelInfo', () => {
  test('every row of the table is valid, and cheaper from the cache than without', () => {
    for (const name of Object.keys(table)) {
      const info = modelInfo(name);
      expect(info.known).toBe(true);
      expect(info.maxOutputTokens).toBeLessThan(info.contextWindow);
      for (const price of [info.price, info.longPrompt?.price]) {
        if (price) expect(price.cacheRead).toBeLessThan(price.input);
      }
    }
  });

  test('a provider in front, a date or `latest` behind and OpenRouter’s dots do not change the model', () => {
    const plain = modelInfo('claude-haiku-4-5');
    for (const name of ['anthropic/claude-haiku-4-5-20251001', 'claude-haiku-4-5-latest']) {
      expect(modelInfo(name)).toEqual(plain);
    }
    expect(modelInfo('openrouter/anthropic/claude-opus-5.5')).toEqual(modelInfo('claude-opus-5-5'));
    expect(modelInfo('gpt-5.5-2026-04-23')).toEqual(modelInfo('gpt-5.5'));
  });

  test('an unknown model gets the documented defaults and no price; a local one costs nothing', () => {
    expect(modelInfo('compatible/my-model')).toEqual(UNKNOWN_MODEL);
    expect(modelInfo('gpt-5-pro')).toEqual(UNKNOWN_MODEL);
    expect(modelInfo('toString')).toEqual(UNKNOWN_MODEL);
    expect(costOf('compatible/my-model', usage(10, 10))).toBeNull();
    expect(costOf('ollama/qwen3-coder', usage(10, 10))).toBe(0);
  });
});

describe('costOf', () => {
  test('cached tokens cost their own price, and count once', () => {
    expect(costOf('anthropic/claude-opus-5-5', usage(1_000_000, 0))).toBeCloseTo(4);
    expect(costOf('anthropic/claude-opus-5-5', usage(1_000_000, 100_000, 800_000, 100_000))).toBeCloseTo(
      0.4 + 0.16 + 0.5 + 2,
    );
  });

  test('a long prompt is charged at its own prices as a whole', () => {
    expect(costOf('claude-haiku-5-5', usage(100_000, 0))).toBeCloseTo(0.01);
    expect(costOf('claude-haiku-5-5', usage(200_000, 0))).toBeCloseTo(0.1);
  });
});
