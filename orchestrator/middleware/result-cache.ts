// Uses the result of the same call again, for a while (SPEC E17). One cache for each session. A result that hangs on files is forgotten
// as soon as anything is written or run, whoever does it in this process; what others do to files is seen when the time is over.

import type { ToolResponse } from '../../shared/define-tool.ts';
import { type Outcome, ok } from '../../shared/outcome.ts';
import type { ToolMiddleware } from './tool-middleware.ts';

const MAX_ENTRIES = 200;

/** Counts what may have changed files: begins and ends of calls that write or run, and everything else that says so. */
export interface ChangeCount {
  count: number;
  /** Calls that may be changing files just now. */
  open: number;
}

interface Entry {
  readonly response: ToolResponse;
  readonly at: number;
  /** Null: it hangs on no files. */
  readonly count: number | null;
}

/** `ttlMs` of a tool: 0 keeps nothing. */
export function resultCache(
  ttlMs: (tool: string) => number,
  changes: ChangeCount,
  now: () => number = () => performance.now(),
): ToolMiddleware {
  const entries = new Map<string, Entry>();

  return {
    name: 'cache',
    async around({ tool, args, context, readsFiles }, next) {
      const limit = ttlMs(tool.name);
      if (tool.effect !== 'read' || limit === 0) return next();
      const isBusy = () => readsFiles && (changes.open > 0 || context.exec.list().some(({ running }) => running));
      const key = JSON.stringify([tool.name, tool.version, context.mode, args]);
      const kept = entries.get(key);
      if (kept && !isBusy() && now() - kept.at < limit && (kept.count ?? changes.count) === changes.count) {
        return ok({ ...kept.response, description: `${kept.response.description} (as before)` });
      }
      entries.delete(key);
      const { count } = changes;
      const wasBusy = isBusy();
      const outcome: Outcome<ToolResponse> = await next();
      if (!outcome.ok || (readsFiles && (wasBusy || isBusy() || changes.count !== count))) return outcome;
      entries.set(key, { response: outcome.value, at: now(), count: readsFiles ? count : null });
      for (const oldest of entries.keys()) {
        if (entries.size <= MAX_ENTRIES) break;
        entries.delete(oldest);
      }
      return outcome;
    },
  };
}

/** Tells the caches of what may change files. Around every tool, outside of all other middleware. */
export const countChanges = (changes: ChangeCount): ToolMiddleware => ({
  name: 'changes',
  async around({ tool }, next) {
    if (tool.effect === 'read') return next();
    changes.count += 1;
    changes.open += 1;
    try {
      return await next();
    } finally {
      changes.open -= 1;
      changes.count += 1;
    }
  },
});
