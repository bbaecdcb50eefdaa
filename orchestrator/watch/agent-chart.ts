// The agent machine as a picture's parts: its states in the order of its definition, and which events lead from where to where. Read
// off the machine itself, so that the picture cannot be of another one.

import { agentMachine } from '../../machines/agent/machine.ts';

export interface Chart {
  readonly states: readonly { readonly name: string; readonly isFinal: boolean }[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly events: readonly string[] }[];
}

export function agentChart(): Chart {
  const states = Object.values(agentMachine.states);
  const events = new Map<string, { from: string; to: string; events: Set<string> }>();
  for (const state of states) {
    const ways = [...state.transitions.values()].flat().concat(state.always ?? []);
    for (const { target, eventType } of ways) {
      for (const to of target ?? []) {
        const id = `${state.key} ${to.key}`;
        const edge = events.get(id) ?? { from: state.key, to: to.key, events: new Set<string>() };
        events.set(id, edge);
        if ((eventType as string) !== '') edge.events.add(eventType);
      }
    }
  }
  return {
    states: states.map(({ key, type }) => ({ name: key, isFinal: type === 'final' })),
    edges: [...events.values()].map((edge) => ({ ...edge, events: [...edge.events] })),
  };
}
