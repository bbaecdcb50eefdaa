// The providers that a `provider/name` can point to, and how each is reached: those that Odin knows, with their keys and
// base URLs from the environment or from `odin login`, and those that the user's own config defines. A repository's config never gets here.

import * as z from 'zod';
import type { ModelProvider } from '../shared/ports.ts';
import type { ProviderOptions } from './provider-options.ts';

export type ProviderKind = 'anthropic' | 'openai' | 'openai-chat';

/** A provider in the user's config. Keys stay in the environment: the config names the variable. */
export const ProviderConfig = z.strictObject({
  kind: z.enum(['anthropic', 'openai', 'openai-chat']).describe('The API that the server speaks.'),
  baseURL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("Default: the kind's own service."),
  apiKeyEnv: z.string().min(1).optional().describe('The environment variable with the key. Absent: no key is sent.'),
  headers: z.record(z.string(), z.string()).optional().describe('Sent with every request.'),
  idleTimeoutMs: z.int().positive().optional().describe('How long the server may stay silent.'),
  quietTimeoutMs: z
    .int()
    .positive()
    .optional()
    .describe('How long it may only keep the line open. Default: five times as long.'),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

export interface KnownProvider {
  readonly name: string;
  readonly kind: ProviderKind;
  readonly options: ProviderOptions;
  /** The variable that must be set before this provider can be used, when it is not. */
  readonly missingKey?: string;
  /** What to run when no model is named. */
  readonly defaults?: { readonly model: string; readonly smallModel: string };
}

/** What `odin login` has kept of a provider. A key goes to the server that it was tested with, and to no other. */
export interface StoredKey {
  /** Absent: the server wants none. */
  readonly key?: string;
  /** Absent: the provider's own service. */
  readonly baseURL?: string;
  /** Its name at the provider, for providers that have no default. */
  readonly model?: string;
  /** When it was stored; the newest one is the default. */
  readonly at: number;
}

/** By the provider's name. */
export type StoredKeys = Readonly<Record<string, StoredKey>>;

export type Env = Readonly<Record<string, string | undefined>>;

export const OLLAMA_URL = 'http://127.0.0.1:11434';

export const OPENROUTER_URL = 'https://openrouter.ai/api/v1';

/** A local server may read a long prompt for minutes before its first word. */
const LOCAL_IDLE_TIMEOUT_MS = 290_000;

export const PROVIDER_NAMES = ['anthropic', 'openai', 'compatible', 'ollama', 'openrouter'] as const;

/** The provider of that name, or undefined. The user's own definition wins over a known name, the environment over a stored key. */
export function providerNamed(
  name: string,
  env: Env,
  own: Readonly<Record<string, ProviderConfig>>,
  keys: StoredKeys = {},
): KnownProvider | undefined {
  const config = Object.hasOwn(own, name) ? own[name] : undefined;
  const stored = Object.hasOwn(keys, name) ? keys[name] : undefined;
  if (config !== undefined) return ownProvider(name, config, env, stored);
  switch (name) {
    case 'anthropic': {
      const source = { env, keyEnv: 'ANTHROPIC_API_KEY', baseURL: env['ANTHROPIC_BASE_URL'], stored };
      return withKey('anthropic', 'anthropic', source, {
        model: 'anthropic/claude-opus-5-5',
        smallModel: 'anthropic/claude-haiku-5-5',
      });
    }
    case 'openai': {
      // With OPENAI_BASE_URL set, "openai" is whatever listens there, as with every other tool.
      if (hasOtherOpenaiServer(env)) return compatible('openai', env);
      return withKey(
        'openai',
        'openai',
        { env, keyEnv: 'OPENAI_API_KEY', headers: openaiAccount(env), stored },
        {
          model: 'openai/gpt-6.1-sol',
          smallModel: 'openai/gpt-6-luna',
        },
      );
    }
    case 'compatible':
      return isSet(env['OPENAI_BASE_URL']) ? compatible('compatible', env, stored) : storedServer(stored);
    case 'ollama': {
      const options = { name: 'ollama', baseURL: `${OLLAMA_URL}/v1`, idleTimeoutMs: LOCAL_IDLE_TIMEOUT_MS };
      return { name: 'ollama', kind: 'openai-chat', options };
    }
    case 'openrouter':
      return withKey('openrouter', 'openai-chat', { env, keyEnv: 'OPENROUTER_API_KEY', fixed: OPENROUTER_URL, stored });
    default:
      return undefined;
  }
}

/** Whether OPENAI_BASE_URL points anywhere but at OpenAI. */
export function hasOtherOpenaiServer(env: Env): boolean {
  const url = env['OPENAI_BASE_URL'];
  if (!isSet(url)) return false;
  return !URL.canParse(url) || new URL(url).hostname !== 'api.openai.com';
}

/** Which of the accounts of a key pays. */
function openaiAccount(env: Env): Record<string, string> | undefined {
  const [organization, project] = [env['OPENAI_ORG_ID'], env['OPENAI_PROJECT_ID']];
  if (!isSet(organization) && !isSet(project)) return undefined;
  return {
    ...(isSet(organization) ? { 'OpenAI-Organization': organization.trim() } : {}),
    ...(isSet(project) ? { 'OpenAI-Project': project.trim() } : {}),
  };
}

/** Opens a provider. Its SDK loads with the first call, not here. */
export async function openProvider(provider: KnownProvider): Promise<ModelProvider> {
  switch (provider.kind) {
    case 'anthropic':
      return (await import('./anthropic.ts')).anthropicProvider(provider.options);
    case 'openai':
      return (await import('./openai-responses.ts')).openaiResponsesProvider(provider.options);
    case 'openai-chat':
      return (await import('./openai-chat.ts')).openaiChatProvider(provider.options);
  }
}

export const isSet = (value: string | undefined): value is string => value !== undefined && value.trim() !== '';

function compatible(name: string, env: Env, stored?: StoredKey): KnownProvider {
  const baseURL = (env['OPENAI_BASE_URL'] ?? '').trim();
  const key = env['OPENAI_API_KEY'];
  const kept = isSameServer(stored?.baseURL, baseURL) ? stored?.key : undefined;
  const apiKey = isSet(key) ? key.trim() : kept;
  return {
    name,
    kind: 'openai-chat',
    options: { name, baseURL, idleTimeoutMs: LOCAL_IDLE_TIMEOUT_MS, ...(apiKey === undefined ? {} : { apiKey }) },
  };
}

/** The compatible server of `odin login`. */
function storedServer(stored: StoredKey | undefined): KnownProvider | undefined {
  if (stored?.baseURL === undefined) return undefined;
  const options: ProviderOptions = {
    name: 'compatible',
    baseURL: stored.baseURL,
    idleTimeoutMs: LOCAL_IDLE_TIMEOUT_MS,
    ...(stored.key === undefined ? {} : { apiKey: stored.key }),
  };
  return { name: 'compatible', kind: 'openai-chat', options };
}

interface KeySource {
  readonly env: Env;
  readonly keyEnv: string;
  /** What the environment says of the server. */
  readonly baseURL?: string | undefined;
  /** Where the service is when neither says it. */
  readonly fixed?: string;
  /** For the provider's own service alone. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly stored: StoredKey | undefined;
}

function withKey(
  name: string,
  kind: ProviderKind,
  { env, keyEnv, baseURL: fromEnv, fixed, headers, stored }: KeySource,
  defaults?: KnownProvider['defaults'],
): KnownProvider {
  const key = env[keyEnv];
  const wanted = isSet(fromEnv) ? fromEnv.trim() : undefined;
  const kept = !isSet(key) && (wanted === undefined || isSameServer(stored?.baseURL, wanted)) ? stored : undefined;
  const apiKey = isSet(key) ? key.trim() : kept?.key;
  const baseURL = wanted ?? kept?.baseURL ?? fixed;
  const options: ProviderOptions = {
    name,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(headers === undefined || baseURL !== undefined ? {} : { headers }),
  };
  return {
    name,
    kind,
    options,
    ...(apiKey === undefined ? { missingKey: keyEnv } : {}),
    ...(defaults === undefined ? {} : { defaults }),
  };
}

function ownProvider(name: string, config: ProviderConfig, env: Env, stored: StoredKey | undefined): KnownProvider {
  const { kind, apiKeyEnv, baseURL, headers, idleTimeoutMs, quietTimeoutMs } = config;
  const key = apiKeyEnv === undefined ? undefined : env[apiKeyEnv];
  const kept = apiKeyEnv !== undefined && isSameServer(stored?.baseURL, baseURL) ? stored?.key : undefined;
  const apiKey = isSet(key) ? key.trim() : kept;
  const options: ProviderOptions = {
    name,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(headers === undefined ? {} : { headers }),
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    ...(quietTimeoutMs === undefined ? {} : { quietTimeoutMs }),
  };
  const missing = apiKeyEnv !== undefined && apiKey === undefined;
  return { name, kind, options, ...(missing ? { missingKey: apiKeyEnv } : {}) };
}

const isSameServer = (a: string | undefined, b: string | undefined): boolean =>
  a?.replace(/\/+$/, '') === b?.replace(/\/+$/, '');
