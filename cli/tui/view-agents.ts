// The lines of subagents in a view (SPEC O25), and what they and the session's own agent spend.

import { MAIN_AGENT } from '../../shared/events.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { describeCall } from '../describe-call.ts';
import type { AgentLine, View } from './view.ts';

/** Its questions and what it spends are everybody's; the rest is told on the agent's own line. */
export function isOfAgent(event: StreamEvent): boolean {
  const isShared = event.type === 'PermissionAsked' || event.type === 'PermissionAnswered';
  return 'agent' in event && event.agent !== undefined && event.agent !== MAIN_AGENT && !isShared;
}

export function reduceAgent(view: View, event: StreamEvent): View {
  const change = (id: string, change: (agent: AgentLine) => AgentLine): View => ({
    ...view,
    agents: view.agents.map((agent) => (agent.id === id ? change(agent) : agent)),
  });
  const id = 'agent' in event ? (event.agent ?? '') : '';
  switch (event.type) {
    case 'AgentSpawned': {
      const { title, mode } = event;
      const agent = { id, title, mode, step: 0, doing: 'starting', tokens: 0, todos: [], end: null };
      return { ...view, agents: [...view.agents.filter((other) => other.id !== id), agent] };
    }
    case 'AgentProgress':
      return change(id, (agent) => ({ ...agent, step: event.step, doing: event.doing, tokens: event.tokens }));
    case 'AgentEnded':
      return change(id, (agent) => ({ ...agent, step: event.steps, doing: '', end: event.end }));
    case 'ToolCallStart':
      return change(id, (agent) => ({ ...agent, doing: describeCall(event.tool, event.args) }));
    case 'StreamText':
    case 'StreamThinking':
      return view.agents.some((agent) => agent.id === id && agent.doing !== 'thinking' && agent.doing !== 'answering')
        ? change(id, (agent) => ({ ...agent, doing: event.type === 'StreamText' ? 'answering' : 'thinking' }))
        : view;
    case 'TodosChanged':
      return change(id, (agent) => ({ ...agent, todos: event.todos }));
    case 'Usage':
    case 'AuxUsage':
      return { ...spent(view, event), window: view.window, model: view.model };
    default:
      return view;
  }
}

export function spent(view: View, event: Extract<StreamEvent, { readonly type: 'Usage' | 'AuxUsage' }>): View {
  const liveUsd = view.liveUsd === null || event.costUsd === null ? null : view.liveUsd + event.costUsd;
  const next = { ...view, liveUsd, isEstimated: view.isEstimated || event.estimated };
  return event.type === 'Usage' ? { ...next, window: event.window, model: event.model } : next;
}
