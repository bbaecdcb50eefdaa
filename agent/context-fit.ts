// Whether the next request fits its model's window (SPEC O21, E7). Synchronous and cheap: it stands between a tool's result and the
// next request.

import { estimateRequest } from '../llm/context/token-estimate.ts';
import type { CompactReason, EventOf } from '../shared/events.ts';
import type { OpId } from '../shared/ids.ts';
import type { ModelRequest } from '../shared/messages.ts';
import type { LoopDeps } from './loop-deps.ts';

export interface Fit {
  /** Input tokens of the request, as estimated. */
  readonly tokens: number;
  /** How long the answer may become in what is left of the window. */
  readonly maxOutputTokens: number;
  /** What to record in place of the request when the context is to be made smaller first. */
  readonly full: EventOf<'context.full'> | null;
}

/** Below this no answer is worth asking for. */
export const MIN_OUTPUT_TOKENS = 1_024;
/** An answer seldom is longer: this much is kept free for it. */
const MAX_RESERVED_TOKENS = 16_000;
/** A compaction that could not do better is not tried again before the context has grown by this much. */
const REGROWN = 1.1;

export function checkFit(
  deps: Pick<LoopDeps, 'memory' | 'contextWindow' | 'contextSettings' | 'now'>,
  { op, model, request, facts }: FitQuestion,
): Fit {
  const { window: known, tokens: counted } = deps.memory;
  const { tokens } = estimateRequest(counted, request, facts);
  const window = deps.contextWindow(model);
  const why = whySmaller();
  return {
    tokens,
    maxOutputTokens: outputRoom(request.maxOutputTokens, window - tokens),
    full: why === null ? null : { type: 'context.full', op, why, tokens, window, at: deps.now() },
  };

  function whySmaller(): CompactReason | null {
    const overflows = tokens + MIN_OUTPUT_TOKENS > window;
    if (known.compacted?.op === op) return overflows ? 'window' : null;
    if (known.wish !== null) return 'asked';
    if (overflows) return 'window';
    const taken = takenBy(deps, model);
    const reserved = Math.min(request.maxOutputTokens, MAX_RESERVED_TOKENS, taken / 10);
    const isFull = tokens + reserved > deps.contextSettings.compactAt * taken;
    return isFull && tokens > (known.compacted?.tokens ?? 0) * REGROWN ? 'window' : null;
  }
}

/** The model's window; what it has refused before it will refuse again, whatever the table says of it. */
export function takenBy({ memory, contextWindow }: Pick<LoopDeps, 'memory' | 'contextWindow'>, model: string): number {
  const { refused } = memory.window;
  return refused?.model === model ? Math.min(contextWindow(model), refused.tokens) : contextWindow(model);
}

export interface FitQuestion {
  readonly op: OpId;
  /** `provider/name`. */
  readonly model: string;
  readonly request: ModelRequest;
  /** Will be appended to the request's newest message. */
  readonly facts: string | null;
}

/** In steps, so that not every request near the window's end has another limit. */
function outputRoom(wanted: number, left: number): number {
  if (wanted <= left) return wanted;
  const room = left >= 2 * STEP ? Math.floor(left / STEP) * STEP : left;
  return Math.max(Math.min(wanted, MIN_OUTPUT_TOKENS), Math.min(wanted, room));
}

const STEP = 4_096;
