// The agent machine's inputs are journal events: this is the one translation, used live and on replay alike.

import type { EventOf, JournalEvent } from '../../shared/events.ts';
import { textOf } from '../../shared/messages.ts';
import type { AgentEvent } from './events.ts';

/** What a journal event means to the agent machine; null when it means nothing to it. */
export function toAgentEvent(event: JournalEvent): AgentEvent | null {
  switch (event.type) {
    case 'msg.start':
      return { type: 'message.started' };
    case 'llm.res':
      return {
        type: 'model.answered',
        op: event.op,
        stop: event.stop,
        calls: event.calls,
        // Calls of an answer that ended otherwise may be half: they are not run.
        isEmpty: !saysSomething(event) && !(event.stop === 'tool_calls' && event.calls.length > 0),
      };
    case 'llm.fail':
      return { type: 'model.failed', op: event.op, failure: event.failure };
    case 'context.full':
      return { type: 'context.full', op: event.op, why: event.why };
    case 'compact.done':
      return { type: 'context.compacted', op: event.op };
    case 'compact.fail':
      return { type: 'compaction.failed', op: event.op, failure: event.failure };
    case 'limit.hit':
      return { type: 'budget.exceeded', code: `budget_${event.limit}`, message: event.message };
    case 'tool.done':
      return { type: 'tool.settled', op: event.op, kind: event.kind, resultHash: event.resultHash };
    case 'timer.fired':
      return { type: 'timer.due', op: event.op };
    case 'cancel':
      return { type: 'cancel.requested' };
    default:
      return null;
  }
}

const saysSomething = ({ parts }: EventOf<'llm.res'>): boolean =>
  'inline' in parts ? textOf(parts.inline).trim() !== '' : true;
