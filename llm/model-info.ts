// What is known about a model: its window, its largest answer, its prices. The table is models.json, a snapshot of
// the providers' published lists (November 2026), prices in USD per million tokens: input, output, cache read, cache write.
// What the user's settings say of a model goes before it. A model that is in neither gets cautious defaults and no price: its cost
// shows as unknown, never as a guess.

import * as z from 'zod';
import type { Usage } from '../shared/messages.ts';
import type { Rates, Spending } from '../shared/spending.ts';
import table from './models.json' with { type: 'json' };

export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface ModelInfo {
  /** Whether models.json or the user's settings have this model. */
  readonly known: boolean;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** USD per million tokens; null: not known. */
  readonly price: Price | null;
  /** Other prices for the whole request when its prompt is longer than `above` tokens. */
  readonly longPrompt: { readonly above: number; readonly price: Price } | null;
  /** Claude models that decide themselves how long to think. */
  readonly adaptiveThinking: boolean;
  /** It takes pictures. */
  readonly images: boolean;
}

/** What the user's settings say of a model. */
export const ModelOverride = z.strictObject({
  context: z.int().positive().describe('Its context window, in tokens.').exactOptional(),
  maxOutput: z.int().positive().describe('Its largest answer, in tokens.').exactOptional(),
  price: z
    .tuple([z.number().min(0), z.number().min(0)], z.number().min(0))
    .refine((prices) => prices.length === 2 || prices.length === 4, 'must have two or four numbers')
    .describe('USD per million tokens: input, output and, if they differ from input, cache read, cache write.')
    .exactOptional(),
  images: z.boolean().describe('Whether it takes pictures.').exactOptional(),
});
export type ModelOverride = z.infer<typeof ModelOverride>;

/** Models by `provider/name`. */
export interface ModelTable extends Rates {
  info(model: string): ModelInfo;
}

const PriceRow = z
  .tuple([z.number(), z.number(), z.number(), z.number()])
  .transform(([input, output, cacheRead, cacheWrite]): Price => ({ input, output, cacheRead, cacheWrite }));

const Row = z.strictObject({
  context: z.int().positive(),
  maxOutput: z.int().positive(),
  adaptive: z.boolean().default(false),
  // All that are in the table do, but for one that says otherwise.
  images: z.boolean().default(true),
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
  images: false,
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

/** The table as it holds for a user. */
export function createModelTable(overrides: Readonly<Record<string, ModelOverride>>): ModelTable {
  const own = new Map(Object.entries(overrides).map(([model, override]) => [model, overridden(model, override)]));
  const info = (model: string): ModelInfo => own.get(model) ?? modelInfo(model);
  return {
    info,
    windowOf: (model) => info(model).contextWindow,
    costOfCall: (model, usage) => costOf(info(model), usage),
    costOf: (spending) => costOfAll(info, spending),
  };
}

/** What one call costs, in USD; null when the price is not known. */
export function costOf(info: ModelInfo, usage: Usage): number | null {
  return charge(priceFor(info, usage.input), usage);
}

/** The price of a call with a prompt of so many tokens. */
export function priceFor(info: ModelInfo, inputTokens: number): Price | null {
  const { longPrompt } = info;
  return longPrompt !== null && inputTokens > longPrompt.above ? longPrompt.price : info.price;
}

/** Whether a provider charges more for a prompt of so many tokens. */
export function isLongPrompt(model: string, inputTokens: number): boolean {
  const { longPrompt } = modelInfo(model);
  return longPrompt !== null && inputTokens > longPrompt.above;
}

function costOfAll(info: (model: string) => ModelInfo, spending: Spending): number | null {
  let sum = 0;
  for (const [model, { usage, longPrompts }] of Object.entries(spending)) {
    const { price, longPrompt } = info(model);
    const plain = charge(price, {
      input: usage.input - longPrompts.input,
      output: usage.output - longPrompts.output,
      cacheRead: usage.cacheRead - longPrompts.cacheRead,
      cacheWrite: usage.cacheWrite - longPrompts.cacheWrite,
    });
    const long = charge(longPrompt?.price ?? price, longPrompts);
    if (plain === null || long === null) return null;
    sum += plain + long;
  }
  return sum;
}

/** `input` has the tokens of the cache in it: they count once, at their own price. */
function charge(price: Price | null, usage: Usage): number | null {
  if (price === null) return null;
  const plain = Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite);
  const total =
    plain * price.input +
    usage.cacheRead * price.cacheRead +
    usage.cacheWrite * price.cacheWrite +
    usage.output * price.output;
  return total / 1_000_000;
}

function overridden(model: string, { context, maxOutput, price, images }: ModelOverride): ModelInfo {
  const info = modelInfo(model);
  const [input = 0, output = 0, cacheRead = input, cacheWrite = input] = price ?? [];
  const contextWindow = context ?? info.contextWindow;
  return {
    ...info,
    known: true,
    contextWindow,
    images: images ?? info.images,
    maxOutputTokens: Math.min(maxOutput ?? info.maxOutputTokens, contextWindow),
    // One price, whatever the length of the prompt: it is the user's word.
    ...(price === undefined ? {} : { price: { input, output, cacheRead, cacheWrite }, longPrompt: null }),
  };
}

function lookUp(model: string): ModelInfo {
  // On this machine; or Odin itself in place of a model, as in `odin init` and `odin demo`.
  if (/^(?:ollama|odin)\//.test(model)) return { ...UNKNOWN_MODEL, price: FREE };
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
    images: row.images,
  };
}
