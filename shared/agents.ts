// Subagents as the journal knows them (SPEC O19, O25): how one was started, and as what it ended. Their own events are wrapped in agent.ev.

import type { EventOf, JournalEvent } from './events.ts';
import { type OpId, opId } from './ids.ts';

/** A limit is an end of its own: never completed, never failed. */
export const END_KINDS = ['completed', 'limit', 'failed', 'stalled', 'cancelled', 'crashed'] as const;
export type AgentEndKind = (typeof END_KINDS)[number];

/** What its loop starts with: the message that the parent's planner has given it. */
export function agentStart(spawn: EventOf<'agent.spawn'>): EventOf<'msg.start'> {
  const { seq, aid, mode, prompt, model, smallModel, limits, fallbackModels, at } = spawn;
  return {
    ...{ type: 'msg.start', seq, mid: aid, mode, body: prompt, model, smallModel, limits, at },
    ...(fallbackModels === undefined ? {} : { fallbackModels }),
  };
}

/** No message has so many steps. */
const PATCH_TURN = 1_000_000;

/** The call by which Odin puts into the project what an agent changed in its copy. */
export const patchOp = (seq: number): OpId => opId(seq, PATCH_TURN, 1);

export const isPatchEvent = (event: JournalEvent): boolean =>
  'op' in event && event.op !== undefined && event.op.split('.')[1] === String(PATCH_TURN);

export interface OpenAgent {
  readonly spawn: EventOf<'agent.spawn'>;
  /** Its own, where it works now. */
  readonly events: readonly JournalEvent[];
  /** Where that is; null: where it was started. */
  readonly placed: EventOf<'agent.placed'> | null;
}

/** Agents that have no end yet, with their own events, in order. One that begins anew elsewhere has none of before. */
export function openAgents(past: readonly JournalEvent[]): readonly OpenAgent[] {
  const open = new Map<string, OpenAgent & { readonly events: JournalEvent[] }>();
  for (const event of past) {
    if (event.type === 'agent.spawn') open.set(event.aid, { spawn: event, events: [], placed: null });
    else if (event.type === 'agent.ev') open.get(event.aid)?.events.push(event.event);
    else if (event.type === 'agent.placed') {
      const agent = open.get(event.aid);
      if (agent) open.set(event.aid, { ...agent, events: [], placed: event });
    }
    if (event.type === 'agent.done') open.delete(event.aid);
  }
  return [...open.values()];
}
