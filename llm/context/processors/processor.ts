// What a message processor is (SPEC E4): a pure step from one draft of the conversation to a smaller one, named in the settings.
// One that needs the lesser model does not ask it: it says what is to be summarised, and what the draft is with the summary.

import type { ModelMessage } from '../../../shared/messages.ts';
import type { Draft } from '../draft.ts';
import type { Task } from '../relevance.ts';

/** What a processor may know besides the conversation. */
export interface About {
  readonly task: Task;
  /** The newest messages, which only keepLastN may take out, and nobody changes. */
  readonly keepRecent: number;
  /** About how many characters have to go. */
  readonly excessChars: number;
}

export type Step =
  | { readonly type: 'done'; readonly draft: Draft }
  | {
      readonly type: 'summarise';
      readonly older: readonly ModelMessage[];
      /** The draft with the summary; with null, when there is none, it falls back to truncation. */
      apply(summary: string | null): Draft;
    };

export type Processor = (draft: Draft, about: About) => Step;

export const done = (draft: Draft): Step => ({ type: 'done', draft });
