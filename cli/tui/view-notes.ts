// Events that become a line of their own in the conversation: retries, limits, hooks, a smaller context, errors.

import type { StreamEvent } from '../../shared/stream-events.ts';
import { contextLine } from '../context-line.ts';
import { troubleWords } from '../trouble-text.ts';
import type { NoteItem, View } from './view.ts';
import { addItem } from './view-items.ts';

type Told =
  | 'RetryScheduled'
  | 'ModelChanged'
  | 'AnswerCut'
  | 'ContextFull'
  | 'ContextCompacted'
  | 'LimitReached'
  | 'HookRan'
  | 'CancelRequested'
  | 'AgentError';

export function told(view: View, event: Extract<StreamEvent, { readonly type: Told }>): View {
  const note = (tone: NoteItem['tone'], text: string, activity = view.activity): View => ({
    ...addItem(view, { kind: 'note', tone, text }),
    activity,
  });
  switch (event.type) {
    case 'RetryScheduled': {
      const tries = event.attempts === 0 ? '' : ` (try ${event.attempt} of ${event.attempts})`;
      const inS = Math.max(0, Math.round((event.dueAt - event.at) / 1000));
      return note('warn', `${troubleWords(event.code)}: trying again in ${inS} s${tries}`, 'waiting to try again');
    }
    case 'ModelChanged':
      return {
        ...note('warn', `${event.from}: ${troubleWords(event.code)}; asking ${event.to} instead`),
        model: event.to,
      };
    case 'AnswerCut':
      return note(
        'warn',
        event.why === 'empty'
          ? 'the answer was empty; the model is asked to go on'
          : 'the answer was cut off at the output limit; the model is asked to go on',
      );
    case 'ContextFull':
      return { ...view, activity: 'making the context smaller' };
    case 'ContextCompacted':
      return {
        ...note('warn', contextLine(event)),
        window: view.window && { ...view.window, tokens: event.tokensAfter },
      };
    case 'LimitReached':
      return note('warn', event.message);
    case 'HookRan':
      return note(
        event.outcome === 'noted' ? 'dim' : 'warn',
        `hook ${event.name} (${event.event}) ${event.outcome}: ${event.message}`,
      );
    case 'CancelRequested':
      return note('warn', `cancelling, asked by ${event.by}`, 'cancelling');
    case 'AgentError':
      return {
        ...note('bad', `${event.step === 0 ? '' : `step ${event.step}: `}${event.message}`),
        failed: event.code,
      };
  }
}
