// The answer of a message in words (SPEC O2): what the model said last, whole even when it was said in several pieces, and if it
// did not come to its end, which end it was.

import type { AgentEffect } from '../machines/agent/events.ts';
import type { JournalEvent } from '../shared/events.ts';
import { textOf } from '../shared/messages.ts';
import { inlineOf } from '../shared/payload.ts';

type Finish = Extract<AgentEffect, { type: 'finish' }>;

/** What the model has said so far, as far as it can be the answer. */
export interface Said {
  readonly text: string;
  /** It was cut off at the output limit: what comes next goes on from there. */
  readonly isCut: boolean;
}

export const NOTHING_SAID: Said = { text: '', isCut: false };

/** A fold over the events of one message, payloads inline. */
export function foldSaid(said: Said, event: JournalEvent): Said {
  if (event.type === 'msg.start') return NOTHING_SAID;
  if (event.type !== 'llm.res' || event.stop === 'context_full') return said;
  const text = textOf(inlineOf(event.parts));
  // Where a call was cut off, the text before it was whole.
  const isCut = event.stop === 'max_tokens' && event.calls.length === 0;
  if (said.isCut && event.stop !== 'tool_calls') return { text: said.text + text, isCut: isCut || text === '' };
  return { text: text === '' ? said.text : text, isCut };
}

export function answerText(finish: Finish, said: Said, maxSteps: number): string {
  const note = endNote(finish, maxSteps);
  if (note === null) return said.text || '(The model ended without an answer.)';
  return said.text === '' ? note : `${said.text}\n\n${note}`;
}

function endNote({ status, failure, steps }: Finish, maxSteps: number): string | null {
  switch (status) {
    case 'completed':
      return null;
    case 'step_limit':
      return `[Stopped: the limit of ${maxSteps} steps was reached before the task was done. A higher --max-steps lets it go further.]`;
    case 'budget':
      return `[Stopped: ${failure?.message ?? 'the budget is spent'}]`;
    case 'cancelled':
      return '[Cancelled.]';
    case 'repeated_calls':
      return '[Stopped: the model kept making the same calls with the same results.]';
    case 'refused':
    case 'planner_failure':
      return failure === null
        ? '[Failed: the model could not be asked]'
        : `[Failed at step ${steps}: ${failure.code}: ${failure.message}]`;
  }
}
