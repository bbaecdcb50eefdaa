// At most so many calls of a tool in a while (SPEC E17), counted over all sessions of this process. A call that comes too soon waits for
// its turn, visibly, and can be cancelled; one that would wait too long is refused with the time.

import { setTimeout as delay } from 'node:timers/promises';
import { fail } from '../../shared/outcome.ts';
import type { ToolMiddleware } from './tool-middleware.ts';
import type { RateLimit } from './tool-settings.ts';

const MAX_WAIT_MS = 30_000;

export interface Clock {
  now(): number;
  /** Rejects when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  wait: (ms, signal) => delay(ms, undefined, { signal }),
};

export function rateLimit({ calls, perSeconds }: RateLimit, clock: Clock = REAL_CLOCK): ToolMiddleware {
  /** When the last calls began or will begin; in order. */
  const starts: number[] = [];
  const windowMs = perSeconds * 1000;

  return {
    name: 'rate limit',
    async around({ tool, context }, next) {
      const now = clock.now();
      const gone = starts.findIndex((at) => at > now - windowMs);
      starts.splice(0, gone < 0 ? starts.length : gone);
      const first = starts.at(-calls);
      const waitMs = first === undefined ? 0 : Math.max(0, first + windowMs - now);
      if (waitMs > MAX_WAIT_MS) {
        const why = `The settings allow ${calls} calls of ${tool.name} in ${perSeconds} s, and they are used up.`;
        return fail(
          'refused',
          'rate_limited',
          `${why} Try again in ${Math.ceil(waitMs / 1000)} s, or go on without it.`,
        );
      }
      const start = now + waitMs;
      starts.push(start);
      if (waitMs > 0) {
        context.report(`${tool.name} waits ${Math.ceil(waitMs / 1000)} s: at most ${calls} calls in ${perSeconds} s`);
        try {
          await clock.wait(waitMs, context.signal);
        } catch (error) {
          starts.splice(starts.indexOf(start), 1);
          throw error;
        }
      }
      return next();
    },
  };
}
