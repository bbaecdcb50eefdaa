// Performs the effect `scheduleRetry` (SPEC E9): a journaled timer, armed again at its own time after a crash.

import type { AgentEffect } from '../machines/agent/events.ts';
import type { EventOf, JournalEvent } from '../shared/events.ts';
import type { LoopDeps } from './loop-deps.ts';
import { LONGEST_DELAY_MS } from './retry-delay.ts';

type ScheduleRetry = Extract<AgentEffect, { type: 'scheduleRetry' }>;

export interface RetryTimer {
  schedule(effect: ScheduleRetry): void;
  clear(): void;
}

/** `past` are the message's events so far: a timer that was set and has not fired keeps its time. */
export function createRetryTimer(
  { record, now, retryDelayMs }: Pick<LoopDeps, 'record' | 'now' | 'retryDelayMs'>,
  past: readonly JournalEvent[],
): RetryTimer {
  let left = openTimer(past);
  let timer: NodeJS.Timeout | undefined;

  const dueAtOf = ({ op, attempt, attempts, failure }: ScheduleRetry): number => {
    const old = left;
    left = null;
    if (old?.op === op) return old.dueAt;
    const at = now();
    const dueAt = at + retryDelayMs(attempt - 1, failure.retryAfterMs);
    record({ type: 'timer.set', op, dueAt, why: failure.code, attempt, attempts, at });
    return dueAt;
  };

  return {
    schedule(effect) {
      const fire = () => record({ type: 'timer.fired', op: effect.op, at: now() });
      // A clock that was set back must not make it wait for hours.
      timer = setTimeout(fire, Math.min(Math.max(0, dueAtOf(effect) - now()), LONGEST_DELAY_MS));
    },
    clear: () => clearTimeout(timer),
  };
}

/** The timer that was the last thing to happen between the model and the message. */
function openTimer(past: readonly JournalEvent[]): EventOf<'timer.set'> | null {
  const last = past.findLast(
    ({ type }) => type === 'llm.req' || type === 'llm.fail' || type === 'timer.set' || type === 'timer.fired',
  );
  return last?.type === 'timer.set' ? last : null;
}
