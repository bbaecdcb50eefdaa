// The agent machine's inputs are journal events: this is the one translation, used live and on replay alike.

import type { JournalEvent } from '../../shared/events.ts';
import type { AgentEvent } from './events.ts';

/** What a journal event means to the agent machine; null when it means nothing to it. */
export function toAgentEvent(event: JournalEvent): AgentEvent | null {
  switch (event.type) {
    case 'msg.start':
      return { type: 'message.started' };
    case 'llm.res':
      return { type: 'model.answered', op: event.op, stop: event.stop, calls: event.calls };
    case 'llm.fail':
      return { type: 'model.failed', op: event.op, failure: event.failure };
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
