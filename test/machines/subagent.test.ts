// The subagent machine as a pure function.

import { expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import type { SubagentEffect, SubagentEnd, SubagentEvent } from '../../machines/subagent/events.ts';
import { subagentMachine } from '../../machines/subagent/machine.ts';

const input = { maxRespawns: 2 };
const completed: SubagentEnd = { end: 'completed', limit: null, answer: 'done', failure: null, steps: 3 };
const up: SubagentEvent = { type: 'loop.started' };
const lost: SubagentEvent = { type: 'thread.lost', why: 'gone' };
const silent: SubagentEvent = { type: 'thread.silent' };
const cancel: SubagentEvent = { type: 'cancel.requested', by: 'user' };

function run(events: readonly SubagentEvent[]) {
  let [snapshot, actions] = initialTransition(subagentMachine, input);
  const effects: SubagentEffect[] = [];
  const note = () => effects.push(...actions.map((a) => ({ type: a.type, ...(a.params as object) }) as SubagentEffect));
  note();
  for (const event of events) {
    [snapshot, actions] = transition(subagentMachine, snapshot, event);
    note();
  }
  const report = effects.find((effect) => effect.type === 'report');
  return { state: snapshot.value, types: effects.map(({ type }) => type), end: report?.end.end ?? null, report };
}

test('C1 O19: an agent is spawned, runs, reports its end and is gone', () => {
  const { state, types, report } = run([up, { type: 'loop.ended', end: completed }, { type: 'reported' }]);
  expect(types).toEqual(['spawnLoop', 'report']);
  expect(report).toMatchObject({ end: completed });
  expect(state).toBe('gone');
});

test('C1 C3: a lost thread is replaced twice; then the agent has crashed, or stalled when it was silent', () => {
  expect(run([up, lost, up, lost, up]).state).toBe('running');
  expect(run([up, lost, up, lost, up, lost])).toMatchObject({ state: 'reporting', end: 'crashed' });
  const stall = [silent, lost];
  expect(run([up, ...stall, up, ...stall, up, ...stall])).toMatchObject({ state: 'reporting', end: 'stalled' });
  expect(run([lost, lost, lost]).end).toBe('crashed');
});

test('C1 O19: a cancelled agent ends by itself or after its grace, and a lost thread does not bring it back', () => {
  expect(run([up, cancel, { type: 'loop.ended', end: { ...completed, end: 'cancelled' } }]).end).toBe('cancelled');
  const late = run([up, cancel, { type: 'grace.over' }, { type: 'loop.ended', end: completed }]);
  expect(late).toMatchObject({ end: 'cancelled', types: ['spawnLoop', 'cancelLoop', 'dropLoop', 'report'] });
  expect(run([up, cancel, lost]).end).toBe('cancelled');
  // It was done before the cancel reached it.
  expect(run([up, cancel, { type: 'loop.ended', end: completed }]).end).toBe('completed');
  expect(run([up, silent, cancel]).end).toBe('cancelled');
});

test('C1: every state of the subagent machine can be reached', () => {
  const events: SubagentEvent[] = [
    ...[up, lost, silent, cancel, { type: 'loop.ended', end: completed } as const],
    ...[{ type: 'grace.over' } as const, { type: 'reported' } as const],
  ];
  const reached = getShortestPaths(subagentMachine, { input, events, limit: 5_000 }).map(({ state }) => state.value);
  expect([...new Set(reached)].toSorted()).toEqual(Object.keys(subagentMachine.states).toSorted());
});
