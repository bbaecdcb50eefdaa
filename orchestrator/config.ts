// Reads odinconfig.json of the project and $ODIN_HOME/config.json of the user (JSON with comments). A file that is absent is empty; a file
// with a mistake is refused with file:line:column and what to do. What the settings mean is left to those who use them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Node, ParseErrorCode } from 'jsonc-parser';
import type * as z from 'zod';
import type { ProviderConfig } from '../llm/known-providers.ts';
import type { Mode } from '../shared/modes.ts';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { ProjectConfig, UserConfig } from './config-schema.ts';
import { nearestName } from './nearest-name.ts';

export const PROJECT_CONFIG_FILE = 'odinconfig.json';
export const USER_CONFIG_FILE = 'config.json';
const MAX_CONFIG_BYTES = 1_000_000;

/** Both files, and what holds when both speak: the project over the user, except that what either forbids is forbidden. */
export interface Config {
  readonly project: ProjectConfig;
  readonly user: UserConfig;
  readonly defaultMode: Mode;
  readonly maxSteps: number;
  /** The user's alone. The project's come from the repository and hold only once the user accepted them (SAFETY 2.3). */
  readonly allowedCommands: readonly string[];
  readonly forbiddenCommands: readonly string[];
  readonly fileCache: NonNullable<ProjectConfig['fileCache']>;
  readonly edit: NonNullable<ProjectConfig['edit']>;
  readonly providers: Readonly<Record<string, ProviderConfig>>;
}

/** Reads and settles both files. `projectRoot` and `home` are folders. */
export async function loadConfig(where: {
  readonly projectRoot: string;
  readonly home: string;
}): Promise<Outcome<Config>> {
  const [project, user] = await Promise.all([
    readConfigFile(join(where.projectRoot, PROJECT_CONFIG_FILE), 'project'),
    readConfigFile(join(where.home, USER_CONFIG_FILE), 'user'),
  ]);
  if (!project.ok) return project;
  if (!user.ok) return user;
  return ok(settle(project.value, user.value));
}

function settle(project: ProjectConfig, user: UserConfig): Config {
  return {
    project,
    user,
    defaultMode: project.defaultMode ?? user.defaultMode ?? 'ask',
    maxSteps: project.maxSteps ?? user.maxSteps ?? 25,
    allowedCommands: user.AllowedCommands ?? [],
    forbiddenCommands: [...(user.ForbiddenCommands ?? []), ...(project.ForbiddenCommands ?? [])],
    fileCache: { ...user.fileCache, ...project.fileCache },
    edit: { ...user.edit, ...project.edit },
    providers: user.providers ?? {},
  };
}

/** One file. The schema and the parser load only when there is a file to read: start-up is a feature. */
async function readConfigFile(path: string, kind: 'project' | 'user'): Promise<Outcome<UserConfig>> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return ok({});
    return invalid(`${path} cannot be read (${code}). Make it readable, or remove it.`);
  }
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
    const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
    return `${at(node?.offset ?? 0)}: ${name}: ${message}.`;
  }
  return issue.keys
    .map((key) => {
      const offset = node?.children?.find((child) => child.children?.[0]?.value === key)?.offset;
      return `${at(offset ?? node?.offset ?? 0)}: ${unknownKey(key, path, schema, kind)}`;
    })
    .join('\n');
}

function unknownKey(key: string, path: readonly (string | number)[], schema: z.ZodObject, kind: string): string {
  const where = path.length === 0 ? '' : ` in "${path.join('.')}"`;
  if (key === 'providers' && path.length === 0 && kind === 'project') {
    return `"providers" belongs in the user's own config, not in a project's: a repository must not choose where prompts are sent.`;
  }
  const known = knownKeys(schema, path);
  const near = nearestName(key, known);
  return `unknown key "${key}"${where}. ${near === null ? `Known: ${known.join(', ')}.` : `Did you mean "${near}"?`}`;
}

/** The keys that an object at this path may have, from the JSON schema: it knows optional, record and nested alike. */
function knownKeys(schema: z.ZodObject, path: readonly (string | number)[]): string[] {
  let at: JsonSchemaPart | undefined = schema.toJSONSchema({ io: 'input' }) as JsonSchemaPart;
  for (const part of path) at = at?.properties?.[part] ?? at?.additionalProperties;
  return Object.keys(at?.properties ?? {}).filter((key) => key !== '$schema');
}

interface JsonSchemaPart {
  readonly properties?: Readonly<Record<string, JsonSchemaPart>>;
  readonly additionalProperties?: JsonSchemaPart;
}

function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

/** "CloseBraceExpected" → "close brace expected". */
const wordsOf = (code: string): string => code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();

const invalid = (message: string) => fail('invalid', 'bad_config', message);
