// Which state of the agent machine a session is in: the machine itself, run on the journal's events without its effects. It is told of
// the sessions that somebody looks at, from the start of their newest message on.

import type { AgentEffect, AgentEvent } from '../../machines/agent/events.ts';
import { toAgentEvent } from '../../machines/agent/from-journal.ts';
import { agentMachine } from '../../machines/agent/machine.ts';
import { type Actor, startActor } from '../../machines/host.ts';
import type { EventOf, JournalEvent } from '../../shared/events.ts';

export interface StateFold {
  take(event: JournalEvent): void;
  /** `idle` before the first message. */
  state(): string;
}

export function createStateFold(): StateFold {
  let actor: Actor<AgentEvent> | null = null;
  let state = 'idle';
  let seq = 0;

  const begin = (event: EventOf<'msg.start'>): void => {
    seq = event.seq;
    const input = { seq, limits: event.limits, models: 1 + (event.fallbackModels?.length ?? 0) };
    actor = event.command ? null : startActor<AgentEvent, AgentEffect>(agentMachine, input, { perform() {} });
  };
  return {
    take(event) {
      if (event.type === 'msg.start') begin(event);
      const agentEvent = actor === null ? null : toAgentEvent(event);
      if (actor !== null && agentEvent !== null) actor.send(agentEvent);
      if (actor !== null) state = actor.state();
      // A message that was removed while it waited has an end and no start.
      if (event.type !== 'msg.done' || event.seq !== seq) return;
      state = actor?.state() ?? 'done';
      actor = null;
    },
    state: () => state,
  };
}
