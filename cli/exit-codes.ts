// What a process that runs Odin learns from its exit code. Documented in `odin --help` and docs/events.md.

import type { EndReason } from '../shared/limits.ts';

export const EXIT = { completed: 0, failed: 1, usage: 2, limit: 3, cancelled: 130 } as const;

/** The exit code of a message's end (SPEC O2). */
export function exitCodeOf(status: EndReason): number {
  switch (status) {
    case 'completed':
      return EXIT.completed;
    case 'step_limit':
    case 'budget':
    case 'repeated_calls':
      return EXIT.limit;
    case 'cancelled':
      return EXIT.cancelled;
    case 'planner_failure':
    case 'refused':
      return EXIT.failed;
  }
}

export const EXIT_CODES_HELP = `Exit codes:
  0    completed
  1    failed
  2    usage, or no model was found
  3    stopped by a limit (steps, budget in money, tokens or time, repeated calls)
  130  cancelled`;
