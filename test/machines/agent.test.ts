// The agent machine as a pure function: no host, no clock, no network.

import { expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import type { AgentEffect, AgentEvent } from '../../machines/agent/events.ts';
import { agentMachine, MAX_ATTEMPTS, REPEATS_STOPPED } from '../../machines/agent/machine.ts';
import type { ToolCallSummary } from '../../shared/events.ts';
import { opId } from '../../shared/ids.ts';
import type { Failure } from '../../shared/outcome.ts';

const limits = { maxSteps: 3 };
const input = { seq: 1, limits };
const calls = (turn: number, names: readonly string[]): ToolCallSummary[] =>
  names.map((name, index) => ({ op: opId(1, turn, index + 1), callId: `c${turn}${index}`, name, argsHash: 'h' }));
const answered = (turn: number, names: readonly string[] = []): AgentEvent => ({
  type: 'model.answered',
  op: opId(1, turn, 0),
  stop: names.length > 0 ? 'tool_calls' : 'end',
  calls: calls(turn, names),
});
const failure = (kind: Failure['kind'], code: string): Failure => ({ kind, code, message: code });
const settled = (turn: number, k: number, resultHash = `${turn}.${k}`): AgentEvent => ({
  type: 'tool.settled',
  op: opId(1, turn, k),
  kind: 'ok',
  resultHash,
});

/** Runs the events and returns the last state's name and every effect requested on the way. */
function run(events: readonly AgentEvent[], maxSteps = 3) {
  let [snapshot, actions] = initialTransition(agentMachine, { ...input, limits: { maxSteps } });
  const effects: AgentEffect[] = [];
  const note = () => effects.push(...actions.map((a) => ({ type: a.type, ...(a.params as object) }) as AgentEffect));
  note();
  for (const event of events) {
    [snapshot, actions] = transition(agentMachine, snapshot, event);
    note();
  }
  return { state: snapshot.value, effects, types: effects.map((effect) => effect.type), last: effects.at(-1) };
}

const started: AgentEvent = { type: 'message.started' };

test('O2 G3: without a tool call the message is completed', () => {
  const { state, effects } = run([started, answered(1)]);
  expect(state).toBe('done');
  expect(effects).toEqual([
    { type: 'callModel', op: '1.1.0', turn: 1, attempt: 1, repeats: 0 },
    { type: 'finish', status: 'completed', failure: null, steps: 1 },
  ]);
});

test('O2 O9: calls start together, the planner goes on only when all have settled, in whatever order', () => {
  const { state, types, last } = run([started, answered(1, ['LS', 'Grep']), settled(1, 2), settled(1, 1)]);
  expect(types).toEqual(['callModel', 'startTools', 'callModel']);
  expect(state).toBe('thinking');
  expect(last).toMatchObject({ op: '1.2.0', turn: 2 });
});

test('O2: a result that arrives twice, or for a call of another step, changes nothing', () => {
  const { state, types } = run([started, answered(1, ['LS', 'Grep']), settled(1, 2), settled(1, 2), settled(9, 1)]);
  expect(state).toBe('acting');
  expect(types.filter((type) => type === 'callModel')).toHaveLength(1);
});

test('G3: the step limit ends the message by its name, and no tool of that step starts', () => {
  const { state, last, types } = run([started, answered(1, ['LS'])], 1);
  expect(state).toBe('stopped');
  expect(last).toEqual({ type: 'finish', status: 'step_limit', failure: null, steps: 1 });
  expect(types).not.toContain('startTools');
});

test('E9: a transient failure waits for a timer and calls the same operation again', () => {
  const { effects } = run([
    started,
    { type: 'model.failed', op: opId(1, 1, 0), failure: failure('transient', 'overloaded') },
    { type: 'timer.due', op: opId(1, 1, 0) },
  ]);
  expect(effects.map((effect) => effect.type)).toEqual(['callModel', 'scheduleRetry', 'callModel']);
  expect(effects.at(-1)).toMatchObject({ op: '1.1.0', attempt: 2 });
});

test('E9: transient failures end the message after the last attempt, with the failure kept', () => {
  const round: AgentEvent[] = [
    { type: 'model.failed', op: opId(1, 1, 0), failure: failure('transient', 'network') },
    { type: 'timer.due', op: opId(1, 1, 0) },
  ];
  const { state, last, types } = run([
    started,
    ...Array.from({ length: MAX_ATTEMPTS }, () => round)
      .flat()
      .slice(0, -1),
  ]);
  expect(state).toBe('stopped');
  expect(types.filter((type) => type === 'callModel')).toHaveLength(MAX_ATTEMPTS);
  expect(last).toMatchObject({ status: 'planner_failure', failure: { code: 'network' } });
});

test('E9: a permanent failure, and a wait too long to be one, end at once', () => {
  const permanent = run([started, { type: 'model.failed', op: opId(1, 1, 0), failure: failure('failed', 'auth') }]);
  expect(permanent.last).toMatchObject({ type: 'finish', status: 'planner_failure', failure: { code: 'auth' } });
  const hourLong = { ...failure('transient', 'rate_limit'), retryAfterMs: 3_600_000 };
  const long = run([started, { type: 'model.failed', op: opId(1, 1, 0), failure: hourLong }]);
  expect(long.last).toMatchObject({ type: 'finish', status: 'planner_failure' });
});

test('O2: the same calls with the same results are stopped by name, and other results start the count anew', () => {
  const step = (turn: number, hash: string): AgentEvent[] => [answered(turn, ['Grep']), settled(turn, 1, hash)];
  const same = run([started, ...Array.from({ length: REPEATS_STOPPED + 1 }, (_, i) => step(i + 1, 'same')).flat()], 99);
  expect(same.last).toMatchObject({ type: 'finish', status: 'repeated_calls', steps: REPEATS_STOPPED + 1 });
  const told = same.effects.filter((effect) => effect.type === 'callModel').map((effect) => effect.repeats);
  expect(told).toEqual([0, 0, 1, 2, 3]);
  const changing = run([started, ...Array.from({ length: 9 }, (_, i) => step(i + 1, `${i}`)).flat()], 99);
  expect(changing.state).toBe('thinking');
});

test.each([
  ['thinking', [started], 'abortModel'],
  ['acting', [started, answered(1, ['LS'])], 'abortTools'],
] as const)('E11: cancelled while %s, it stops what runs and ends by name', (_, events, abort) => {
  const end: AgentEvent[] = abort === 'abortTools' ? [settled(1, 1)] : [];
  const { types, last } = run([...events, { type: 'cancel.requested' }, ...end]);
  expect(types).toContain(abort);
  expect(last).toMatchObject({ type: 'finish', status: 'cancelled' });
});

test('O2: an answer cut at the output limit never runs its calls', () => {
  const cut: AgentEvent = { type: 'model.answered', op: opId(1, 1, 0), stop: 'max_tokens', calls: calls(1, ['Grep']) };
  const { types, last } = run([started, cut]);
  expect(types).not.toContain('startTools');
  expect(last).toMatchObject({ status: 'planner_failure', failure: { code: 'output_limit' } });
});

test('C1: every state of the agent machine can be reached, and every end is one of the named ones', () => {
  const events: AgentEvent[] = [
    started,
    answered(1),
    answered(1, ['LS']),
    answered(2),
    settled(1, 1),
    { type: 'model.failed', op: opId(1, 1, 0), failure: failure('transient', 'network') },
    { type: 'model.failed', op: opId(1, 1, 0), failure: failure('failed', 'auth') },
    { type: 'timer.due', op: opId(1, 1, 0) },
    { type: 'budget.exceeded', message: 'over' },
    { type: 'cancel.requested' },
  ];
  const paths = getShortestPaths(agentMachine, { input, events, limit: 5_000 });
  const reached = new Set(paths.map((path) => path.state.value));
  // `reviewing` is left in the same microstep, so no resting snapshot shows it.
  const resting = Object.keys(agentMachine.states).filter((name) => name !== 'reviewing');
  expect([...reached].sort()).toEqual(resting.sort());
  const ends = new Set(paths.map((path) => path.state.context.end).filter(Boolean));
  expect([...ends].sort()).toEqual(['budget', 'cancelled', 'completed', 'planner_failure']);
  for (const path of paths) JSON.stringify(path.state.context);
});
