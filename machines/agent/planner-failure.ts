// Why a message ends without an answer, in words for the user (SPEC O2, E9), and the few questions about answers and failures that
// the agent machine's guards ask.

import type { Failure } from '../../shared/outcome.ts';
import type { AgentContext, AgentEvent } from './events.ts';

type Answered = Extract<AgentEvent, { type: 'model.answered' }>;

/** A provider that asks for a longer wait than this has in fact refused. */
export const MAX_RETRY_AFTER_MS = 120_000;

export const asksTooLong = ({ retryAfterMs = 0 }: Failure): boolean => retryAfterMs > MAX_RETRY_AFTER_MS;

/** Cut off at the output limit, or nothing said that could be used. */
export const isCut = ({ stop, isEmpty }: Answered): boolean =>
  stop === 'max_tokens' || (isEmpty && stop !== 'refusal' && stop !== 'context_full');

/** What the event that ended the message says of it; null when it is no failure. */
export function plannerFailure(event: AgentEvent, context: AgentContext): Failure | null {
  if (event.type === 'compaction.failed') return event.failure;
  if (event.type === 'model.failed')
    return { ...event.failure, message: event.failure.message + givenUp(event, context) };
  if (event.type === 'context.full') return CONTEXT_TOO_LONG;
  if (event.type !== 'model.answered') return null;
  if (event.isEmpty && isCut(event) && event.stop !== 'max_tokens') {
    return failed(
      'empty_answer',
      'The model gave no answer, also when asked again. Try another model, or ask otherwise.',
    );
  }
  switch (event.stop) {
    case 'max_tokens':
      return failed(
        'output_limit',
        'The model reached its output limit in mid-answer. Ask for less at a time, or continue.',
      );
    case 'refusal':
      return failed('refusal', 'The model declined to answer this request.');
    case 'context_full':
      return CONTEXT_TOO_LONG;
    case 'end':
    case 'tool_calls':
    case 'other':
      return null;
  }
}

/** Why a failure that may pass is the end after all. */
function givenUp({ failure }: { readonly failure: Failure }, { attempt }: AgentContext): string {
  if (failure.kind !== 'transient') return '';
  if (asksTooLong(failure)) {
    const asked = Math.ceil((failure.retryAfterMs ?? 0) / 60_000);
    return ` It asks to wait ${asked} min; that is over the limit of ${MAX_RETRY_AFTER_MS / 60_000} min.`;
  }
  return ` Tried ${attempt} times.`;
}

const failed = (code: string, message: string): Failure => ({ kind: 'failed', code, message });

const CONTEXT_TOO_LONG = failed(
  'context_too_long',
  'The conversation no longer fits the context window of the model, not even compacted. Begin a new session, or take a model with a larger window.',
);
