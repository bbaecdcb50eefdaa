// The agent machine as a pure function: no host, no clock, no network.

import { expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import type { AgentEffect, AgentEvent } from '../../machines/agent/events.ts';
import { agentMachine, MAX_ATTEMPTS, MAX_ATTEMPTS_BEFORE_FALLBACK, MAX_CUTS } from '../../machines/agent/machine.ts';
import { REPEATS_STOPPED, REPEATS_TOLD } from '../../machines/agent/repeats.ts';
import type { ToolCallSummary } from '../../shared/events.ts';
import { opId } from '../../shared/ids.ts';
import type { Failure } from '../../shared/outcome.ts';

const limits = { maxSteps: 3 };
const input = { seq: 1, limits, models: 1 };
const calls = (turn: number, names: readonly string[]): ToolCallSummary[] =>
  names.map((name, index) => ({ op: opId(1, turn, index + 1), callId: `c${turn}${index}`, name, argsHash: 'h' }));
const answered = (turn: number, names: readonly string[] = []): AgentEvent => ({
  type: 'model.answered',
  op: opId(1, turn, 0),
  stop: names.length > 0 ? 'tool_calls' : 'end',
  calls: calls(turn, names),
  isEmpty: false,
});
const empty = (turn: number): AgentEvent => ({ ...answered(turn), isEmpty: true }) as AgentEvent;
const cutOff = (turn: number): AgentEvent => ({
  type: 'model.answered',
  op: opId(1, turn, 0),
  stop: 'max_tokens',
  calls: calls(turn, ['Grep']),
  isEmpty: false,
});
const full = (turn: number): AgentEvent => ({ type: 'context.full', op: opId(1, turn, 0), why: 'window' });
const compacted = (turn: number): AgentEvent => ({ type: 'context.compacted', op: opId(1, turn, 0) });
const modelFailed = (turn: number, kind: Failure['kind'], code: string): AgentEvent => ({
  type: 'model.failed',
  op: opId(1, turn, 0),
  failure: failure(kind, code),
});
const failure = (kind: Failure['kind'], code: string): Failure => ({ kind, code, message: code });
const settled = (turn: number, k: number, resultHash = `${turn}.${k}`): AgentEvent => ({
  type: 'tool.settled',
  op: opId(1, turn, k),
  kind: 'ok',
  resultHash,
});

/** Runs the events and returns the last state's name and every effect requested on the way. */
function run(events: readonly AgentEvent[], maxSteps = 3, models = 1) {
  let [snapshot, actions] = initialTransition(agentMachine, { ...input, limits: { maxSteps }, models });
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
    { type: 'callModel', op: '1.1.0', turn: 1, attempt: 1, repeats: 0, model: 0 },
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
  expect(last).toMatchObject({
    status: 'planner_failure',
    failure: { code: 'network', message: 'network Tried 6 times.' },
  });
});

test('E9: a permanent failure, and a wait too long to be one, end at once', () => {
  const permanent = run([started, { type: 'model.failed', op: opId(1, 1, 0), failure: failure('failed', 'auth') }]);
  expect(permanent.last).toMatchObject({ type: 'finish', status: 'planner_failure', failure: { code: 'auth' } });
  const hourLong = { ...failure('transient', 'rate_limit'), retryAfterMs: 3_600_000 };
  const long = run([started, { type: 'model.failed', op: opId(1, 1, 0), failure: hourLong }]);
  expect(long.last).toMatchObject({ type: 'finish', status: 'planner_failure' });
  expect(JSON.stringify(long.last)).toContain('rate_limit It asks to wait 60 min; that is over the limit of 2 min.');
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

test('O2: steps that come round again, two or three at a time, are repetition too', () => {
  const round = (names: readonly string[], steps: number): AgentEvent[] =>
    Array.from({ length: steps }, (_, i) => {
      const name = names[i % names.length] ?? '';
      return [answered(i + 1, [name]), settled(i + 1, 1, name)];
    }).flat();
  for (const names of [
    ['Grep', 'LS'],
    ['Grep', 'LS', 'Glob'],
  ]) {
    const steps = names.length * (REPEATS_STOPPED + 1);
    expect(run([started, ...round(names, steps - 1)], 99).state).toBe('thinking');
    const { last, effects } = run([started, ...round(names, steps)], 99);
    expect(last).toMatchObject({ type: 'finish', status: 'repeated_calls', steps });
    const told = effects.findIndex((effect) => effect.type === 'callModel' && effect.repeats === REPEATS_TOLD);
    expect(effects[told]).toMatchObject({ turn: names.length * (REPEATS_TOLD + 1) + 1 });
  }
  expect(run([started, ...round(['Grep', 'LS', 'Glob', 'ReadFile'], 40)], 99).state).toBe('thinking');
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

test('O2 E9: an answer cut at the output limit never runs its calls; the model goes on, so often and no more', () => {
  const again = run([started, cutOff(1)], 10);
  expect(again.types).toEqual(['callModel', 'callModel']);
  expect(again.last).toMatchObject({ op: '1.2.0', turn: 2 });
  expect(run([started, cutOff(1), answered(2)], 10).last).toMatchObject({ status: 'completed' });
  const { types, last } = run([started, ...Array.from({ length: MAX_CUTS + 1 }, (_, i) => cutOff(i + 1))], 10);
  expect(types).not.toContain('startTools');
  expect(last).toMatchObject({ status: 'planner_failure', failure: { code: 'output_limit' } });
});

test('E9: a model that says nothing is asked to go on, and does not end as completed', () => {
  expect(run([started, empty(1), answered(2)]).last).toMatchObject({ status: 'completed', steps: 2 });
  const { last } = run([started, empty(1), empty(2), empty(3)], 10);
  expect(last).toMatchObject({ status: 'planner_failure', failure: { code: 'empty_answer' } });
  const cutInCall: AgentEvent[] = [1, 2, 3].map((turn) => ({ ...cutOff(turn), isEmpty: true }) as AgentEvent);
  expect(run([started, ...cutInCall], 10).last).toMatchObject({ failure: { code: 'output_limit' } });
});

test('O2: a cut-off answer with no step left to go on in ends at the step limit, by that name', () => {
  expect(run([started, cutOff(1)], 1).last).toMatchObject({ status: 'step_limit', steps: 1 });
  expect(run([started, empty(1)], 1).last).toMatchObject({ status: 'step_limit', steps: 1 });
});

test('E7 O21: a full context is compacted and the same step asked again; still full after that, it ends by name', () => {
  const { types, last, state } = run([started, full(1), compacted(1)]);
  expect(types).toEqual(['callModel', 'compact', 'callModel']);
  expect(last).toMatchObject({ op: '1.1.0', turn: 1, attempt: 1 });
  expect(state).toBe('thinking');
  expect(run([started, full(1), compacted(1), full(1)]).last).toMatchObject({
    status: 'planner_failure',
    failure: { code: 'context_too_long' },
  });
});

test.each([
  ['refused by the provider', modelFailed(1, 'failed', 'context_too_long')],
  ['run over in mid-answer', { ...answered(1), stop: 'context_full' } as AgentEvent],
])('E9: a context that is %s is compacted once, then it is an end', (_, event) => {
  expect(run([started, event]).last).toMatchObject({ type: 'compact', why: 'too_long' });
  expect(run([started, event, compacted(1), answered(1)]).last).toMatchObject({ status: 'completed' });
  expect(run([started, event, compacted(1), event]).last).toMatchObject({ failure: { code: 'context_too_long' } });
});

test('E9: when compaction fails, the message ends with its reason', () => {
  const failed: AgentEvent = { type: 'compaction.failed', op: opId(1, 1, 0), failure: failure('failed', 'no_room') };
  expect(run([started, full(1), failed]).last).toMatchObject({
    status: 'planner_failure',
    failure: { code: 'no_room' },
  });
});

test('E9: a fallback model takes over for one that stays away, after fewer tries, and for the rest of the message', () => {
  const tries = Array.from({ length: MAX_ATTEMPTS_BEFORE_FALLBACK }, (): AgentEvent[] => [
    modelFailed(1, 'transient', 'overloaded'),
    { type: 'timer.due', op: opId(1, 1, 0) },
  ]).flat();
  const { effects } = run([started, ...tries, answered(1, ['LS']), settled(1, 1)], 3, 2);
  const asked = effects.flatMap((effect) => (effect.type === 'callModel' ? [effect.model] : []));
  expect(asked).toEqual([...Array<number>(MAX_ATTEMPTS_BEFORE_FALLBACK).fill(0), 1, 1]);
  const attempts = effects.flatMap((effect) => (effect.type === 'callModel' ? [effect.attempt] : []));
  expect(attempts).toEqual([1, 2, 3, 4, 1]);
  const waits = effects.flatMap((effect) =>
    effect.type === 'scheduleRetry' ? [[effect.attempt, effect.attempts]] : [],
  );
  expect(waits).toEqual([
    [2, MAX_ATTEMPTS_BEFORE_FALLBACK],
    [3, MAX_ATTEMPTS_BEFORE_FALLBACK],
  ]);
  expect(run([started, modelFailed(1, 'failed', 'quota')], 3, 2).last).toMatchObject({ type: 'callModel', model: 1 });
  expect(run([started, modelFailed(1, 'failed', 'refusal')], 3, 2).last).toMatchObject({ type: 'finish' });
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
    { type: 'budget.exceeded', code: 'budget_usd', message: 'over' },
    full(1),
    compacted(1),
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
