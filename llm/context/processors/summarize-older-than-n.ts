// summarizeOlderThanN (SPEC E4, O21): what is older than the newest N messages is replaced by a summary of the lesser model. Without one
// it stays, its long tool results cut short.

import * as z from 'zod';
import { newestFrom } from '../draft.ts';
import { done, type Processor } from './processor.ts';
import { MIN_CHARS, truncateTools } from './truncate-long-tools.ts';

const schema = z.strictObject({
  use: z.literal('summarizeOlderThanN'),
  n: z.int().min(0).describe('The newest messages, which stay as they are. Default 12.').default(12),
});

export const summarizeOlderThanN = {
  schema,
  make:
    ({ n }: z.output<typeof schema>): Processor =>
    (draft, { keepRecent }) => {
      const kept = Math.max(n, keepRecent);
      const from = newestFrom(draft.messages, kept);
      if (from === 0) return done(draft);
      return {
        type: 'summarise',
        older: draft.messages.slice(0, from),
        apply: (summary) =>
          summary === null || summary.trim() === ''
            ? truncateTools(draft, MIN_CHARS, kept)
            : { summary: summary.trim(), gone: draft.gone + from, messages: draft.messages.slice(from) },
      };
    },
};
