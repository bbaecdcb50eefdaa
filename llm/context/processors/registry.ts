// All message processors by name (SPEC E4), and those that are applied when the settings name none: cheapest first, what loses most
// last. A new processor is one file, a line in the schema and a line in `makeProcessor`.

import * as z from 'zod';
import { dropLessRelevant } from './drop-less-relevant.ts';
import { keepLastN } from './keep-last-n.ts';
import type { Processor } from './processor.ts';
import { summarizeOlderThanN } from './summarize-older-than-n.ts';
import { truncateLongTools } from './truncate-long-tools.ts';

/** One entry of `context.processors` in the settings. */
export const processorSchema = z.discriminatedUnion('use', [
  truncateLongTools.schema,
  dropLessRelevant.schema,
  summarizeOlderThanN.schema,
  keepLastN.schema,
]);

export type ProcessorSettings = z.output<typeof processorSchema>;

export const DEFAULT_PROCESSORS: readonly ProcessorSettings[] = (
  ['truncateLongTools', 'dropLessRelevant', 'summarizeOlderThanN', 'keepLastN'] as const
).map((use) => processorSchema.parse({ use }));

export function makeProcessor(settings: ProcessorSettings): Processor {
  switch (settings.use) {
    case 'truncateLongTools':
      return truncateLongTools.make(settings);
    case 'dropLessRelevant':
      return dropLessRelevant.make(settings);
    case 'summarizeOlderThanN':
      return summarizeOlderThanN.make(settings);
    case 'keepLastN':
      return keepLastN.make(settings);
  }
}
