// As what a subagent has ended, in the terms of its parent: from the end of its loop to the event in the parent's journal and the report that
// the call gives. The same wherever it worked.

import type { LoopEnd } from '../../agent/loop-deps.ts';
import type { SubagentEnd } from '../../machines/subagent/events.ts';
import type { AgentReport } from '../../shared/agents-port.ts';
import type { EventOf } from '../../shared/events.ts';
import type { LimitKind } from '../../shared/limits.ts';
import { type Scrub, scrubJson } from '../../shared/scrub.ts';

export function endOfLoop({ status, answer, failure, steps }: LoopEnd): SubagentEnd {
  const base = { limit: null, answer, failure, steps };
  switch (status) {
    case 'completed':
    case 'cancelled':
      return { ...base, end: status };
    case 'step_limit':
      return { ...base, end: 'limit', limit: 'steps' };
    case 'budget':
      return { ...base, end: 'limit', limit: (failure?.code.replace('budget_', '') || 'tokens') as LimitKind };
    case 'repeated_calls':
    case 'planner_failure':
    case 'refused':
      return { ...base, end: 'failed' };
  }
}

/** `end.answer` is clean. */
export function agentDone(
  { aid, seq, title, background, at: since }: EventOf<'agent.spawn'>,
  { end, limit, answer, failure, steps }: SubagentEnd,
  { scrub, at }: { readonly scrub: Scrub; readonly at: number },
): EventOf<'agent.done'> {
  return {
    ...{ type: 'agent.done', aid, seq, title, background, end },
    ...(limit === null ? {} : { limit }),
    answer: { inline: scrub(answer) },
    ...(failure === null ? {} : { failure: scrubJson(failure, scrub) }),
    ...{ steps, durationMs: Math.max(0, at - since), at },
  };
}

export const agentReport = (
  { aid: id, title }: EventOf<'agent.spawn'>,
  { end, limit, answer, steps }: SubagentEnd,
): AgentReport => ({ id, title, end, limit, answer, steps });
