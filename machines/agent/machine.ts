// The life of the main agent for one message (SPEC C1, O2, G3): planner → tool calls → planner, until a named end.
// A pure reducer: run it with initialTransition and transition only. Its named actions are effect requests for the host.

import { assign, setup } from 'xstate';
import type { CompactReason } from '../../shared/events.ts';
import { type OpId, opId } from '../../shared/ids.ts';
import type { EndReason } from '../../shared/limits.ts';
import type { Failure } from '../../shared/outcome.ts';
import type { AgentContext, AgentEffect, AgentEvent, AgentInput } from './events.ts';
import { asksTooLong, isCut, plannerFailure } from './planner-failure.ts';
import { REPEATS_STOPPED, withStep } from './repeats.ts';

/** Written into every claim: a journal is replayed by the machine that wrote it. */
export const AGENT_MACHINE = 'agent@2';

/** Tries of one model call, the first included. */
export const MAX_ATTEMPTS = 6;
/** The same when another model is there to ask. */
export const MAX_ATTEMPTS_BEFORE_FALLBACK = 3;
/** Answers in a row that are cut off or empty, and that the model is asked to go on from. */
export const MAX_CUTS = 2;
type Params<T extends AgentEffect['type']> = Omit<Extract<AgentEffect, { type: T }>, 'type'>;
const request =
  <T extends AgentEffect['type']>() =>
  (_: unknown, _params: Params<T>) => {};

const modelOp = (context: AgentContext): OpId => opId(context.seq, context.turn, 0);

const ends = (reason: EndReason, failure?: (event: AgentEvent, context: AgentContext) => Failure | null) =>
  assign<AgentContext, AgentEvent, undefined, AgentEvent, never>({
    end: reason,
    failure: ({ event, context }) => failure?.(event, context) ?? null,
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
    compact: request<'compact'>(),
    beginStep: assign({
      turn: ({ context }) => context.turn + 1,
      attempt: 1,
      tries: 1,
      compactions: 0,
      calls: [],
      settled: {},
    }),
    tryAgain: assign(({ context }) => ({ attempt: context.attempt + 1, tries: context.tries + 1 })),
    tryCompacted: assign(({ context }) => ({ attempt: 1, tries: 1, compactions: context.compactions + 1 })),
    takeNextModel: assign(({ context }) => ({
      attempt: context.attempt + 1,
      tries: 1,
      model: context.model + 1,
    })),
    countCut: assign({ cuts: ({ context }) => context.cuts + 1 }),
    keepCalls: assign({
      cuts: 0,
      calls: ({ context, event }) => (event.type === 'model.answered' ? event.calls : context.calls),
    }),
    keepResult: assign({
      settled: ({ context, event }) =>
        event.type === 'tool.settled' ? { ...context.settled, [event.op]: event.resultHash } : context.settled,
    }),
    compareStep: assign(({ context }) => withStep(context)),
    endCompleted: ends('completed'),
    endCancelled: ends('cancelled'),
    endStepLimit: ends('step_limit'),
    endRepeated: ends('repeated_calls'),
    endBudget: ends('budget', (event) =>
      event.type === 'budget.exceeded' ? { kind: 'failed', code: event.code, message: event.message } : null,
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
      !event.isEmpty &&
      (event.stop === 'end' || event.stop === 'tool_calls' || event.stop === 'other'),
    /** Cut off at the output limit, or nothing said: history.ts puts the request to go on behind it. */
    canGoOn: ({ context, event }) =>
      event.type === 'model.answered' &&
      event.op === modelOp(context) &&
      isCut(event) &&
      context.cuts < MAX_CUTS &&
      context.turn < context.limits.maxSteps,
    isOutOfSteps: ({ context, event }) =>
      event.type === 'model.answered' &&
      event.op === modelOp(context) &&
      isCut(event) &&
      context.cuts < MAX_CUTS &&
      context.turn >= context.limits.maxSteps,
    /** Once a step: what does not fit after that will not fit at all. */
    canCompact: ({ context, event }) => context.compactions === 0 && overflows(context, event),
    wasCancelled: ({ context, event }) =>
      event.type === 'model.failed' && event.op === modelOp(context) && event.failure.kind === 'cancelled',
    canRetry: ({ context, event }) =>
      event.type === 'model.failed' &&
      event.op === modelOp(context) &&
      event.failure.kind === 'transient' &&
      context.tries < triesOf(context) &&
      !asksTooLong(event.failure),
    canFallBack: ({ context, event }) =>
      event.type === 'model.failed' &&
      event.op === modelOp(context) &&
      hasFallback(context) &&
      (event.failure.kind === 'transient' || UNAVAILABLE.has(event.failure.code)),
    isLastOpenCall: ({ context, event }) =>
      event.type === 'tool.settled' && isOpen(context, event.op) && openCount(context) === 1,
    repeatsTooOften: ({ context }) => context.repeats >= REPEATS_STOPPED,
  },
}).createMachine({
  id: 'agent',
  context: ({ input }) => ({
    ...input,
    model: 0,
    turn: 0,
    attempt: 0,
    tries: 0,
    compactions: 0,
    cuts: 0,
    calls: [],
    settled: {},
    lastSteps: [],
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
          model: context.model,
        }),
      },
      on: {
        'context.full': [
          { guard: 'canCompact', target: 'compacting' },
          { guard: 'isCurrentCall', target: 'stopped', actions: 'endFailed' },
        ],
        'model.answered': [
          { guard: 'atStepLimit', target: 'stopped', actions: ['keepCalls', 'endStepLimit'] },
          { guard: 'wantsTools', target: 'acting', actions: 'keepCalls' },
          { guard: 'answeredWell', target: 'done', actions: 'endCompleted' },
          { guard: 'canGoOn', target: 'thinking', reenter: true, actions: ['countCut', 'beginStep'] },
          { guard: 'isOutOfSteps', target: 'stopped', actions: 'endStepLimit' },
          { guard: 'canCompact', target: 'compacting' },
          { guard: 'isCurrentCall', target: 'stopped', actions: 'endFailed' },
        ],
        'model.failed': [
          { guard: 'wasCancelled', target: 'stopped', actions: 'endCancelled' },
          {
            guard: 'canRetry',
            target: 'waiting',
            actions: {
              type: 'scheduleRetry',
              params: ({ context, event }) => ({
                op: event.op,
                attempt: context.tries + 1,
                attempts: triesOf(context),
                failure: event.failure,
              }),
            },
          },
          { guard: 'canCompact', target: 'compacting' },
          { guard: 'canFallBack', target: 'thinking', reenter: true, actions: 'takeNextModel' },
          { guard: 'isCurrentCall', target: 'stopped', actions: 'endFailed' },
        ],
        'budget.exceeded': { target: 'stopped', actions: ['abortModel', 'endBudget'] },
        'cancel.requested': { target: 'stopped', actions: ['abortModel', 'endCancelled'] },
      },
    },
    // Waits for a smaller context; what makes it has its own time limit.
    compacting: {
      entry: {
        type: 'compact',
        params: ({ context, event }) => ({ op: modelOp(context), why: reasonOf(event), model: context.model }),
      },
      on: {
        'context.compacted': { guard: 'isCurrentCall', target: 'thinking', actions: 'tryCompacted' },
        'compaction.failed': { guard: 'isCurrentCall', target: 'stopped', actions: 'endFailed' },
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

/** Failures of one model that another may not have. */
const UNAVAILABLE: ReadonlySet<string> = new Set(['auth', 'quota', 'unknown_model', 'bad_response', 'step_timeout']);

const hasFallback = (context: AgentContext): boolean => context.model + 1 < context.models;

const triesOf = (context: AgentContext): number => (hasFallback(context) ? MAX_ATTEMPTS_BEFORE_FALLBACK : MAX_ATTEMPTS);

/** Whether the event says that the current request is too long. */
function overflows(context: AgentContext, event: AgentEvent): boolean {
  if (!('op' in event) || event.op !== modelOp(context)) return false;
  if (event.type === 'model.failed') return event.failure.code === 'context_too_long';
  if (event.type === 'model.answered') return event.stop === 'context_full';
  return event.type === 'context.full';
}

const reasonOf = (event: AgentEvent): CompactReason => (event.type === 'context.full' ? event.why : 'too_long');

function finishOf(context: AgentContext): Params<'finish'> {
  return { status: context.end ?? 'planner_failure', failure: context.failure, steps: context.turn };
}

const isOpen = (context: AgentContext, op: OpId): boolean =>
  !(op in context.settled) && context.calls.some((call) => call.op === op);

const openCount = (context: AgentContext): number =>
  context.calls.filter((call) => !(call.op in context.settled)).length;
