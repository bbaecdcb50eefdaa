// What both settings files say of single tools, put together.

import type { ProjectConfig } from '../config-schema.ts';

export interface RateLimit {
  readonly calls: number;
  readonly perSeconds: number;
}

export type ToolSettings = Readonly<
  Record<string, { readonly rateLimits: readonly RateLimit[]; readonly cacheMs: number }>
>;

interface OneTool {
  readonly rateLimit?: RateLimit | undefined;
  readonly cacheMs?: number | undefined;
}

/** Both rate limits hold: the project does not lift the user's. The project's cache time wins. */
export function mergeToolSettings(user: ProjectConfig['tools'], project: ProjectConfig['tools']): ToolSettings {
  const [of, over] = [user ?? {}, project ?? {}] as readonly [Record<string, OneTool>, Record<string, OneTool>];
  return Object.fromEntries(
    [...new Set([...Object.keys(of), ...Object.keys(over)])].map((tool) => {
      const both = [of[tool] ?? {}, over[tool] ?? {}] as const;
      const rateLimits = both.flatMap(({ rateLimit }) => (rateLimit === undefined ? [] : [rateLimit]));
      return [tool, { rateLimits, cacheMs: both[1].cacheMs ?? both[0].cacheMs ?? 0 }];
    }),
  );
}
