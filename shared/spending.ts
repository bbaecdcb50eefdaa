// What models have used, by model (SPEC E16): tokens as they were counted, and what is needed to price them when somebody asks. Prices
// are not kept here: they are looked up when the sum is read.

import { addUsage, NO_USAGE, type Usage } from './messages.ts';

export interface ModelSpending {
  readonly calls: number;
  readonly usage: Usage;
  /** The part of `usage` whose prompts were over the length from which the provider charges more. */
  readonly longPrompts: Usage;
  /** Some of it was estimated: the provider counted nothing, or an answer broke off. */
  readonly isEstimated: boolean;
}

/** By `provider/name`. */
export type Spending = Readonly<Record<string, ModelSpending>>;

export interface SpentCall {
  readonly model: string;
  readonly usage: Usage;
  readonly isLong: boolean;
  readonly isEstimated: boolean;
}

/** What the meter needs to know of models. */
export interface Rates {
  /** Size of its context window, in tokens. */
  windowOf(model: string): number;
  /** USD of one call; null when the price is not known. */
  costOfCall(model: string, usage: Usage): number | null;
  /** USD; null when a price is not known: then the sum is not known either. */
  costOf(spending: Spending): number | null;
}

export const NOTHING_SPENT: Spending = {};

export function addCall(spending: Spending, { model, usage, isLong, isEstimated }: SpentCall): Spending {
  const before = spending[model] ?? { calls: 0, usage: NO_USAGE, longPrompts: NO_USAGE, isEstimated: false };
  const after: ModelSpending = {
    calls: before.calls + 1,
    usage: addUsage(before.usage, usage),
    longPrompts: isLong ? addUsage(before.longPrompts, usage) : before.longPrompts,
    isEstimated: before.isEstimated || isEstimated,
  };
  return { ...spending, [model]: after };
}

/** Where nothing is known of any model. */
export const NO_RATES: Rates = { windowOf: () => 0, costOfCall: () => null, costOf: () => null };

/** What one model has used and cost, for those who read it. */
export interface SpentOn {
  readonly model: string;
  readonly calls: number;
  readonly usage: Usage;
  readonly costUsd: number | null;
  readonly estimated: boolean;
}

export function spentOn(spending: Spending, rates: Rates): readonly SpentOn[] {
  return Object.entries(spending).map(([model, one]) => {
    const { calls, usage } = one;
    return { model, calls, usage, costUsd: rates.costOf({ [model]: one }), estimated: one.isEstimated };
  });
}

/** Input and output tokens of all models together, those read from a cache included. */
export function tokensIn(spending: Spending): number {
  return Object.values(spending).reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
}
