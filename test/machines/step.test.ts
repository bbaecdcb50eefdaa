// Our steps beside XState's own transition functions, on random runs of both machines.

import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type AnyStateMachine, and, assign, createMachine, initialTransition, not, transition } from 'xstate';
import { agentMachine } from '../../machines/agent/machine.ts';
import { firstStep, nextStep } from '../../machines/step.ts';
import { subagentMachine } from '../../machines/subagent/machine.ts';
import { toolMachine } from '../../machines/tool/machine.ts';

const SEED = 20261120;
const failure = (kind: string) => ({ kind, code: 'x', message: 'x' });
const call = { op: '1.1.1', callId: 'c', name: 'LS', argsHash: 'h' };

const agentEvents = [
  { type: 'message.started' },
  { type: 'model.answered', op: '1.1.0', stop: 'tool_calls', calls: [call] },
  { type: 'model.answered', op: '1.1.0', stop: 'end', calls: [] },
  { type: 'model.answered', op: '1.2.0', stop: 'max_tokens', calls: [] },
  { type: 'model.failed', op: '1.1.0', failure: failure('transient') },
  { type: 'tool.settled', op: '1.1.1', kind: 'ok', resultHash: 'r' },
  { type: 'timer.due', op: '1.1.0' },
  { type: 'budget.exceeded', message: 'm' },
  { type: 'cancel.requested' },
  { type: 'stray' },
];
const toolEvents = [
  { type: 'args.valid' },
  { type: 'args.invalid', failure: failure('invalid') },
  { type: 'gate.allowed' },
  { type: 'gate.asked', question: { id: 'q', title: 't', reasons: [], detail: '', argsHash: 'h' } },
  { type: 'question.allowed' },
  { type: 'intent.journaled' },
  { type: 'executed', kind: 'ok', failure: null },
  { type: 'shaped' },
  { type: 'time.up' },
  { type: 'grace.over' },
  { type: 'tool.cancel' },
];
const subagentEvents = [
  { type: 'loop.started' },
  { type: 'loop.ended', end: { end: 'completed', limit: null, answer: 'a', failure: null, steps: 1 } },
  { type: 'thread.lost', why: 'x' },
  { type: 'thread.silent' },
  { type: 'cancel.requested', by: 'user' },
  { type: 'grace.over' },
  { type: 'reported' },
  { type: 'stray' },
];

const machines: readonly [string, AnyStateMachine, unknown, readonly { readonly type: string }[]][] = [
  ['agent', agentMachine, { seq: 1, limits: { maxSteps: 2 } }, agentEvents],
  ['tool', toolMachine, { op: '1.1.1', timeoutMs: 1 }, toolEvents],
  ['subagent', subagentMachine, { maxRespawns: 2 }, subagentEvents],
];

const request = ({ type, params }: { readonly type: string; readonly params?: unknown }) => ({ type, params });

test.each(machines)(
  `C1: steps of the %s machine are XState's own transitions (seed ${SEED})`,
  (_, machine, input, events) => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events), { maxLength: 12 }), (run) => {
        let [ours, actions] = firstStep(machine, input);
        let [theirs, theirActions] = initialTransition(machine, input as never);
        const compare = () => {
          expect({ ...ours, actions: actions.map(request) }).toEqual({
            value: theirs.value,
            status: theirs.status,
            context: theirs.context,
            actions: theirActions.map(request),
          });
        };
        compare();
        for (const event of run) {
          [ours, actions] = nextStep(machine, ours, event);
          [theirs, theirActions] = transition(machine, theirs, event);
          compare();
        }
      }),
      { numRuns: 300, seed: SEED },
    );
  },
);

test('C1: a machine that is more than a flat chart of named actions is refused when it starts, not misread', () => {
  const nested = { initial: 'a', context: () => ({}), states: { a: { initial: 'b', states: { b: {} } } } };
  const inline = { initial: 'a', context: () => ({}), states: { a: { entry: () => {} } } };
  const timed = { initial: 'a', context: () => ({}), states: { a: { after: { 10: 'b' } }, b: {} } };
  const invoking = { initial: 'a', context: () => ({}), states: { a: { invoke: { src: 'x' } } } };
  const dotted = { initial: 'a', context: () => ({}), states: { a: { on: { 'x.*': {} } } } };
  for (const config of [nested, inline, timed, invoking, dotted]) {
    expect(() => firstStep(createMachine(config as Parameters<typeof createMachine>[0]), {})).toThrow(/does not know/);
  }
  const states = { a: { on: { go: { target: 'b', guard: 'is', actions: { type: 'set', params: { n: 1 } } } } }, b: {} };
  const set = assign((_, { n }: { n: number }) => ({ n }));
  const named = { initial: 'a', context: () => ({}), states } as Parameters<typeof createMachine>[0];
  for (const setUp of [
    { guards: { is: not('isNot'), isNot: () => false }, actions: { set: () => {} } },
    { guards: { is: and(['one', 'one']), one: () => true }, actions: { set: () => {} } },
    { guards: { is: () => true }, actions: { set } },
  ]) {
    expect(() => firstStep(createMachine(named).provide(setUp as object), {})).toThrow(/does not know/);
  }
});
