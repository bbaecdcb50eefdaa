// How a message ended, for one line. The answer itself says so too; this is the line below it.

import type { EndReason } from '../shared/events.ts';
import type { Usage } from '../shared/messages.ts';
import { troubleWords } from './trouble-text.ts';

const WORDS: Readonly<Record<EndReason, string>> = {
  completed: 'completed',
  step_limit: 'stopped at the step limit (--max-steps raises it)',
  budget: 'stopped by the budget',
  repeated_calls: 'stopped: the same call was repeated without progress',
  cancelled: 'cancelled',
  planner_failure: 'failed',
  refused: 'refused',
};

/** `code` is what a failed message failed of. */
export function describeEnd(
  end: { readonly status: EndReason; readonly steps: number; readonly usage: Usage },
  code: string | null = null,
): string {
  const { input, output, cacheRead } = end.usage;
  const cached = cacheRead > 0 ? ` (${count(cacheRead)} cached)` : '';
  const steps = end.steps === 1 ? '1 step' : `${end.steps} steps`;
  const why = end.status === 'planner_failure' && code !== null ? `: ${troubleWords(code)}` : '';
  return `${WORDS[end.status]}${why} · ${steps} · ${count(input)} tokens in${cached}, ${count(output)} out`;
}

/** With commas; toLocaleString would load the whole of ICU for this one line (12 ms). */
export const count = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
