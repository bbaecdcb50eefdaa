// The answer of a message in words (SPEC O2): the model's last text, and if it did not come to its end, which end it was.

import type { History } from '../llm/context/history.ts';
import type { AgentEffect } from '../machines/agent/events.ts';
import { textOf } from '../shared/messages.ts';

type Finish = Extract<AgentEffect, { type: 'finish' }>;

export function answerText(finish: Finish, history: History, maxSteps: number): string {
  const lastText = lastTextOf(history);
  const note = endNote(finish, maxSteps);
  if (note === null) return lastText || '(The model ended without an answer.)';
  return lastText === '' ? note : `${lastText}\n\n${note}`;
}

/** The newest text the model has given since the user's message. */
function lastTextOf(history: History): string {
  for (const message of history.messages.toReversed()) {
    if (message.role === 'user') return '';
    const text = message.role === 'assistant' ? textOf(message.parts) : '';
    if (text !== '') return text;
  }
  return '';
}

function endNote({ status, failure }: Finish, maxSteps: number): string | null {
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
      return `[Failed: ${failure?.message ?? 'the model could not be asked'}]`;
  }
}
