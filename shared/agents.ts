// Subagents as the journal knows them (SPEC O19, O25): how one was started, and as what it ended. Their own events are wrapped in agent.ev.

import type { EventOf, JournalEvent } from './events.ts';

/** A limit is an end of its own: never completed, never failed. */
export type AgentEndKind = 'completed' | 'limit' | 'failed' | 'stalled' | 'cancelled' | 'crashed';

/** What its loop starts with: the message that the parent's planner has given it. */
export function agentStart(spawn: EventOf<'agent.spawn'>): EventOf<'msg.start'> {
  const { seq, aid, mode, prompt, model, smallModel, limits, fallbackModels, at } = spawn;
  return {
    ...{ type: 'msg.start', seq, mid: aid, mode, body: prompt, model, smallModel, limits, at },
    ...(fallbackModels === undefined ? {} : { fallbackModels }),
  };
}

/** The spawns of agents that have no end yet, with their own events, in order. */
export function openAgents(
  past: readonly JournalEvent[],
): readonly { readonly spawn: EventOf<'agent.spawn'>; readonly events: readonly JournalEvent[] }[] {
  const open = new Map<string, { readonly spawn: EventOf<'agent.spawn'>; readonly events: JournalEvent[] }>();
  for (const event of past) {
    if (event.type === 'agent.spawn') open.set(event.aid, { spawn: event, events: [] });
    else if (event.type === 'agent.ev') open.get(event.aid)?.events.push(event.event);
    else if (event.type === 'agent.done') open.delete(event.aid);
  }
  return [...open.values()];
}
