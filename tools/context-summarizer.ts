// ContextSummarizer (SPEC O21): the planner asks for a smaller context. The tool itself changes nothing: its wish is in the journal with
// its result, and the orchestrator compacts before the next step.

import * as z from 'zod';
import { defineTool } from '../shared/define-tool.ts';
import { ok } from '../shared/outcome.ts';

const schema = z.strictObject({
  focus: z
    .string()
    .trim()
    .max(1000)
    .optional()
    .describe('What the summary must keep in particular, such as a finding you still need'),
});

export const contextSummarizerTool = defineTool({
  name: 'ContextSummarizer',
  version: '1',
  description:
    'Replaces the older messages of this conversation by a summary, to make room. This happens by itself before the context window is ' +
    'full; use it when the user asks for it, or when a part of the work is finished and its details are no longer needed.',
  schema,
  effect: 'read',
  execute: ({ focus = '' }) =>
    Promise.resolve(
      ok({
        text: `The older messages are summarised before your next step${focus === '' ? '' : `, with this in mind: ${focus}`}. Todos and the user's messages stay; read a file again if you need its text.`,
        description: 'Asked for a smaller context',
        compact: focus,
      }),
    ),
});
