// How a message ended, for one line. The answer itself says so too; this is the line below it.

import type { EndReason } from '../shared/limits.ts';
import type { StreamEvent, WindowUse } from '../shared/stream-events.ts';
import { usedText, windowText } from './meter.ts';
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
  end: Extract<StreamEvent, { readonly type: 'AgentDone' }>,
  code: string | null = null,
  window: WindowUse | null = null,
): string {
  const steps = end.steps === 1 ? '1 step' : `${end.steps} steps`;
  const why = end.status === 'planner_failure' && code !== null ? `: ${troubleWords(code)}` : '';
  const held = window === null || window.size === 0 ? '' : ` · window ${windowText(window)}`;
  return `${WORDS[end.status]}${why} · ${steps} · ${usedText(end)}${held}`;
}
