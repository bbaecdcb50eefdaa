// The tools of a mode with what the settings and the caller put around them (SPEC E17): the caller's middleware outermost, then the cache,
// then the rate limits, so that a result that is used again counts as no call.

import type { Tool } from '../../shared/define-tool.ts';
import type { Mode } from '../../shared/modes.ts';
import { getModeTools } from '../../tools/registry.ts';
import { rateLimit } from './rate-limit.ts';
import { type ChangeCount, countChanges, resultCache } from './result-cache.ts';
import { type ToolMiddleware, wrapTool } from './tool-middleware.ts';
import type { ToolSettings } from './tool-settings.ts';

export interface Toolbox {
  /** For a message that begins: what lay between it and the one before may have changed files. */
  tools(sid: string, mode: Mode, isSubAgent?: boolean): readonly Tool[];
  /** Files may have changed by something that is no call, such as a hook. */
  filesMayHaveChanged(): void;
}

/** Sessions whose caches are kept. */
const KEPT_SESSIONS = 32;

export function createToolbox(settings: ToolSettings, own: readonly ToolMiddleware[]): Toolbox {
  const changes: ChangeCount = { count: 0, open: 0 };
  const limits = new Map(
    Object.entries(settings).map(([tool, { rateLimits }]) => [tool, rateLimits.map((one) => rateLimit(one))]),
  );
  const isCached = Object.values(settings).some(({ cacheMs }) => cacheMs > 0);
  const isPlain = own.length === 0 && !isCached && [...limits.values()].every((list) => list.length === 0);
  const wrapped = new Map<string, Map<Mode, readonly Tool[]>>();

  const wrapAll = (mode: Mode, isSubAgent: boolean, cache: ToolMiddleware | null): readonly Tool[] =>
    getModeTools(mode, isSubAgent).map((tool) =>
      wrapTool(tool, [
        ...(cache ? [countChanges(changes)] : []),
        ...own,
        ...(cache && (settings[tool.name]?.cacheMs ?? 0) > 0 ? [cache] : []),
        ...(limits.get(tool.name) ?? []),
      ]),
    );

  return {
    tools(sid, mode, isSubAgent = false) {
      if (isPlain) return getModeTools(mode, isSubAgent);
      changes.count += 1;
      const known = wrapped.get(sid) ?? new Map<Mode, readonly Tool[]>();
      let tools = known.get(mode);
      if (!tools) {
        tools = wrapAll(
          mode,
          isSubAgent,
          isCached ? resultCache((tool) => settings[tool]?.cacheMs ?? 0, changes) : null,
        );
        known.set(mode, tools);
      }
      wrapped.delete(sid);
      wrapped.set(sid, known);
      for (const oldest of wrapped.keys()) {
        if (wrapped.size <= KEPT_SESSIONS) break;
        wrapped.delete(oldest);
      }
      return tools;
    },
    filesMayHaveChanged() {
      changes.count += 1;
    },
  };
}
