// The tool machine as a pure function.

import { expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import type { ToolEffectRequest, ToolEvent } from '../../machines/tool/events.ts';
import { toolMachine } from '../../machines/tool/machine.ts';
import type { Failure } from '../../shared/outcome.ts';

const input = { op: '1.1.1' as const, timeoutMs: 5_000 };
const failure: Failure = { kind: 'failed', code: 'boom', message: 'boom' };
const question = { id: 'q', title: 't', reasons: [], detail: '', argsHash: 'h' };
const executedOk: ToolEvent = { type: 'executed', kind: 'ok', failure: null };
const executedBad: ToolEvent = { type: 'executed', kind: 'failed', failure };

function run(events: readonly ToolEvent[]) {
  let [snapshot, actions] = initialTransition(toolMachine, input);
  const effects: ToolEffectRequest[] = [];
  const note = () =>
    effects.push(...actions.map((a) => ({ type: a.type, ...(a.params as object) }) as ToolEffectRequest));
  note();
  for (const event of events) {
    [snapshot, actions] = transition(toolMachine, snapshot, event);
    note();
  }
  return { state: snapshot.value, effects, types: effects.map((effect) => effect.type), last: effects.at(-1) };
}

const toExecuting: ToolEvent[] = [{ type: 'args.valid' }, { type: 'gate.allowed' }];

test('O9: a call runs validate → gate → execute → shape → settle', () => {
  const { state, types, last } = run([...toExecuting, executedOk, { type: 'shaped' }]);
  expect(types).toEqual(['validate', 'gate', 'execute', 'shape', 'settle']);
  expect(state).toBe('settled');
  expect(last).toEqual({ type: 'settle', kind: 'ok' });
});

test('E10: invalid arguments never reach the gate', () => {
  const { types, effects } = run([
    { type: 'args.invalid', failure: { ...failure, kind: 'invalid' } },
    { type: 'shaped' },
  ]);
  expect(types).toEqual(['validate', 'shape', 'settle']);
  expect(effects[1]).toMatchObject({ kind: 'invalid' });
});

test('O23: a denied or unanswered question never executes', () => {
  const asked: ToolEvent[] = [{ type: 'args.valid' }, { type: 'gate.asked', question }];
  const denied = run([...asked, { type: 'question.denied', failure }, { type: 'shaped' }]);
  expect(denied.types).not.toContain('execute');
  expect(denied.last).toEqual({ type: 'settle', kind: 'refused' });
  expect(run([...asked, { type: 'question.allowed' }]).types.at(-1)).toBe('execute');
});

test('E11: cancelled in mid-execution it is aborted, and a result that still comes is the truth', () => {
  const inTime = run([...toExecuting, { type: 'tool.cancel' }, executedOk, { type: 'shaped' }]);
  expect(inTime.last).toEqual({ type: 'settle', kind: 'ok' });
  const stopped = run([...toExecuting, { type: 'tool.cancel' }, executedBad, { type: 'shaped' }]);
  expect(stopped.last).toEqual({ type: 'settle', kind: 'cancelled' });
});

test('E11: after the intent was journaled, a call that does not come back is unknown, never cancelled', () => {
  const events: ToolEvent[] = [
    ...toExecuting,
    { type: 'intent.journaled' },
    { type: 'tool.cancel' },
    { type: 'grace.over' },
  ];
  expect(run([...events, { type: 'shaped' }]).last).toEqual({ type: 'settle', kind: 'unknown' });
  const without = events.filter((event) => event.type !== 'intent.journaled');
  expect(run([...without, { type: 'shaped' }]).last).toEqual({ type: 'settle', kind: 'cancelled' });
});

test('E11: over its time limit a call fails with a message that says so', () => {
  const { effects, last } = run([...toExecuting, { type: 'time.up' }, { type: 'grace.over' }, { type: 'shaped' }]);
  expect(effects.find((effect) => effect.type === 'shape')).toMatchObject({
    kind: 'failed',
    failure: { code: 'timeout' },
  });
  expect(last).toEqual({ type: 'settle', kind: 'failed' });
});

test('C1: every state of the tool machine can be reached, and from each one a cancel leads to an end', () => {
  const events: ToolEvent[] = [
    ...toExecuting,
    { type: 'args.invalid', failure },
    { type: 'gate.asked', question },
    { type: 'gate.denied', failure },
    { type: 'question.allowed' },
    { type: 'question.denied', failure },
    { type: 'intent.journaled' },
    executedOk,
    executedBad,
    { type: 'shaped' },
    { type: 'time.up' },
    { type: 'grace.over' },
    { type: 'tool.cancel' },
  ];
  const paths = getShortestPaths(toolMachine, { input, events, limit: 10_000 });
  const reached = new Set(paths.map((path) => path.state.value));
  expect([...reached].sort()).toEqual(Object.keys(toolMachine.states).sort());
  for (const path of paths) {
    let snapshot = path.state;
    for (const event of [{ type: 'tool.cancel' }, { type: 'grace.over' }, { type: 'shaped' }] as ToolEvent[]) {
      if (snapshot.status === 'active') [snapshot] = transition(toolMachine, snapshot, event);
    }
    expect(snapshot.status).toBe('done');
  }
});
