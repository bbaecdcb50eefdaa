// keepLastN (SPEC E4): the newest N messages stay, the rest goes. A result whose call would go takes its call along, so one more than N
// may stay.

import * as z from 'zod';
import { type Draft, newestFrom } from '../draft.ts';
import { done, type Processor } from './processor.ts';

const schema = z.strictObject({
  use: z.literal('keepLastN'),
  n: z.int().min(1).describe('Messages kept. Default 20.').default(20),
});

export const keepLastN = {
  schema,
  make:
    ({ n }: z.output<typeof schema>): Processor =>
    (draft) =>
      done(keepLast(draft, n)),
};

export function keepLast(draft: Draft, n: number): Draft {
  const from = newestFrom(draft.messages, n);
  return from === 0 ? draft : { ...draft, gone: draft.gone + from, messages: draft.messages.slice(from) };
}
