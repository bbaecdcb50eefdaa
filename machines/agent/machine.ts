// The life of the main agent for one message (SPEC C1, O2, G3): planner → tool calls → planner, until a named end.
// A pure reducer: run it with initialTransition and transition only. Its named actions are effect requests for the host.

import { assign, setup } from 'xstate';
import type { EndReason } from '../../shared/events.ts';
import { type OpId, opId } from '../../shared/ids.ts';
import type { Failure } from '../../shared/outcome.ts';
import type { AgentContext, AgentEffect, AgentEvent, AgentInput } from './events.ts';

/** Written into every claim: a journal is replayed by the machine that wrote it. */
export const AGENT_MACHINE = 'agent@1';

/** Tries of one model call, the first included. */
export const MAX_ATTEMPTS = 6;
/** Identical steps in a row after which the planner is told, and after which the message is stopped. */
export const REPEATS_TOLD = 2;
export const REPEATS_STOPPED = 4;
/** A provider that asks for a longer wait than this has in fact refused. */
export const MAX_RETRY_AFTER_MS = 120_000;

type Params<T extends AgentEffect['type']> = Omit<Extract<AgentEffect, { type: T }>, 'type'>;
const request =
  <T extends AgentEffect['type']>() =>
  (_: unknown, _params: Params<T>) => {};

const modelOp = (context: AgentContext): OpId => opId(context.seq, context.turn, 0);

const ends = (reason: EndReason, failure?: (event: AgentEvent) => Failure | null) =>
  assign<AgentContext, AgentEvent, undefined, AgentEvent, never>({
    end: reason,
    failure: ({ event }) => failure?.(event) ?? null,
  });

export const agentMachine = setup({
  types: {
    context: {} as AgentContext,
    events: {} as AgentEvent,
    input: {} as AgentInput,
  },
  actions: {
    callModel: request<'callModel'>(),
    startTools: request<'startTools'>(),
    abortModel: () => {},
    abortTools: () => {},
    scheduleRetry: request<'scheduleRetry'>(),
    finish: request<'finish'>(),
    noteUnexpected: () => {},
    beginStep: assign({ turn: ({ context }) => context.turn + 1, attempt: 1, calls: [], settled: {} }),
    tryAgain: assign({ attempt: ({ context }) => context.attempt + 1 }),
    keepCalls: assign({
      calls: ({ context, event }) => (event.type === 'model.answered' ? event.calls : context.calls),
    }),
    keepResult: assign({
      settled: ({ context, event }) =>
        event.type === 'tool.settled' ? { ...context.settled, [event.op]: event.resultHash } : context.settled,
    }),
    compareStep: assign(({ context }) => {
      const lastStep = stepSignature(context);
      return { lastStep, repeats: lastStep === context.lastStep ? context.repeats + 1 : 0 };
    }),
    endCompleted: ends('completed'),
    endCancelled: ends('cancelled'),
    endStepLimit: ends('step_limit'),
    endRepeated: ends('repeated_calls'),
    endBudget: ends('budget', (event) =>
      event.type === 'budget.exceeded' ? { kind: 'failed', code: 'budget', message: event.message } : null,
    ),
    endFailed: ends('planner_failure', plannerFailure),
  },
  guards: {
    isCurrentCall: ({ context, event }) => 'op' in event && event.op === modelOp(context),
    isOpenCall: ({ context, event }) => event.type === 'tool.settled' && isOpen(context, event.op),
    wantsTools: ({ context, event }) =>
      event.type === 'model.answered' &&
      event.op === modelOp(context) &&
      event.stop === 'tool_calls' &&
      event.calls.length > 0,
    atStepLimit: ({ context, event }) =>
      event.type === 'model.answered' &&
      event.op === modelOp(context) &&
      event.stop === 'tool_calls' &&
      event.calls.length > 0 &&
      context.turn >= context.limits.maxSteps,
    answeredWell: ({ context, event }) =>
      event.type === 'model.answered' &&
      event.op === modelOp(context) &&
      (event.stop === 'end' || event.stop === 'tool_calls' || event.stop === 'other'),
    wasCancelled: ({ context, event }) =>
      event.type === 'model.failed' && event.op === modelOp(context) && event.failure.kind === 'cancelled',
    canRetry: ({ context, event }) =>
      event.type === 'model.failed' &&
      event.op === modelOp(context) &&
      event.failure.kind === 'transient' &&
      context.attempt < MAX_ATTEMPTS &&
      (event.failure.retryAfterMs ?? 0) <= MAX_RETRY_AFTER_MS,
    isLastOpenCall: ({ context, event }) =>
      event.type === 'tool.settled' && isOpen(context, event.op) && openCount(context) === 1,
    repeatsTooOften: ({ context }) => context.repeats >= REPEATS_STOPPED,
  },
}).createMachine({
  id: 'agent',
  context: ({ input }) => ({
    ...input,
    turn: 0,
    attempt: 0,
    calls: [],
    settled: {},
    lastStep: '',
    repeats: 0,
    end: null,
    failure: null,
  }),
  initial: 'idle',
  on: { '*': { actions: 'noteUnexpected' } },
  states: {
    // Waits for the host's first event, which it sends at once.
    idle: {
      on: {
        'message.started': { target: 'thinking', actions: 'beginStep' },
        'cancel.requested': { target: 'stopped', actions: 'endCancelled' },
      },
    },
    // Waits for the provider; its idle watchdog is the time limit.
    thinking: {
      entry: {
        type: 'callModel',
        params: ({ context }) => ({
          op: modelOp(context),
          turn: context.turn,
          attempt: context.attempt,
          repeats: context.repeats,
        }),
      },
      on: {
        'model.answered': [
          { guard: 'atStepLimit', target: 'stopped', actions: ['keepCalls', 'endStepLimit'] },
          { guard: 'wantsTools', target: 'acting', actions: 'keepCalls' },
          { guard: 'answeredWell', target: 'done', actions: 'endCompleted' },
          { guard: 'isCurrentCall', target: 'stopped', actions: 'endFailed' },
        ],
        'model.failed': [
          { guard: 'wasCancelled', target: 'stopped', actions: 'endCancelled' },
          {
            guard: 'canRetry',
            target: 'waiting',
            actions: {
              type: 'scheduleRetry',
              params: ({ context, event }) => ({ op: event.op, attempt: context.attempt, failure: event.failure }),
            },
          },
          { guard: 'isCurrentCall', target: 'stopped', actions: 'endFailed' },
        ],
        'budget.exceeded': { target: 'stopped', actions: ['abortModel', 'endBudget'] },
        'cancel.requested': { target: 'stopped', actions: ['abortModel', 'endCancelled'] },
      },
    },
    // Waits for a journaled timer, which is re-armed on resume.
    waiting: {
      on: {
        'timer.due': { guard: 'isCurrentCall', target: 'thinking', actions: 'tryAgain' },
        'budget.exceeded': { target: 'stopped', actions: 'endBudget' },
        'cancel.requested': { target: 'stopped', actions: 'endCancelled' },
      },
    },
    // Waits for every call of the step; each tool machine has its own time limit.
    acting: {
      entry: { type: 'startTools', params: ({ context }) => ({ calls: context.calls }) },
      on: {
        'tool.settled': [
          { guard: 'isLastOpenCall', target: 'reviewing', actions: 'keepResult' },
          { guard: 'isOpenCall', actions: 'keepResult' },
        ],
        'budget.exceeded': { target: 'stopping', actions: ['abortTools', 'endBudget'] },
        'cancel.requested': { target: 'stopping', actions: ['abortTools', 'endCancelled'] },
      },
    },
    reviewing: {
      entry: 'compareStep',
      always: [
        { guard: 'repeatsTooOften', target: 'stopped', actions: 'endRepeated' },
        { target: 'thinking', actions: 'beginStep' },
      ],
    },
    // Waits for calls that were told to stop; a tool machine settles within its grace time whatever happens.
    stopping: {
      on: {
        'tool.settled': [
          { guard: 'isLastOpenCall', target: 'stopped', actions: 'keepResult' },
          { guard: 'isOpenCall', actions: 'keepResult' },
        ],
        'cancel.requested': {},
        'budget.exceeded': {},
      },
    },
    done: { type: 'final', entry: { type: 'finish', params: ({ context }) => finishOf(context) } },
    stopped: { type: 'final', entry: { type: 'finish', params: ({ context }) => finishOf(context) } },
  },
});

function finishOf(context: AgentContext): Params<'finish'> {
  return { status: context.end ?? 'planner_failure', failure: context.failure, steps: context.turn };
}

const isOpen = (context: AgentContext, op: OpId): boolean =>
  !(op in context.settled) && context.calls.some((call) => call.op === op);

const openCount = (context: AgentContext): number =>
  context.calls.filter((call) => !(call.op in context.settled)).length;

function stepSignature(context: AgentContext): string {
  return context.calls.map((call) => `${call.name}:${call.argsHash}:${context.settled[call.op]}`).join('|');
}

function plannerFailure(event: AgentEvent): Failure | null {
  if (event.type === 'model.failed') return event.failure;
  if (event.type !== 'model.answered') return null;
  switch (event.stop) {
    case 'max_tokens':
      return failed(
        'output_limit',
        'The model reached its output limit in mid-answer. Ask for less at a time, or continue.',
      );
    case 'refusal':
      return failed('refusal', 'The model declined to answer this request.');
    case 'context_full':
      return failed('context_too_long', 'The conversation no longer fits the context window of the model.');
    case 'end':
    case 'tool_calls':
    case 'other':
      return null;
  }
}

const failed = (code: string, message: string): Failure => ({ kind: 'failed', code, message });
