// The settings' limits as those who keep them want them.

import type { Limits } from '../../shared/limits.ts';
import type { Config } from '../config.ts';
import type { Caps } from './ledger.ts';

/** Of a message that says nothing else. */
export function messageLimits({ maxSteps, budget }: Pick<Config, 'maxSteps' | 'budget'>): Limits {
  const { messageUsd, messageTokens, timeoutMs } = budget;
  return {
    maxSteps,
    ...(messageUsd === undefined ? {} : { usd: messageUsd }),
    ...(messageTokens === undefined ? {} : { tokens: messageTokens }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

/** Of a session in sum. */
export function sessionCaps({ budget: { sessionUsd, sessionTokens } }: Pick<Config, 'budget'>): Caps {
  return {
    ...(sessionUsd === undefined ? {} : { usd: sessionUsd }),
    ...(sessionTokens === undefined ? {} : { tokens: sessionTokens }),
  };
}
