import { describe, expect, test } from '@jest/globals';
import { costOf, createModelTable, modelInfo, UNKNOWN_MODEL } from '../../llm/model-info.ts';
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
    expect(costOf(modelInfo('compatible/my-model'), usage(10, 10))).toBeNull();
    expect(costOf(modelInfo('ollama/qwen3-coder'), usage(10, 10))).toBe(0);
  });
});

describe('costOf', () => {
  test('cached tokens cost their own price, and count once', () => {
    expect(costOf(modelInfo('anthropic/claude-opus-5-5'), usage(1_000_000, 0))).toBeCloseTo(4);
    expect(costOf(modelInfo('anthropic/claude-opus-5-5'), usage(1_000_000, 100_000, 800_000, 100_000))).toBeCloseTo(
      0.4 + 0.16 + 0.5 + 2,
    );
  });

  test('a long prompt is charged at its own prices as a whole', () => {
    expect(costOf(modelInfo('claude-haiku-5-5'), usage(100_000, 0))).toBeCloseTo(0.01);
    expect(costOf(modelInfo('claude-haiku-5-5'), usage(200_000, 0))).toBeCloseTo(0.1);
  });
});

describe('createModelTable', () => {
  test('what the user says of a model goes before the table; two prices are enough', () => {
    const table = createModelTable({
      'office/qwen3-coder': { context: 32_000, price: [1, 2] },
      'anthropic/claude-haiku-5-5': { price: [1, 1, 1, 1] },
      'anthropic/claude-opus-5-5': { context: 50_000 },
    });
    expect(table.info('office/qwen3-coder')).toMatchObject({
      known: true,
      contextWindow: 32_000,
      maxOutputTokens: 8_192,
    });
    expect(costOf(table.info('office/qwen3-coder'), usage(1_000_000, 1_000_000, 500_000))).toBe(3);
    expect(costOf(table.info('anthropic/claude-haiku-5-5'), usage(200_000, 0))).toBeCloseTo(0.2);
    expect(table.info('anthropic/claude-opus-5-5').maxOutputTokens).toBe(50_000);
    expect(costOf(table.info('anthropic/claude-opus-5-5'), usage(1_000_000, 0))).toBeCloseTo(4);
    expect(table.info('openai/gpt-5.5')).toEqual(modelInfo('gpt-5.5'));
  });

  test('a sum is known only when every part of it is, and long prompts keep their price in it', () => {
    const table = createModelTable({});
    const part = (given: ReturnType<typeof usage>, long = usage(0, 0)) => ({
      calls: 1,
      usage: given,
      longPrompts: long,
      isEstimated: false,
    });
    const haiku = part(usage(300_000, 0), usage(200_000, 0));
    expect(table.costOf({ 'anthropic/claude-haiku-5-5': haiku })).toBeCloseTo(0.01 + 0.1);
    expect(table.costOf({ 'anthropic/claude-haiku-5-5': haiku, 'office/other': part(usage(1, 1)) })).toBeNull();
    expect(table.costOf({})).toBe(0);
  });
});
