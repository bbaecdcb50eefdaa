// What the owner of a workspace tells the process that is to run one message alone (quarantine.ts, run-alone.ts).

import * as z from 'zod';
import { MODES } from '../shared/modes.ts';

export const aloneOrderSchema = z.strictObject({
  turn: z.strictObject({ sid: z.string(), seq: z.int().positive(), mode: z.enum(MODES), gen: z.int() }),
  /** For what the message itself does not name. */
  models: z.strictObject({
    model: z.string(),
    smallModel: z.string(),
    fallbackModels: z.array(z.string()).readonly(),
  }),
  permission: z.strictObject({
    mode: z.enum(['ask', 'deny', 'accept-edits']),
    timeoutMs: z.number().nullable(),
    allow: z.array(z.string()).readonly().default([]),
  }),
});

export type AloneOrder = z.infer<typeof aloneOrderSchema>;
