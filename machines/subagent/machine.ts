// The life of a subagent (SPEC C1, O19): spawning → running → reporting → gone. A thread that is lost is replaced a few times, and the
// agent goes on from its journal; a limit, a crash and a cancel are ends of their own. A pure reducer: run it by machines/step.ts.

import { assign, setup } from 'xstate';
import type { SubagentContext, SubagentEffect, SubagentEnd, SubagentEvent, SubagentInput } from './events.ts';

type Params<T extends SubagentEffect['type']> = Omit<Extract<SubagentEffect, { type: T }>, 'type'>;
const request =
  <T extends SubagentEffect['type']>() =>
  (_: unknown, _params: Params<T>) => {};

/** An end that the loop itself did not come to. */
const outside = (end: 'stalled' | 'crashed' | 'cancelled', message: string): SubagentEnd => ({
  end,
  limit: null,
  answer: `[${message}]`,
  failure: { kind: end === 'cancelled' ? 'cancelled' : 'failed', code: `agent_${end}`, message },
  steps: 0,
});

export const subagentMachine = setup({
  types: {
    context: {} as SubagentContext,
    events: {} as SubagentEvent,
    input: {} as SubagentInput,
  },
  actions: {
    spawnLoop: request<'spawnLoop'>(),
    cancelLoop: request<'cancelLoop'>(),
    dropLoop: () => {},
    report: request<'report'>(),
    noteUnexpected: () => {},
    countIncarnation: assign({ inc: ({ context }) => context.inc + 1 }),
    keepEnd: assign({ end: ({ context, event }) => (event.type === 'loop.ended' ? event.end : context.end) }),
    endCrashed: assign({
      end: ({ context, event }) =>
        outside(
          'crashed',
          `Its thread was lost ${context.inc} times${event.type === 'thread.lost' ? `, the last time: ${event.why}` : ''}. What it had done stays done.`,
        ),
    }),
    endStalled: assign({
      end: ({ context }) =>
        outside(
          'stalled',
          `Its thread stopped answering ${context.inc} times and was ended. What it had done stays done.`,
        ),
    }),
    endCancelled: assign({ end: outside('cancelled', 'Cancelled.') }),
  },
  guards: {
    canRespawn: ({ context }) => context.inc <= context.maxRespawns,
  },
}).createMachine({
  id: 'subagent',
  context: ({ input }) => ({ ...input, inc: 0, end: null }),
  initial: 'spawning',
  on: { '*': { actions: 'noteUnexpected' } },
  states: {
    // Waits for the thread, which says so or is lost.
    spawning: {
      entry: ['countIncarnation', { type: 'spawnLoop', params: ({ context }) => ({ inc: context.inc }) }],
      on: {
        'loop.started': 'running',
        'thread.lost': [
          { guard: 'canRespawn', target: 'spawning', reenter: true },
          { target: 'reporting', actions: 'endCrashed' },
        ],
        'thread.silent': 'stalled',
        'cancel.requested': 'killed',
      },
    },
    // Waits for the loop, whose steps have time limits of their own; its thread is watched.
    running: {
      on: {
        'loop.ended': { target: 'reporting', actions: 'keepEnd' },
        'thread.silent': 'stalled',
        'thread.lost': [
          { guard: 'canRespawn', target: 'spawning' },
          { target: 'reporting', actions: 'endCrashed' },
        ],
        'cancel.requested': 'killed',
      },
    },
    // Waits for the end of a thread that is being ended.
    stalled: {
      on: {
        'thread.lost': [
          { guard: 'canRespawn', target: 'spawning' },
          { target: 'reporting', actions: 'endStalled' },
        ],
        'cancel.requested': { target: 'reporting', actions: ['dropLoop', 'endCancelled'] },
      },
    },
    // Waits for a loop that was told to end; `grace.over` comes in any case.
    killed: {
      entry: {
        type: 'cancelLoop',
        params: ({ event }) => ({ by: event.type === 'cancel.requested' ? event.by : 'parent' }),
      },
      on: {
        'loop.ended': { target: 'reporting', actions: 'keepEnd' },
        'thread.lost': { target: 'reporting', actions: 'endCancelled' },
        'grace.over': { target: 'reporting', actions: ['dropLoop', 'endCancelled'] },
        'loop.started': {},
        'thread.silent': {},
        'cancel.requested': {},
      },
    },
    // Waits for the journal.
    reporting: {
      entry: {
        type: 'report',
        params: ({ context }) => ({ end: context.end ?? outside('crashed', 'It ended without a word.') }),
      },
      on: { reported: 'gone', '*': {} },
    },
    gone: { type: 'final' },
  },
});
