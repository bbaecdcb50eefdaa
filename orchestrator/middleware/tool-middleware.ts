// What wraps the execution of tools (SPEC E17): one list, the first outermost. Validation and gate come before all of it, in the same way
// with and without: middleware can refuse, delay or answer a call, never allow one.

import type { Tool, ToolContext, ToolResponse } from '../../shared/define-tool.ts';
import type { Json } from '../../shared/json.ts';
import { fail, type Outcome } from '../../shared/outcome.ts';

export interface MiddlewareCall {
  readonly tool: Tool;
  readonly args: Json;
  /** Its `signal` aborts what waits here, its `report` shows it. */
  readonly context: ToolContext;
  /** Whether the result hangs on files: it touches some. */
  readonly readsFiles: boolean;
}

export interface ToolMiddleware {
  readonly name: string;
  /** Calls `next` once, or answers itself. What comes before is before, what comes after is after. */
  around(call: MiddlewareCall, next: () => Promise<Outcome<ToolResponse>>): Promise<Outcome<ToolResponse>>;
}

/** The tool with its executions wrapped. Without middleware it is the tool itself. */
export function wrapTool(tool: Tool, list: readonly ToolMiddleware[]): Tool {
  if (list.length === 0) return tool;
  const wrapped: Tool = {
    name: tool.name,
    version: tool.version,
    description: tool.description,
    effect: tool.effect,
    timeoutMs: tool.timeoutMs,
    requiresPermission: tool.requiresPermission,
    get inputSchema() {
      return tool.inputSchema;
    },
    parse(rawArgs) {
      const parsed = tool.parse(rawArgs);
      if (!parsed.ok) return parsed;
      const { args, touches, gate, run } = parsed.value;
      const runWrapped = (context: ToolContext) => {
        const call = { tool, args, context, readsFiles: touches(context.root).length > 0 };
        const begin = list.reduceRight(
          (next, one) => () => surround(one, call, next),
          () => run(context),
        );
        return begin();
      };
      return { ok: true, value: { args, touches, gate, run: runWrapped } };
    },
  };
  return wrapped;
}

/** What the middleware itself throws is its own fault, and is said so; what the tool throws goes on as it is. */
async function surround(
  one: ToolMiddleware,
  call: MiddlewareCall,
  next: () => Promise<Outcome<ToolResponse>>,
): Promise<Outcome<ToolResponse>> {
  const thrown: { error?: unknown } = {};
  const watched = async () => {
    try {
      return await next();
    } catch (error) {
      thrown.error = error;
      throw error;
    }
  };
  try {
    return await one.around(call, watched);
  } catch (error) {
    if (error === thrown.error || call.context.signal.aborted) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return fail(
      'failed',
      'middleware_failed',
      `The middleware "${one.name}" around ${call.tool.name} broke: ${message}.`,
    );
  }
}
