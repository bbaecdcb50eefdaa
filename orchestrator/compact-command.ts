// `compact` as a message of a session (SPEC O21): it waits its turn like any other, makes the conversation smaller by the same passes as a
// full window does, within the message's budget, and ends with what came of it. No planner is asked and no machine runs: all that there is
// to decide is whether its one result is in the journal. Cancelled or cut off before that, the conversation stays as it was.

import { Left } from '../agent/loop.ts';
import { countText } from '../shared/amount-text.ts';
import { toolSpec } from '../shared/define-tool.ts';
import type { EventOf, JournalEvent } from '../shared/events.ts';
import { opId } from '../shared/ids.ts';
import type { Failure } from '../shared/outcome.ts';
import { withAccounts } from './budget/with-accounts.ts';
import { createTurnHooks, withHooks } from './hooks/turn-hooks.ts';
import { type GivenTurnDeps, type RunningTurn, silenced, type TurnEnd } from './turn.ts';

/** Like startTurn: it begins when its msg.start is recorded, or at once with the events of the process before. */
export function startCompaction(
  given: GivenTurnDeps,
  start: EventOf<'msg.start'>,
  past: readonly JournalEvent[],
): RunningTurn {
  let left = false;
  let end: TurnEnd | null = null;
  const ended = Promise.withResolvers<TurnEnd>();
  const stop = new AbortController();
  const accounted = withAccounts(
    silenced(given, () => left),
    start,
    past,
  );
  const deps = withHooks(accounted, start);
  const hooks = createTurnHooks(deps, start);
  const stopClock = deps.budget.startClock(() => end !== null);

  const see = (event: JournalEvent): void => {
    end ??= endOf(event);
    if (end) stop.abort();
  };

  const compact = async (): Promise<void> => {
    if (deps.memory.history.messages.length === 0) end ??= NOTHING_YET;
    if (end === null) {
      const effect = { type: 'compact', op: opId(start.seq, 1, 0), why: 'asked', model: 0 } as const;
      const focus = start.command?.type === 'compact' ? start.command.focus : undefined;
      hooks.compacting(effect);
      const { compactContext } = await import('../agent/compact-context.ts');
      const specs = deps.tools(start.mode).map(toolSpec);
      // What an aborted call has cost is in the journal before the end.
      await compactContext(deps, start, specs, { ...effect, ...(focus === undefined ? {} : { focus }) }, stop.signal);
    }
    if (end !== null) ended.resolve(end);
  };
  const begin = () => queueMicrotask(() => void compact().catch((error: unknown) => ended.reject(error)));

  for (const event of past) see(event);
  if (past.length > 0) begin();

  return {
    onRecorded(event) {
      hooks.recorded(event);
      see(event);
      if (event.type === 'msg.start') begin();
    },
    agent: () => Promise.resolve(false),
    cancel: (by) => deps.record({ type: 'cancel', seq: start.seq, by, at: deps.now() }),
    abandon() {
      left = true;
      hooks.abort();
      stop.abort();
      ended.reject(new Left());
    },
    end: ended.promise.finally(stopClock),
  };
}

/** The end that an event means; null when it means none. The first one counts. */
function endOf(event: JournalEvent): TurnEnd | null {
  switch (event.type) {
    case 'compact.done':
      return { status: 'completed', answer: doneText(event), failure: null, steps: 0 };
    case 'compact.fail':
      return failedEnd('planner_failure', event.failure);
    case 'cancel':
      return { status: 'cancelled', answer: '[Cancelled: the context is as it was.]', failure: null, steps: 0 };
    case 'limit.hit': {
      const failure = { kind: 'failed', code: `budget_${event.limit}`, message: event.message } as const;
      return { status: 'budget', answer: `[Stopped: ${event.message} The context is as it was.]`, failure, steps: 0 };
    }
    default:
      return null;
  }
}

function doneText({ processors, tokensBefore, tokensAfter }: EventOf<'compact.done'>): string {
  if (processors.length === 0) return `Nothing can be taken out: the context is ${countText(tokensBefore)} tokens.`;
  return `The context was ${countText(tokensBefore)} tokens and is ${countText(tokensAfter)} now.`;
}

const failedEnd = (status: TurnEnd['status'], failure: Failure): TurnEnd => ({
  status,
  answer: `[Failed: ${failure.message}]`,
  failure,
  steps: 0,
});

const NOTHING_YET: TurnEnd = {
  status: 'refused',
  answer: '[Refused: there is no conversation yet that could be made smaller.]',
  failure: { kind: 'refused', code: 'nothing_to_compact', message: 'There is no conversation yet.' },
  steps: 0,
};
