// The host with a machine of its own: order, re-entrance, resume.

import { expect, test } from '@jest/globals';
import { setup } from 'xstate';
import { type Actor, resumeActor, startActor } from '../../machines/host.ts';

type Event =
  | { readonly type: 'go' }
  | { readonly type: 'finished'; readonly result: number }
  | { readonly type: 'stray' };
type Effect =
  | { readonly type: 'work'; readonly size: number }
  | { readonly type: 'report' }
  | { readonly type: 'noteUnexpected' };

const machine = setup({
  types: { events: {} as Event },
  actions: { work: (_, _params: { size: number }) => {}, report: () => {}, noteUnexpected: () => {} },
}).createMachine({
  initial: 'idle',
  on: { '*': { actions: 'noteUnexpected' } },
  states: {
    idle: { on: { go: 'working' } },
    working: { entry: { type: 'work', params: { size: 7 } }, on: { finished: 'told' } },
    told: { type: 'final', entry: 'report' },
  },
});

test('C1: an event sent from inside an effect waits its turn, and effects keep the order of the actions', () => {
  const performed: string[] = [];
  const states: string[] = [];
  const actor: Actor<Event> = startActor<Event, Effect>(machine, undefined, {
    perform(effect) {
      performed.push(effect.type);
      if (effect.type !== 'work') return;
      actor.send({ type: 'finished', result: effect.size });
      states.push(actor.state());
    },
  });
  actor.send({ type: 'go' });
  expect(states).toEqual(['working']);
  expect(performed).toEqual(['work', 'report']);
  expect(actor.isDone()).toBe(true);
});

test('C1: an event that a state has no use for is reported and changes nothing', () => {
  const stray: string[] = [];
  const actor = startActor<Event, Effect>(machine, undefined, {
    perform: () => {},
    unexpected: (state, type) => stray.push(`${state}:${type}`),
  });
  actor.send({ type: 'stray' });
  expect(actor.state()).toBe('idle');
  expect(stray).toEqual(['idle:stray']);
});

test('O4: resumed from its past, an actor performs what no event has answered and nothing else', () => {
  const performed: Effect[] = [];
  const ports = { perform: (effect: Effect) => void performed.push(effect) };
  expect(resumeActor<Event, Effect>(machine, undefined, [{ type: 'go' }], ports).state()).toBe('working');
  expect(performed).toEqual([{ type: 'work', size: 7 }]);
  performed.length = 0;
  resumeActor<Event, Effect>(machine, undefined, [], ports);
  expect(performed).toEqual([]);
});

test('C1 E9: a stray event in the journal does not hide what was asked for before it, also behind the end', () => {
  const performed: string[] = [];
  const ports = { perform: (effect: Effect) => void performed.push(effect.type) };
  const [go, stray] = [{ type: 'go' } as const, { type: 'stray' } as const];
  resumeActor<Event, Effect>(machine, undefined, [go, stray], ports);
  expect(performed).toEqual(['work']);
  resumeActor<Event, Effect>(machine, undefined, [go, { type: 'finished', result: 7 }, stray], ports);
  expect(performed).toEqual(['work', 'report']);
});
