// What odinconfig.json and the user's config.json may hold. docs/odinconfig.schema.json is made from here (scripts/config-schema.ts).
// Closed everywhere: an unknown key is an error. Endpoints and keys are the user's alone: a repository must not choose them.

import * as z from 'zod';
import { processorSchema } from '../llm/context/processors/registry.ts';
import { ProviderConfig } from '../llm/known-providers.ts';
import { ModelOverride } from '../llm/model-info.ts';
import { MODES } from '../shared/modes.ts';
import { hooksSchema } from './hooks/hook-config.ts';
import { toolSettingsSchema } from './middleware/middleware-config.ts';

const modelName = z.string().regex(/^\S+$/, 'must be a model as provider/name');
const count = (text: string) => z.int().min(1).describe(text);
const commands = (text: string) => z.array(z.string().trim().min(1)).describe(text);

const fileCache = z
  .strictObject({
    maxBytes: count('Contents kept in all, in bytes. Default 104857600.').optional(),
    maxFileBytes: count('The largest file that is kept, in bytes. Default 10485760.').optional(),
    maxEntries: count('Files kept at most. Default 500.').optional(),
    ttlMs: count('How long an entry is kept, in milliseconds. Default: no limit.').optional(),
    evictionPolicy: z
      .enum(['lru', 'lfu', 'hybrid'])
      .describe('What goes first when it is full. Default hybrid.')
      .optional(),
    enableAutoRefresh: z.boolean().describe('Read a file again when it changed on disk. Default true.').optional(),
  })
  .describe('The file cache.');

const edit = z
  .strictObject({
    validation: z
      .enum(['auto', 'always', 'never'])
      .describe('When the lesser model checks an edit: in doubt (auto, the default), always, never.')
      .optional(),
  })
  .describe('How edits are checked.');

const context = z
  .strictObject({
    compactAt: z
      .number()
      .min(0.2)
      .max(0.95)
      .describe("Share of the model's window at which the context is made smaller. Default 0.8.")
      .optional(),
    target: z.number().min(0.1).max(0.8).describe('Share of the window that is aimed for. Default 0.4.').optional(),
    keepRecent: z
      .int()
      .min(0)
      .max(200)
      .describe('The newest messages, which stay as they are if they fit. Default 6.')
      .optional(),
    summaryTimeoutMs: count('How long the lesser model may take to summarise, in milliseconds. Default 120000.')
      .max(3_600_000)
      .optional(),
    processors: z
      .array(processorSchema)
      .max(20)
      .describe('What makes the context smaller, in this order, until the target is reached.')
      .optional(),
  })
  .describe('How the context is kept below the window.');

const sessions = z
  .strictObject({
    keepInRedis: count('Sessions that stay in Redis; older ones become files. Default 200.').optional(),
    keepBytes: count('The most that sessions take in Redis, in bytes. Default 268435456.').optional(),
    keepDays: count('Days after which a session that nobody used becomes a file. Default 30.').optional(),
  })
  .describe("Which of the project's sessions stay in Redis. The others lie in files and come back when they are used.");

const usd = (text: string) => z.number().positive().describe(text).optional();

const budget = z
  .strictObject({
    messageUsd: usd('What one message may cost, in USD. Default: no limit.'),
    messageTokens: count('Input and output tokens of one message. Default: no limit.').optional(),
    sessionUsd: usd('What a session may cost in sum, in USD. Default: no limit.'),
    sessionTokens: count('Input and output tokens of a session in sum. Default: no limit.').optional(),
    timeoutMs: count('How long one message may take, in milliseconds. Default: no limit.').max(604_800_000).optional(),
  })
  .describe("Limits at which a message is stopped. A project's may only be lower until its file is trusted.");

export const TOOL_RULES = ['allow', 'ask', 'deny'] as const;
export type ToolRule = (typeof TOOL_RULES)[number];

/** Tools that a setting may name. A test holds them against the registry. */
export const RULED_TOOLS = [
  ...['ReadFile', 'LS', 'Glob', 'Grep', 'WriteFile', 'EditTool', 'MultiEditTool', 'InitTool'],
  ...['CommandOutput', 'TodoWrite', 'WebFetch', 'ContextSummarizer', 'AgentTool'],
] as const;

const toolNames = [...RULED_TOOLS, 'ExecuteCommand'];

const permissions = z
  .strictObject({
    ...Object.fromEntries(RULED_TOOLS.map((name) => [name, z.enum(TOOL_RULES).optional()])),
    // What a command may do is said by AllowedCommands, not by one word for all of them.
    ExecuteCommand: z.enum(['ask', 'deny']).optional(),
    // What a subagent brings from a worker; the rules for the tools that it had hold as well.
    AgentPatch: z.enum(['ask', 'deny']).optional(),
  })
  .describe(
    'What holds for a tool: deny it, ask before each call, or allow what it would ask about the inside of the project; for WebFetch, about any host. ' +
      "A project's may only make it stricter until the file is trusted.",
  );

const shared = {
  model: modelName.optional().describe('The model that plans and answers, as provider/name.'),
  smallModel: modelName.optional().describe('The lesser model for summaries, titles and checks, as provider/name.'),
  fallbackModels: z
    .array(modelName)
    .max(8)
    .optional()
    .describe('Models that are asked, in this order, when the model stays unavailable, as provider/name.'),
  defaultMode: z.enum(MODES).describe('The mode of a message that names none. Default ask.').optional(),
  titles: z
    .boolean()
    .describe('Whether the lesser model gives sessions a title, where a person types the messages. Default true.')
    .optional(),
  maxSteps: count('Steps of one message before it is stopped. Default 25.').max(1000).optional(),
  stepTimeoutMs: count('How long one answer of the model may take in all, in milliseconds. Default 1800000.')
    .min(1000)
    .max(86_400_000)
    .optional(),
  AllowedCommands: commands('Commands that run without a question, as beginnings of command lines.').optional(),
  ForbiddenCommands: commands('Commands that never run, as beginnings of command lines.').optional(),
  permissions: permissions.optional(),
  budget: budget.optional(),
  fileCache: fileCache.optional(),
  edit: edit.optional(),
  context: context.optional(),
  sessions: sessions.optional(),
  hooks: hooksSchema([...toolNames, 'AgentPatch']).optional(),
  tools: toolSettingsSchema(toolNames).optional(),
  $schema: z.string().describe('Where an editor finds the schema of this file.').optional(),
};

export const projectConfigSchema = z.strictObject(shared).describe("Odin's settings for one project.");

const worker = z
  .strictObject({
    repos: z
      .array(
        z.union([
          z.string().min(1),
          z.strictObject({
            path: z.string().min(1).describe('The project on this machine.'),
            as: z.string().min(1).describe('Its path on the machine that submits.'),
          }),
        ]),
      )
      .min(1)
      .describe('The projects that `odin worker` takes tasks of. Default: the one it is started in.')
      .optional(),
    maxMode: z.enum(MODES).describe('ask and plan: it takes no tasks that write. Default edit.').optional(),
    permission: z
      .enum(['deny', 'ask', 'accept-edits'])
      .describe(
        'ask: questions of subagents go to the user whose they are, those of tasks are denied. accept-edits: only writes of files in the working copy pass. deny: none. Default: ask for subagents, accept-edits for tasks.',
      )
      .optional(),
    allow: commands('Commands that its tasks may run, as beginnings of command lines.').optional(),
    concurrency: count('Tasks at a time. Default 4.').max(500).optional(),
    roles: z
      .array(z.enum(['agents', 'batch']))
      .min(1)
      .describe('What it takes: subagents of other Odins, tasks of batches. Default batch.')
      .optional(),
  })
  .describe('What `odin worker` does on this machine.');

const agents = z
  .strictObject({
    remote: z
      .enum(['never', 'prefer'])
      .describe('prefer: subagents go to workers that take them (docs/agents.md), when some are there. Default never.')
      .optional(),
  })
  .describe('Where subagents work.');

export const userConfigSchema = z
  .strictObject({
    ...shared,
    agents: agents.optional(),
    worker: worker.optional(),
    providerLimits: z
      .record(
        z.string().min(1),
        z.strictObject({
          concurrency: count('Calls at a time.').optional(),
          requestsPerMinute: count('Calls in a minute.').optional(),
          tokensPerMinute: count('Input and output tokens in a minute, those from a cache not counted.').optional(),
        }),
      )
      .describe('What all Odin processes together may ask of a provider, by its name.')
      .optional(),
    providers: z
      .record(z.string().regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and -'), ProviderConfig)
      .describe('Model servers by name; a model of one is named name/model.')
      .optional(),
    models: z
      .record(z.string().regex(/^[^/\s]+\/\S+$/, 'must be a model as provider/name'), ModelOverride)
      .describe('Windows and prices of models, by provider/name; they go before what Odin knows.')
      .optional(),
  })
  .describe("A user's settings for all projects.");

export type ProjectConfig = z.infer<typeof projectConfigSchema>;
export type UserConfig = z.infer<typeof userConfigSchema>;

/** The JSON schema of odinconfig.json, as published. */
export const configJsonSchema = (): object => ({
  ...z.toJSONSchema(projectConfigSchema, { io: 'input' }),
  title: 'odinconfig.json',
});
