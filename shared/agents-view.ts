// The subagents' part of the public stream (SPEC O25): each agent's own events as its session's are shown, with its id, and what tells the
// tree: spawned, how far, ended.

import { agentStart } from './agents.ts';
import type { EventOf, JournalEvent } from './events.ts';
import { inlineOf } from './payload.ts';
import type { Rates } from './spending.ts';
import type { StreamEvent } from './stream-events.ts';
import type { StreamView } from './stream-view.ts';

export interface AgentsView {
  journaled(
    id: string,
    event: EventOf<'agent.spawn' | 'agent.placed' | 'agent.ev' | 'agent.done'>,
  ): readonly StreamEvent[];
}

interface SeenAgent {
  readonly spawn: EventOf<'agent.spawn'>;
  view: StreamView;
  readonly seq: number;
  readonly model: string;
  steps: number;
  tokens: number;
  costUsd: number | null;
}

/** A spawn says what these would. */
const NOT_SHOWN: ReadonlySet<StreamEvent['type']> = new Set(['MessageStarted', 'PersistMessage', 'AgentDone']);

export function createAgentsView(
  session: string,
  rates: Rates,
  createView: (session: string, rates: Rates) => StreamView,
): AgentsView {
  const agents = new Map<string, SeenAgent>();

  const spawned = (id: string, event: EventOf<'agent.spawn'>): readonly StreamEvent[] => {
    const { aid: agent, seq, op, title, kind = null, mode, model, background, tools, at } = event;
    const view = createView(session, rates);
    view.journaled('', agentStart(event));
    agents.set(agent, { spawn: event, view, seq, model, steps: 0, tokens: 0, costUsd: 0 });
    const prompt = inlineOf(event.prompt);
    const place = { session, id, at, seq, agent };
    return [{ type: 'AgentSpawned', ...place, op, title, kind, mode, model, background, tools, prompt }];
  };

  const placed = (
    id: string,
    { aid: agent, worker, why = '', at }: EventOf<'agent.placed'>,
  ): readonly StreamEvent[] => {
    const seen = agents.get(agent);
    if (!seen) return [];
    seen.view = createView(session, rates);
    seen.view.journaled('', agentStart(seen.spawn));
    seen.steps = 0;
    const { seq, spawn } = seen;
    return [{ type: 'AgentPlaced', session, id, at, seq, agent, title: spawn.title, worker, why }];
  };

  const own = (id: string, { aid: agent, event, at }: EventOf<'agent.ev'>): readonly StreamEvent[] => {
    const seen = agents.get(agent);
    if (!seen) return [];
    const shown = seen.view.journaled(id, event).filter(({ type }) => !NOT_SHOWN.has(type));
    for (const one of shown) if (one.type === 'Usage' || one.type === 'AuxUsage') spend(seen, one);
    const events: StreamEvent[] = shown.map((one) => ({ agent, ...one }));
    if (event.type !== 'llm.res') return events;
    seen.steps += 1;
    const { steps: step, tokens, costUsd, seq } = seen;
    return [
      ...events,
      { type: 'AgentProgress', session, id, at, seq, agent, step, doing: doing(event), tokens, costUsd },
    ];
  };

  const ended = (id: string, event: EventOf<'agent.done'>): readonly StreamEvent[] => {
    const { aid: agent, seq, title, end, limit = null, steps, durationMs, background, at } = event;
    const costUsd = agents.get(agent)?.costUsd ?? null;
    agents.delete(agent);
    const answer = inlineOf(event.answer);
    const place = { session, id, at, seq, agent };
    return [{ type: 'AgentEnded', ...place, title, end, limit, answer, steps, durationMs, costUsd, background }];
  };

  return {
    journaled(id, event) {
      switch (event.type) {
        case 'agent.spawn':
          return spawned(id, event);
        case 'agent.placed':
          return placed(id, event);
        case 'agent.ev':
          return own(id, event);
        case 'agent.done':
          return ended(id, event);
      }
    },
  };
}

function spend(seen: SeenAgent, { usage, costUsd }: Extract<StreamEvent, { readonly type: 'Usage' | 'AuxUsage' }>) {
  seen.tokens += usage.input + usage.output;
  seen.costUsd = seen.costUsd === null || costUsd === null ? null : seen.costUsd + costUsd;
}

const doing = ({ calls }: Extract<JournalEvent, { readonly type: 'llm.res' }>): string =>
  calls.length === 0 ? 'answering' : calls.map(({ name }) => name).join(', ');
