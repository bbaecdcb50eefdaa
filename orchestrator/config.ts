// Reads odinconfig.json of the project and $ODIN_HOME/config.json of the user (JSON with comments). A file that is absent is empty; a file
// with a mistake is refused with file:line:column and what to do. What the settings mean is left to those who use them.

import { join } from 'node:path';
import type { Node, ParseErrorCode } from 'jsonc-parser';
import type * as z from 'zod';
import type { ContextSettings } from '../agent/loop-deps.ts';
import type { ProviderConfig } from '../llm/known-providers.ts';
import type { ModelOverride } from '../llm/model-info.ts';
import type { Mode } from '../shared/modes.ts';
import { fail, type Outcome, ok, UserError } from '../shared/outcome.ts';
import type { ProjectConfig, ToolRule, UserConfig } from './config-schema.ts';
import { type ConfiguredHook, configuredHooks } from './hooks/configured-hooks.ts';
import { mergeToolSettings, type ToolSettings } from './middleware/tool-settings.ts';
import { nearestName } from './nearest-name.ts';
import { readConfigText, type TrustStatus, trustOf } from './trust.ts';

export const PROJECT_CONFIG_FILE = 'odinconfig.json';
export const USER_CONFIG_FILE = 'config.json';
const MAX_CONFIG_BYTES = 1_000_000;

/**
 * Both files, and what holds when both speak: the project over the user, except that what either forbids is forbidden. What of the
 * project's file waits until the user has accepted it is decided in `settle` and nowhere else.
 */
export interface Config {
  readonly project: ProjectConfig;
  readonly user: UserConfig;
  readonly defaultMode: Mode;
  /** Whether sessions get a title by the lesser model. */
  readonly titles: boolean;
  readonly maxSteps: number;
  readonly stepTimeoutMs: number;
  /** The project's come from the repository and hold only once the user accepted them (SAFETY 2.3). */
  readonly allowedCommands: readonly string[];
  readonly forbiddenCommands: readonly string[];
  readonly toolRules: Readonly<Partial<Record<string, ToolRule>>>;
  readonly trust: Trust;
  readonly fileCache: NonNullable<ProjectConfig['fileCache']>;
  readonly edit: NonNullable<ProjectConfig['edit']>;
  readonly sessions: NonNullable<ProjectConfig['sessions']>;
  readonly context: ContextSettings;
  /** The user's, then the project's: those only once its file is trusted. */
  readonly hooks: readonly ConfiguredHook[];
  /** By tool. */
  readonly tools: ToolSettings;
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  /** What all processes together may ask of a provider. */
  readonly providerLimits: NonNullable<UserConfig['providerLimits']>;
  /** What `odin worker` does on this machine: the user's alone. */
  readonly worker: NonNullable<UserConfig['worker']>;
  /** Where subagents work: the user's alone. */
  readonly agents: NonNullable<UserConfig['agents']>;
  readonly budget: BudgetSettings;
  /** What the user says of models' windows and prices. */
  readonly models: Readonly<Record<string, ModelOverride>>;
}

/** Limits at which a message is stopped (SPEC E7). Absent: none. */
export type BudgetSettings = NonNullable<ProjectConfig['budget']>;

export interface Trust {
  readonly status: TrustStatus;
  /** Names of the settings that do not hold because the file is not trusted. */
  readonly waiting: readonly string[];
}

/** Reads and settles both files. `projectRoot` and `home` are folders. */
export async function loadConfig(where: {
  readonly projectRoot: string;
  readonly home: string;
  /** The folder whose trust holds for it. Default: itself. */
  readonly trustedAs?: string;
}): Promise<Outcome<Config>> {
  const { projectRoot, home } = where;
  const projectFile = join(projectRoot, PROJECT_CONFIG_FILE);
  const userFile = join(home, USER_CONFIG_FILE);
  try {
    const text = readConfigText(projectFile);
    const [project, user] = await Promise.all([
      readConfig(text, projectFile, 'project'),
      readConfig(readConfigText(userFile), userFile, 'user'),
    ]);
    if (!project.ok) return project;
    if (!user.ok) return user;
    return ok(settle(project.value, user.value, trustOf(home, where.trustedAs ?? projectRoot, text)));
  } catch (error) {
    if (error instanceof UserError) return invalid(error.message);
    throw error;
  }
}

function settle(project: ProjectConfig, user: UserConfig, status: TrustStatus): Config {
  const isTrusted = status === 'trusted';
  const loosened = isTrusted ? [] : looserRules(project, user);
  const { budget, raised } = settleBudget(project.budget ?? {}, user.budget ?? {}, isTrusted);
  const projectHooks = configuredHooks(project.hooks, PROJECT_CONFIG_FILE);
  const waiting = [
    ...(isTrusted || (project.AllowedCommands ?? []).length === 0 ? [] : ['AllowedCommands']),
    ...loosened.map((tool) => `permissions.${tool}`),
    ...raised.map((limit) => `budget.${limit}`),
    ...(isTrusted ? [] : [...new Set(projectHooks.map(({ event }) => `hooks.${event}`))]),
  ];
  return {
    project,
    user,
    defaultMode: project.defaultMode ?? user.defaultMode ?? 'ask',
    titles: project.titles ?? user.titles ?? true,
    maxSteps: project.maxSteps ?? user.maxSteps ?? 25,
    stepTimeoutMs: project.stepTimeoutMs ?? user.stepTimeoutMs ?? 30 * 60_000,
    allowedCommands: [...(user.AllowedCommands ?? []), ...(isTrusted ? (project.AllowedCommands ?? []) : [])],
    forbiddenCommands: [...(user.ForbiddenCommands ?? []), ...(project.ForbiddenCommands ?? [])],
    toolRules: {
      ...user.permissions,
      ...Object.fromEntries(Object.entries(project.permissions ?? {}).filter(([tool]) => !loosened.includes(tool))),
    },
    trust: { status, waiting },
    fileCache: { ...user.fileCache, ...project.fileCache },
    edit: { ...user.edit, ...project.edit },
    sessions: { ...user.sessions, ...project.sessions },
    context: contextSettings({ ...user.context, ...project.context }),
    hooks: [...configuredHooks(user.hooks, USER_CONFIG_FILE), ...(isTrusted ? projectHooks : [])],
    tools: mergeToolSettings(user.tools, project.tools),
    providers: user.providers ?? {},
    worker: user.worker ?? {},
    agents: user.agents ?? {},
    providerLimits: user.providerLimits ?? {},
    budget,
    models: user.models ?? {},
  };
}

function contextSettings(own: NonNullable<ProjectConfig['context']>): ContextSettings {
  const { compactAt = 0.8, target = 0.4, keepRecent = 6, summaryTimeoutMs = 120_000, processors } = own;
  // A target above the mark would be no target.
  return { compactAt, target: Math.min(target, compactAt * 0.9), keepRecent, summaryTimeoutMs, processors };
}

/** The project's limits; those above the user's hold only once it is trusted, since it is the user who pays. */
function settleBudget(
  project: BudgetSettings,
  user: BudgetSettings,
  isTrusted: boolean,
): { readonly budget: BudgetSettings; readonly raised: readonly string[] } {
  const own: Readonly<Record<string, number | undefined>> = user;
  const raised = Object.entries(project)
    .filter(([limit, value]) => !isTrusted && (own[limit] ?? Number.POSITIVE_INFINITY) < (value ?? 0))
    .map(([limit]) => limit);
  const kept = Object.fromEntries(Object.entries(project).filter(([limit]) => !raised.includes(limit)));
  return { budget: { ...user, ...kept }, raised };
}

/** Tools for which the project's rule is less strict than what holds without it. */
function looserRules(project: ProjectConfig, user: UserConfig): readonly string[] {
  const strictness = (rule: ToolRule | undefined): number =>
    rule === undefined ? 1 : { allow: 0, ask: 2, deny: 3 }[rule];
  const own: Partial<Record<string, ToolRule>> = user.permissions ?? {};
  return Object.entries(project.permissions ?? {})
    .filter(([tool, rule]) => strictness(rule) < strictness(own[tool]))
    .map(([tool]) => tool);
}

/** One file's text. The schema and the parser load only when there is one: start-up is a feature. */
async function readConfig(text: string | null, path: string, kind: 'project' | 'user'): Promise<Outcome<UserConfig>> {
  if (text === null) return ok({});
  if (text.length > MAX_CONFIG_BYTES)
    return invalid(`${path} is over 1 MB: that is no settings file. Remove or shorten it.`);
  return parseConfig(text.replace(/^\ufeff/, ''), path, kind);
}

/** The settings in a text; `path` is what a mistake is reported under. */
export async function parseConfig(text: string, path: string, kind: 'project' | 'user'): Promise<Outcome<UserConfig>> {
  const [jsonc, { projectConfigSchema, userConfigSchema }] = await Promise.all([
    import('jsonc-parser'),
    import('./config-schema.ts'),
  ]);
  const at = (offset: number) => `${path}:${lineAndColumn(text, offset)}`;
  if (text.trim() === '') return ok({});
  const errors: { error: ParseErrorCode; offset: number; length: number }[] = [];
  const tree = jsonc.parseTree(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first !== undefined || tree === undefined) {
    const what = first === undefined ? 'no JSON in it' : wordsOf(jsonc.printParseErrorCode(first.error));
    return invalid(`${at(first?.offset ?? 0)}: not valid JSON (${what}). Correct it there.`);
  }
  const badKey = findBadKey(tree);
  if (badKey !== null) return invalid(`${at(badKey.offset)}: ${badKey.message}`);
  const parsed = (kind === 'user' ? userConfigSchema : projectConfigSchema).safeParse(jsonc.getNodeValue(tree));
  if (parsed.success) return ok(parsed.data as UserConfig);
  const schema = kind === 'user' ? userConfigSchema : projectConfigSchema;
  const lines = parsed.error.issues.map((issue) =>
    describeIssue(issue, tree, schema, kind, at, jsonc.findNodeAtLocation),
  );
  return invalid(lines.join('\n'));
}

/** A key that JSON allows and a setting must not have: twice the same, or one that reaches an object's prototype. */
function findBadKey(node: Node): { readonly offset: number; readonly message: string } | null {
  const seen = new Set<string>();
  for (const child of node.children ?? []) {
    if (node.type === 'object') {
      const key = child.children?.[0];
      const name = String(key?.value);
      if (key !== undefined && ['__proto__', 'constructor', 'prototype'].includes(name)) {
        return { offset: key.offset, message: `the key "${name}" is never allowed. Remove it.` };
      }
      if (key !== undefined && seen.has(name)) {
        return { offset: key.offset, message: `"${name}" is set twice. Keep one of them.` };
      }
      seen.add(name);
    }
    const below = findBadKey(child);
    if (below !== null) return below;
  }
  return null;
}

function describeIssue(
  issue: z.core.$ZodIssue,
  tree: Node,
  schema: z.ZodObject,
  kind: 'project' | 'user',
  at: (offset: number) => string,
  find: (root: Node, path: (string | number)[]) => Node | undefined,
): string {
  const path = issue.path.filter((part) => typeof part !== 'symbol');
  const node = find(tree, path);
  const name = path.length === 0 ? 'the file' : `"${path.join('.')}"`;
  if (issue.code !== 'unrecognized_keys') {
    // A record's own key is reported at the key, whose message is one level down.
    const message =
      issue.code === 'invalid_key'
        ? (issue.issues[0]?.message ?? issue.message)
        : issue.code === 'invalid_union'
          ? noSuchName(schema, path, node?.value)
          : issue.message;
    return `${at(node?.offset ?? 0)}: ${name}: ${message}.`;
  }
  return issue.keys
    .map((key) => {
      const offset = node?.children?.find((child) => child.children?.[0]?.value === key)?.offset;
      return `${at(offset ?? node?.offset ?? 0)}: ${unknownKey(key, path, schema, kind, useOf(node))}`;
    })
    .join('\n');
}

function unknownKey(
  key: string,
  path: readonly (string | number)[],
  schema: z.ZodObject,
  kind: string,
  use: unknown,
): string {
  const where = path.length === 0 ? '' : ` in "${path.join('.')}"`;
  const why = path.length === 0 && kind === 'project' ? USERS_OWN.get(key) : undefined;
  if (why !== undefined) return `"${key}" belongs in the user's own config, not in a project's: ${why}.`;
  if (key === 'streamDelta' && path.join() === 'hooks') {
    return 'a command cannot watch "streamDelta": it would be started for every few words. Watch "afterLLM", or read `odin attach --json`.';
  }
  const known = knownKeys(schema, path, use);
  const near = nearestName(key, known);
  return `unknown key "${key}"${where}. ${near === null ? `Known: ${known.join(', ')}.` : `Did you mean "${near}"?`}`;
}

const USERS_OWN: ReadonlyMap<string, string> = new Map([
  ['providers', 'a repository must not choose where prompts are sent'],
  ['worker', 'a repository must not say what a worker may do'],
  ['agents', 'a repository must not say where its files go'],
  ['providerLimits', 'it holds for all projects'],
  ['models', 'a repository must not say what a model costs'],
]);

/** A name in `use` that is none of those there are. */
function noSuchName(schema: z.ZodObject, path: readonly (string | number)[], name: unknown): string {
  const names =
    schemaAt(schema, path.slice(0, -1))?.oneOf?.flatMap((one) => one.properties?.['use']?.const ?? []) ?? [];
  const near = typeof name === 'string' ? nearestName(name, names) : null;
  return `must be one of ${names.join(', ')}${near === null ? '' : `: did you mean "${near}"`}`;
}

/** The keys that an object at this path may have, from the JSON schema: it knows optional, record and nested alike. */
function knownKeys(schema: z.ZodObject, path: readonly (string | number)[], use: unknown): string[] {
  const at = schemaAt(schema, path);
  const one = at?.oneOf?.find((branch) => branch.properties?.['use']?.const === use) ?? at;
  return Object.keys(one?.properties ?? {}).filter((key) => key !== '$schema');
}

function schemaAt(schema: z.ZodObject, path: readonly (string | number)[]): JsonSchemaPart | undefined {
  let at: JsonSchemaPart | undefined = schema.toJSONSchema({ io: 'input' }) as JsonSchemaPart;
  for (const part of path) at = at?.properties?.[part] ?? at?.items ?? at?.additionalProperties;
  return at;
}

const useOf = (node: Node | undefined): unknown =>
  node?.children?.find((child) => child.children?.[0]?.value === 'use')?.children?.[1]?.value;

interface JsonSchemaPart {
  readonly oneOf?: readonly JsonSchemaPart[];
  readonly const?: string;
  readonly properties?: Readonly<Record<string, JsonSchemaPart>>;
  readonly additionalProperties?: JsonSchemaPart;
  readonly items?: JsonSchemaPart;
}

function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

/** "CloseBraceExpected" → "close brace expected". */
const wordsOf = (code: string): string => code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();

const invalid = (message: string) => fail('invalid', 'bad_config', message);
