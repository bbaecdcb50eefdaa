// What a tool is (SPEC O9, G5, ARCHITECTURE 7). A tool is one file that calls defineTool, one line in tools/registry.ts and
// one test file. It reaches the world only through its context; validation, time limit and capping are done around it, once.

import * as z from 'zod';
import type { AgentsPort } from './agents-port.ts';
import type { QuestionPath } from './events.ts';
import type { ExecPort } from './exec-port.ts';
import type { FilesPort } from './files-port.ts';
import type { OpId } from './ids.ts';
import type { Json, JsonObject } from './json.ts';
import type { ToolSpec } from './messages.ts';
import type { Mode } from './modes.ts';
import type { Outcome } from './outcome.ts';
import type { SmallModelPort } from './ports.ts';
import type { SearchPort } from './search-port.ts';
import type { Todo } from './state.ts';
import type { WebPort } from './web-port.ts';

/** What an execution may change: nothing, files of the project, or anything a program can. Picks lock, gate and resume rule. */
export type ToolEffect = 'read' | 'write' | 'run';

/** What a tool gives back (SPEC O9): text for the model, data for programs, a short description for people. */
export interface ToolResponse {
  readonly text: string;
  readonly description: string;
  readonly affectedFiles?: readonly string[];
  readonly data?: Json;
  /** TodoWrite's new list: the one piece of State that a tool may replace. */
  readonly todos?: readonly Todo[];
  /** ContextSummarizer's wish: the context is compacted before the next step, with this in mind. */
  readonly compact?: string;
}

/** A path that a call reads or writes, absolute. Calls of one step that touch the same path run in order (SPEC E12). */
export interface Touch {
  readonly path: string;
  readonly access: 'read' | 'write';
}

/**
 * The verdict of a preHook. `ask` goes to the user through the permission port; `deny` is shown to the model. `args` replace the
 * call's own when it runs: what was judged, such as a real path, is what is done.
 */
export type Gate<Args> =
  | { readonly verdict: 'allow'; readonly args?: Args }
  | {
      readonly verdict: 'ask';
      readonly title: string;
      readonly reasons: readonly string[];
      readonly detail: string;
      readonly args?: Args;
      readonly paths?: readonly QuestionPath[];
      /** The AllowedCommands entry that would cover this call, when there is a narrow one (SAFETY 2.3). */
      readonly rule?: string;
      /** The host that is asked about; an answer for the session covers it (SAFETY 2.2). */
      readonly host?: string;
    }
  | { readonly verdict: 'deny'; readonly code: string; readonly message: string };

/** auto: in doubt. never: the certain checks alone. */
export type EditValidation = 'auto' | 'always' | 'never';

/** Beginnings of command lines that run without a question, and that never run (SPEC O18). */
export interface CommandRules {
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
  /** Why none of them covers the network any more: whose words the session has read (SAFETY 2.3). Absent: they do. */
  readonly tainted?: string;
}

/** All that a tool may reach. */
export interface ToolContext {
  /** Real path of the project's root. Outside of it is outside (SPEC O23). */
  readonly root: string;
  readonly mode: Mode;
  readonly op: OpId;
  readonly files: FilesPort;
  readonly search: SearchPort;
  readonly exec: ExecPort;
  readonly model: SmallModelPort;
  readonly web: WebPort;
  /** Only the main agent's calls have it: no subagent starts another. */
  readonly agents?: AgentsPort;
  /** `edit.validation` of the settings: when the lesser model checks an edit (SPEC O16). */
  readonly editValidation: EditValidation;
  readonly signal: AbortSignal;
  todos(): readonly Todo[];
  /** AllowedCommands and ForbiddenCommands as they hold now. */
  commandRules(): CommandRules;
  /** A live line for the user (SPEC O5's `updates`). */
  report(text: string): void;
  /** Journals the intent of an effect that must not be repeated; resolves when it is durable. Await it before the effect. */
  intend(intent: Json): Promise<void>;
}

export interface ToolDefinition<Args> {
  readonly name: string;
  /** In the journal with every call (SPEC E13). */
  readonly version: string;
  readonly description: string;
  readonly schema: z.ZodType<Args>;
  readonly effect: ToolEffect;
  readonly timeoutMs?: number;
  touches?(args: Args, root: string): readonly Touch[];
  preHook?(args: Args, ctx: ToolContext): Promise<Gate<Args>>;
  execute(args: Args, ctx: ToolContext): Promise<Outcome<ToolResponse>>;
  postHook?(outcome: Outcome<ToolResponse>, args: Args): Outcome<ToolResponse>;
}

/** A tool with its arguments' type put away, as the registry and the turn hold it. */
export interface Tool {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly effect: ToolEffect;
  readonly timeoutMs: number;
  /** SPEC G5: true when a call can need the user's permission. */
  readonly requiresPermission: boolean;
  readonly inputSchema: JsonObject;
  /** Checks raw JSON text against the schema (SPEC E10). A failure's message says what to correct. */
  parse(rawArgs: string): Outcome<ParsedCall>;
}

/** A call whose arguments hold. The closures keep the arguments' type inside. */
export interface ParsedCall {
  readonly args: Json;
  touches(root: string): readonly Touch[];
  gate(ctx: ToolContext): Promise<Gate<Json>>;
  run(ctx: ToolContext): Promise<Outcome<ToolResponse>>;
}

export const DEFAULT_TOOL_TIMEOUT_MS = 120_000;

/** Makes a tool of its definition. Its schema is closed: unknown arguments are an error the model can correct. */
export function defineTool<Args>(definition: ToolDefinition<Args>): Tool {
  let inputSchema: JsonObject | undefined;
  return {
    name: definition.name,
    version: definition.version,
    description: definition.description,
    effect: definition.effect,
    timeoutMs: definition.timeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS,
    requiresPermission: definition.effect !== 'read',
    get inputSchema() {
      inputSchema ??= jsonSchemaOf(definition.schema);
      return inputSchema;
    },
    parse: (rawArgs) => parseCall(definition, rawArgs),
  };
}

export const toolSpec = (tool: Tool): ToolSpec => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
});

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest as JsonObject;
}

function parseCall<Args>(tool: ToolDefinition<Args>, rawArgs: string): Outcome<ParsedCall> {
  let raw: unknown;
  try {
    raw = JSON.parse(rawArgs === '' ? '{}' : rawArgs);
  } catch (error) {
    return invalid(
      `The arguments of ${tool.name} are not valid JSON: ${(error as Error).message}. Send the call again.`,
    );
  }
  const parsed = tool.schema.safeParse(raw);
  if (!parsed.success) {
    return invalid(
      `The arguments of ${tool.name} do not fit its schema:\n${z.prettifyError(parsed.error)}\nCorrect them and call again.`,
    );
  }
  return { ok: true, value: bindCall(tool, parsed.data) };
}

function bindCall<Args>(tool: ToolDefinition<Args>, given: Args): ParsedCall {
  let args = given;
  return {
    args: given as Json,
    touches: (root) => tool.touches?.(args, root) ?? [],
    async gate(ctx) {
      const gate: Gate<Args> = (await tool.preHook?.(args, ctx)) ?? { verdict: 'allow' };
      if (gate.verdict !== 'deny' && gate.args !== undefined) args = gate.args;
      return gate as Gate<Json>;
    },
    async run(ctx) {
      const outcome = await tool.execute(args, ctx);
      return tool.postHook?.(outcome, args) ?? outcome;
    },
  };
}

const invalid = (message: string): Outcome<never> => ({
  ok: false,
  failure: { kind: 'invalid', code: 'bad_arguments', message },
});
