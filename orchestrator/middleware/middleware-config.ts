// The `tools` of the settings: a rate limit and a cache for single tools (SPEC E17).

import * as z from 'zod';

/** Tools whose result depends on their arguments, files and the web alone, and which leave nothing behind. */
export const CACHEABLE_TOOLS = ['LS', 'Glob', 'Grep', 'WebFetch'] as const;

const rateLimit = z
  .strictObject({
    calls: z.int().min(1).max(10_000).describe('Calls at most.'),
    perSeconds: z.number().positive().max(86_400).describe('In this time.'),
  })
  .describe('How often it may be called. What is too much waits, for half a minute at most.');

const cacheMs = z
  .int()
  .min(0)
  .max(86_400_000)
  .describe('How long the result of the same call is used again, in milliseconds. Default 0: never.');

export function toolSettingsSchema(tools: readonly string[]) {
  const isCacheable = (name: string) => (CACHEABLE_TOOLS as readonly string[]).includes(name);
  return z
    .strictObject(
      Object.fromEntries(
        tools.map((name) => [
          name,
          (isCacheable(name)
            ? z.strictObject({ rateLimit: rateLimit.optional(), cacheMs: cacheMs.optional() })
            : z.strictObject({ rateLimit: rateLimit.optional() })
          ).optional(),
        ]),
      ),
    )
    .describe('Settings of single tools.');
}
