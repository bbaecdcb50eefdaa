// The life of one tool call (SPEC C1, O9): validating → gating → (asking) → executing → (committing) → shaping → settled.
// `committing` is executing after the intent was journaled: a file tool knows its intent (the hashes) only under the lock
// of the commit, so the intent comes from inside the execution and marks the point of no return.

import { assign, setup } from 'xstate';
import type { Question, SettledKind } from '../../shared/events.ts';
import type { Failure } from '../../shared/outcome.ts';
import type { ToolEffectRequest, ToolEvent, ToolInput, ToolMachineContext } from './events.ts';

export const TOOL_MACHINE = 'tool@1';

/** How long a call that was told to stop may take before it is settled without its own word. */
export const GRACE_MS = 2_000;

type Params<T extends ToolEffectRequest['type']> = Omit<Extract<ToolEffectRequest, { type: T }>, 'type'>;
const request =
  <T extends ToolEffectRequest['type']>() =>
  (_: unknown, _params: Params<T>) => {};

const CANCELLED: Failure = { kind: 'cancelled', code: 'cancelled', message: 'Cancelled before it finished.' };
const UNKNOWN: Failure = {
  kind: 'failed',
  code: 'outcome_unknown',
  message: 'It was stopped after it had begun to take effect. Whether it did is unknown: check before you try again.',
};

const ending = (kind: SettledKind, failure: Failure) =>
  assign<ToolMachineContext, ToolEvent, undefined, ToolEvent, never>({ kind, failure });

export const toolMachine = setup({
  types: { context: {} as ToolMachineContext, events: {} as ToolEvent, input: {} as ToolInput },
  actions: {
    validate: () => {},
    gate: () => {},
    ask: request<'ask'>(),
    execute: request<'execute'>(),
    abort: request<'abort'>(),
    shape: request<'shape'>(),
    settle: request<'settle'>(),
    noteUnexpected: () => {},
    keepQuestion: assign({
      question: ({ event }): Question | null => (event.type === 'gate.asked' ? event.question : null),
    }),
    keepIntent: assign({ intended: true }),
    keepRefusal: assign(({ event }) => ({
      kind: event.type === 'args.invalid' ? ('invalid' as const) : ('refused' as const),
      failure: 'failure' in event ? event.failure : null,
    })),
    keepOutcome: assign(({ context, event }) =>
      event.type === 'executed'
        ? { kind: event.kind, failure: event.failure }
        : { kind: context.kind, failure: context.failure },
    ),
    endCancelled: ending('cancelled', CANCELLED),
    endUnknown: ending('unknown', UNKNOWN),
    endTimedOut: assign(({ context }) => ({ kind: 'failed' as const, failure: timedOut(context.timeoutMs) })),
  },
  guards: {
    wasIntended: ({ context }) => context.intended,
    wasTimedOut: ({ context }) => context.failure?.code === 'timeout',
    succeeded: ({ event }) => event.type === 'executed' && event.kind === 'ok',
  },
}).createMachine({
  id: 'tool',
  context: ({ input }) => ({ ...input, intended: false, question: null, kind: null, failure: null }),
  initial: 'validating',
  on: { '*': { actions: 'noteUnexpected' } },
  states: {
    // Validation is immediate; no time limit.
    validating: {
      entry: 'validate',
      on: {
        'args.valid': 'gating',
        'args.invalid': { target: 'shaping', actions: 'keepRefusal' },
        'tool.cancel': { target: 'shaping', actions: 'endCancelled' },
      },
    },
    // A gate may ask the lesser model, which has its own watchdog, and is stopped by the call's signal.
    gating: {
      entry: 'gate',
      on: {
        'gate.allowed': 'executing',
        'gate.asked': { target: 'asking', actions: 'keepQuestion' },
        'gate.denied': { target: 'shaping', actions: 'keepRefusal' },
        'tool.cancel': { target: 'shaping', actions: [{ type: 'abort', params: { graceMs: 0 } }, 'endCancelled'] },
      },
    },
    // Waits for a person: as long as the permission port lets it.
    asking: {
      entry: { type: 'ask', params: ({ context }) => ({ question: context.question as Question }) },
      on: {
        'question.allowed': 'executing',
        'question.denied': { target: 'shaping', actions: 'keepRefusal' },
        'tool.cancel': { target: 'shaping', actions: [{ type: 'abort', params: { graceMs: 0 } }, 'endCancelled'] },
      },
    },
    executing: {
      entry: { type: 'execute', params: ({ context }) => ({ timeoutMs: context.timeoutMs }) },
      on: {
        'intent.journaled': { actions: 'keepIntent' },
        executed: { target: 'shaping', actions: 'keepOutcome' },
        'time.up': { target: 'aborting', actions: 'endTimedOut' },
        'tool.cancel': { target: 'aborting', actions: 'endCancelled' },
      },
    },
    // A result that comes in time is the truth, even after a stop: what was done was done.
    aborting: {
      entry: { type: 'abort', params: { graceMs: GRACE_MS } },
      on: {
        'intent.journaled': { actions: 'keepIntent' },
        executed: [{ guard: 'succeeded', target: 'shaping', actions: 'keepOutcome' }, { target: 'shaping' }],
        'grace.over': [{ guard: 'wasIntended', target: 'shaping', actions: 'endUnknown' }, { target: 'shaping' }],
        'time.up': {},
        'tool.cancel': {},
      },
    },
    // Storing a result is local and must not be given up: without it the call would dangle.
    shaping: {
      entry: {
        type: 'shape',
        params: ({ context }) => ({ kind: context.kind ?? 'failed', failure: context.failure }),
      },
      on: {
        shaped: 'settled',
        executed: {},
        'grace.over': {},
        'time.up': {},
        'tool.cancel': {},
        'gate.allowed': {},
        'gate.asked': {},
        'gate.denied': {},
        'question.allowed': {},
        'question.denied': {},
        'intent.journaled': {},
      },
    },
    settled: {
      type: 'final',
      entry: { type: 'settle', params: ({ context }) => ({ kind: context.kind ?? 'failed' }) },
    },
  },
});

const timedOut = (timeoutMs: number): Failure => ({
  kind: 'failed',
  code: 'timeout',
  message: `Stopped after ${Math.round(timeoutMs / 1000)} s, its time limit. Ask for less at a time.`,
});
