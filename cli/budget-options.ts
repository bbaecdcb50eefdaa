// The limits of a message as `odin run` and `odin send` take them (SPEC E7): money, tokens, time, steps.

import { InvalidArgumentError, Option } from 'commander';
import { messageLimits } from '../orchestrator/budget/settings.ts';
import type { Config } from '../orchestrator/config.ts';
import type { Limits } from '../shared/limits.ts';

export interface BudgetOptions {
  readonly maxSteps?: number;
  readonly budgetUsd?: number;
  readonly budgetTokens?: number;
  readonly timeout?: number;
}

export const stepsOption = () =>
  new Option('--max-steps <n>', 'stop after so many steps (default: maxSteps of the settings, else 25)').argParser(
    wholeNumber,
  );
export const usdOption = () =>
  new Option('--budget-usd <usd>', 'stop when the message has cost so much (docs/budgets.md)').argParser(money);
export const tokensOption = () =>
  new Option('--budget-tokens <n>', 'stop when the message has used so many tokens').argParser(wholeNumber);
export const timeOption = () =>
  new Option('--timeout <time>', 'stop the message after this time: 30s, 10m, 1h').argParser(duration);

/** What was asked for, and of the settings what was not. */
export function limitsOf(options: BudgetOptions, config: Pick<Config, 'maxSteps' | 'budget'>): Limits {
  const { maxSteps, budgetUsd, budgetTokens, timeout } = options;
  return {
    ...messageLimits(config),
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(budgetUsd === undefined ? {} : { usd: budgetUsd }),
    ...(budgetTokens === undefined ? {} : { tokens: budgetTokens }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
  };
}

const MAX_TIMEOUT_MS = 7 * 24 * 3_600_000;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

function duration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([smh])/g)];
  const ms = parts.reduce((sum, [, value = '', unit = '']) => sum + Number(value) * (UNIT_MS[unit] ?? 0), 0);
  const isWhole = parts.map(([part]) => part).join('') === text;
  if (!isWhole || ms < 1_000 || ms > MAX_TIMEOUT_MS) {
    throw new InvalidArgumentError('It must be a time with its unit, such as 30s, 10m or 1h30m, up to 168h.');
  }
  return Math.round(ms);
}

function money(text: string): number {
  const value = Number(text.replace(/^\$/, ''));
  if (!/^\$?\d*\.?\d+$/.test(text) || !(value > 0)) {
    throw new InvalidArgumentError('It must be an amount in USD, such as 0.50.');
  }
  return value;
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  }
  return value;
}

export const wholeNumberOrZero = (text: string): number => (text === '0' ? 0 : wholeNumber(text));
