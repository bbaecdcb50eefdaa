// What the state knows of subagents (SPEC O25): those at work with their own todos, and what the ended ones gave. Part of state.ts's fold.

import type { EventOf, JournalEvent } from '../shared/events.ts';
import { addUsage, NO_USAGE } from '../shared/messages.ts';
import { inlineOf } from '../shared/payload.ts';
import { NOTHING_SPENT } from '../shared/spending.ts';
import type { State, SubAgent } from '../shared/state.ts';

/** Results that are kept; what is older is in the journal. */
const KEPT_RESULTS = 50;

export function foldAgents(
  state: State,
  event: EventOf<'agent.spawn' | 'agent.placed' | 'agent.ev' | 'agent.done'>,
): State {
  switch (event.type) {
    case 'agent.spawn':
      return { ...state, subAgents: [...state.subAgents, spawned(event)] };
    case 'agent.placed':
      return {
        ...state,
        subAgents: state.subAgents.map((agent) => (agent.id === event.aid ? placed(agent, event.worker) : agent)),
      };
    case 'agent.ev':
      return {
        ...state,
        subAgents: state.subAgents.map((agent) => (agent.id === event.aid ? afterEvent(agent, event.event) : agent)),
      };
    case 'agent.done': {
      const { aid: id, title, background, end, limit = null, steps } = event;
      const result = { id, title, background, end, limit, text: inlineOf(event.answer), steps };
      return {
        ...state,
        subAgents: state.subAgents.filter((agent) => agent.id !== id),
        agentResults: [...state.agentResults.filter((one) => one.id !== id), result].slice(-KEPT_RESULTS),
      };
    }
  }
}

const spawned = ({ aid, title, mode, background, model, at }: EventOf<'agent.spawn'>): SubAgent => ({
  ...{ id: aid, title, mode, background, model, status: 'spawning', todos: [], steps: 0 },
  ...{ usage: NO_USAGE, spending: NOTHING_SPENT, request: null, doing: '', startedAt: at },
});

/** It begins anew; what it has spent is spent. */
function placed({ worker: _, ...agent }: SubAgent, worker: string | null): SubAgent {
  const anew = { ...agent, status: 'spawning', todos: [], steps: 0, request: null, doing: '' } as const;
  return worker === null ? anew : { ...anew, worker };
}

function afterEvent(agent: SubAgent, event: JournalEvent): SubAgent {
  switch (event.type) {
    case 'llm.req':
      return { ...agent, status: 'running', doing: 'thinking' };
    case 'llm.res':
      return {
        ...agent,
        steps: agent.steps + 1,
        usage: addUsage(agent.usage, event.usage),
        doing: event.calls.length === 0 ? 'answering' : event.calls.map(({ name }) => name).join(', '),
      };
    case 'tool.done':
      return event.todos ? { ...agent, todos: event.todos } : agent;
    default:
      return agent;
  }
}
