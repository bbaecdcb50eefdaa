// Near the window a guess is not good enough (SPEC E7): where much of a long request was never counted by its provider (a server that
// counts nothing, a conversation that was compacted or got another model), the tokenizer counts it in a thread while the model answers. No
// request waits for that; the next estimates are better by it. Measured: the guess is off by up to 10 %, so far from the window, or
// where the provider has counted nearly all, its 0.1 s and 77 MB buy nothing.

import {
  estimateRequest,
  guessedMessages,
  keepCount,
  type RequestEstimate,
  type TokenMemory,
} from '../../llm/context/token-estimate.ts';
import type { ModelRequest } from '../../shared/messages.ts';
import type { HeavyPool } from '../pool.ts';

/** Counts again if it is worth it; returns at once. */
export type Recount = (tokens: TokenMemory, request: ModelRequest, window: number) => void;

const NEAR_WINDOW = 0.7;
const MUCH_GUESSED = 0.1;

export function createRecount(pool: HeavyPool, closing: AbortSignal): Recount {
  let isBusy = false;
  return (tokens, request, window) => {
    if (isBusy || !isWorthIt(estimateRequest(tokens, request, null), window)) return;
    const guessed = guessedMessages(tokens, request);
    if (guessed.length === 0) return;
    isBusy = true;
    void pool.run('tokens', { texts: guessed.map(({ text }) => text) }, closing).then((outcome) => {
      isBusy = false;
      // Without it the guess stays.
      if (!outcome.ok) return;
      for (const [i, { message }] of guessed.entries()) keepCount(message, outcome.value.counts[i] ?? 0);
    });
  };
}

export function isWorthIt({ tokens, exactBase }: RequestEstimate, window: number): boolean {
  return tokens >= NEAR_WINDOW * window && tokens - exactBase >= MUCH_GUESSED * tokens;
}
