// The meter (SPEC E16): tokens in the model's window, tokens used and what they cost, while a message runs and at its end.

import { countText, usdText } from '../shared/amount-text.ts';
import type { StreamEvent, WindowUse } from '../shared/stream-events.ts';

type Done = Extract<StreamEvent, { readonly type: 'AgentDone' }>;

export interface Meter {
  /** Sees every event of a stream, in order. */
  see(event: StreamEvent): void;
  /** For the line that says what goes on; empty while nothing was used. */
  live(): string;
  /** The window at the end of a message; null when no model was asked. */
  window(): WindowUse | null;
}

export function createMeter(): Meter {
  let window: WindowUse | null = null;
  let usd: number | null = 0;
  let isEstimated = false;
  return {
    see(event) {
      if (event.type === 'MessageStarted') {
        window = null;
        usd = 0;
        isEstimated = false;
      }
      const isOwn = event.agent === undefined;
      if (event.type === 'ContextCompacted' && window && isOwn) window = { ...window, tokens: event.tokensAfter };
      // A subagent has a window of its own; what it costs is the message's.
      if (event.type === 'Usage' && isOwn) window = event.window;
      if (event.type !== 'Usage' && event.type !== 'AuxUsage') return;
      usd = usd === null || event.costUsd === null ? null : usd + event.costUsd;
      isEstimated ||= event.estimated;
    },
    live: () => (window === null ? '' : ` ${windowText(window)} · ${costText(usd, isEstimated)}`),
    window: () => window,
  };
}

/** 12k of 1M. */
export function windowText({ tokens, size }: WindowUse): string {
  return size === 0 ? shortCount(tokens) : `${shortCount(tokens)} of ${shortCount(size)} (${percent(tokens, size)})`;
}

/** What a message has used, of all its models. Journals of old have the planner's tokens alone. */
export function usedText({ usage, spending, costUsd }: Pick<Done, 'usage' | 'spending' | 'costUsd'>): string {
  const usages = spending.length === 0 ? [usage] : spending.map((one) => one.usage);
  const sum = (part: 'input' | 'output' | 'cacheRead') => usages.reduce((total, one) => total + one[part], 0);
  const cached = sum('cacheRead') > 0 ? ` (${countText(sum('cacheRead'))} cached)` : '';
  const isEstimated = spending.some((one) => one.estimated);
  const tokens = `${isEstimated ? '~' : ''}${countText(sum('input'))} tokens in${cached}, ${countText(sum('output'))} out`;
  return spending.length === 0 ? tokens : `${tokens} · ${costText(costUsd, isEstimated)}`;
}

/** ~ marks what was estimated. */
export const costText = (usd: number | null, isEstimated: boolean): string =>
  `${isEstimated && usd !== null ? '~' : ''}${usdText(usd)}`;

const percent = (tokens: number, size: number): string =>
  tokens * 100 < size ? '<1 %' : `${Math.round((100 * tokens) / size)} %`;

function shortCount(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 1_000_000) return `${Math.round(value / 1_000)}k`;
  return `${(value / 1_000_000).toFixed(2).replace(/\.?0+$/, '')}M`;
}
