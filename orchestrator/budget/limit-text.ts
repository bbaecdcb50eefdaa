// What is said of a limit: to the person when it stops a message, and to the planner when it comes near.

import { countText, timeText, usdText } from '../../shared/amount-text.ts';
import type { LimitKind } from '../../shared/limits.ts';
import type { Amount, LimitHit } from './ledger.ts';

const GO_ON = 'What was done is kept.';

/** `asked` are the models whose calls were to be paid. */
export function limitText({ scope, limit, why }: LimitHit, asked: readonly string[]): string {
  if (why === 'unpriced') return unpricedText(asked);
  const cap = scope.caps[limit] ?? 0;
  const what = `the budget of ${amountText(limit, cap)} for ${OF[scope.name] ?? scope.name} is spent`;
  return `${what}: ${usedText(scope.spent())}. ${GO_ON} ${howToGoOn(scope.name, limit, cap)}`;
}

export function timeLimitText(timeoutMs: number): string {
  const time = timeText(timeoutMs);
  return `the ${time} for this message are over. ${GO_ON} To go on with new time: odin run --continue --timeout ${time} "go on"`;
}

/** A budget in money needs prices. */
export function unpricedText(models: readonly string[]): string {
  const [first = 'provider/name'] = models;
  const name = models.join(' and ');
  return (
    `a budget in money cannot be kept: the price of ${name} is not known. Use a budget in tokens (--budget-tokens), or say what it costs ` +
    `in the user's config.json, in USD per million tokens of input and output: "models": { "${first}": { "price": [1, 5] } }`
  );
}

/** One line for the planner. */
export function nearText(limit: LimitKind, used: number, cap: number): string {
  const of = limit === 'time' ? timeText(cap) : amountText(limit, cap);
  return `budget: ${Math.floor((100 * used) / cap)} % of ${of} used; when it is spent you are stopped. Finish what matters most, then answer.`;
}

const OF: Readonly<Record<string, string>> = {
  agent: 'this agent',
  batch: "the batch's tasks in this process",
  message: 'this message',
  session: 'this session',
  process: 'all that runs in this Odin',
};

const SETTING = { usd: 'sessionUsd', tokens: 'sessionTokens' } as const;

function howToGoOn(scope: string, limit: 'usd' | 'tokens', cap: number): string {
  if (scope === 'session') return `To go on, raise budget.${SETTING[limit]} in the settings, or begin a new session.`;
  if (scope === 'agent') return 'Its parent can start another with a larger one.';
  if (scope === 'message') return `To go on with a new budget: odin run --continue --budget-${limit} ${cap} "go on"`;
  return 'To go on, start it again with a larger one.';
}

const amountText = (limit: 'usd' | 'tokens', value: number): string =>
  limit === 'usd' ? usdText(value) : `${countText(value)} tokens`;

const usedText = ({ usd, tokens }: Amount): string =>
  usd === null ? `${countText(tokens)} tokens used` : `${usdText(usd)} and ${countText(tokens)} tokens used`;
