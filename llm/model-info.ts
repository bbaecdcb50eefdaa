// What is known about a model: its window, its largest answer, its prices. The table is models.json, a snapshot of
// the providers' published lists (November 2026), prices in USD per million tokens: input, output, cache read, cache write.
// A model that is not in it gets cautious defaults and no price: its cost shows as unknown, never as a guess.

import * as z from 'zod';
import type { Usage } from '../shared/messages.ts';
import table from './models.json' with { type: 'json' };

export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface ModelInfo {
  /** Whether models.json has this model. */
  readonly known: boolean;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** USD per million tokens; null: not known. */
  readonly price: Price | null;
  /** Other prices for the whole request when its prompt is longer than `above` tokens. */
  readonly longPrompt: { readonly above: number; readonly price: Price } | null;
  /** Claude models that decide themselves how long to think. */
  readonly adaptiveThinking: boolean;
}

const PriceRow = z
  .tuple([z.number(), z.number(), z.number(), z.number()])
  .transform(([input, output, cacheRead, cacheWrite]): Price => ({ input, output, cacheRead, cacheWrite }));

const Row = z.strictObject({
  context: z.int().positive(),
  maxOutput: z.int().positive(),
  adaptive: z.boolean().default(false),
  price: PriceRow.nullable().default(null),
  long: z.strictObject({ above: z.int().positive(), price: PriceRow }).nullable().default(null),
});

/** What most servers of open models manage. */
export const UNKNOWN_MODEL: ModelInfo = {
  known: false,
  contextWindow: 128_000,
  maxOutputTokens: 8_192,
  price: null,
  longPrompt: null,
  adaptiveThinking: false,
};

const FREE: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

const cache = new Map<string, ModelInfo>();

/** `provider/name` or `name`; a dated name (`…-20251001`, `…-2026-04-23`) and `-latest` count as the model itself. */
export function modelInfo(model: string): ModelInfo {
  const known = cache.get(model);
  if (known !== undefined) return known;
  const info = lookUp(model);
  cache.set(model, info);
  return info;
}

/** What one call cost, in USD; null when the price is not known. */
export function costOf(model: string, usage: Usage): number | null {
  const info = modelInfo(model);
  const price = info.longPrompt !== null && usage.input > info.longPrompt.above ? info.longPrompt.price : info.price;
  if (price === null) return null;
  const plain = Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite);
  const total =
    plain * price.input +
    usage.cacheRead * price.cacheRead +
    usage.cacheWrite * price.cacheWrite +
    usage.output * price.output;
  return total / 1_000_000;
}

function lookUp(model: string): ModelInfo {
  if (model.startsWith('ollama/')) return { ...UNKNOWN_MODEL, price: FREE };
  const bare = model.slice(model.lastIndexOf('/') + 1);
  // OpenRouter writes claude-opus-5.5 where Anthropic writes claude-opus-5-5.
  const name = bare.startsWith('claude') ? bare.replaceAll('.', '-') : bare;
  const rows: Readonly<Record<string, unknown>> = table;
  const undated = name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '');
  const key = [name, undated].find((candidate) => Object.hasOwn(rows, candidate));
  if (key === undefined) return UNKNOWN_MODEL;
  const row = Row.parse(rows[key]);
  return {
    known: true,
    contextWindow: row.context,
    maxOutputTokens: row.maxOutput,
    price: row.price,
    longPrompt: row.long,
    adaptiveThinking: row.adaptive,
  };
}
