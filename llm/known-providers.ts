// The providers that a `provider/name` can point to, and how each is reached: those that Odin knows, with their keys and
// base URLs from the environment, and those that the user's own config defines. A repository's config never gets here.

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

export type Env = Readonly<Record<string, string | undefined>>;

export const OLLAMA_URL = 'http://127.0.0.1:11434';

/** A local server may read a long prompt for minutes before its first word. */
const LOCAL_IDLE_TIMEOUT_MS = 290_000;

export const PROVIDER_NAMES = ['anthropic', 'openai', 'compatible', 'ollama', 'openrouter'] as const;

/** The provider of that name, or undefined. The user's own definition wins over a known name. */
export function providerNamed(
  name: string,
  env: Env,
  own: Readonly<Record<string, ProviderConfig>>,
): KnownProvider | undefined {
  const config = Object.hasOwn(own, name) ? own[name] : undefined;
  if (config !== undefined) return ownProvider(name, config, env);
  switch (name) {
    case 'anthropic':
      return withKey('anthropic', 'anthropic', 'ANTHROPIC_API_KEY', env, env['ANTHROPIC_BASE_URL'], {
        model: 'anthropic/claude-opus-5-5',
        smallModel: 'anthropic/claude-haiku-5-5',
      });
    case 'openai': {
      // With OPENAI_BASE_URL set, "openai" is whatever listens there, as with every other tool.
      if (hasOtherOpenaiServer(env)) return compatible('openai', env);
      return withKey('openai', 'openai', 'OPENAI_API_KEY', env, undefined, {
        model: 'openai/gpt-6.1-sol',
        smallModel: 'openai/gpt-6-luna',
      });
    }
    case 'compatible':
      return isSet(env['OPENAI_BASE_URL']) ? compatible('compatible', env) : undefined;
    case 'ollama': {
      const options = { name: 'ollama', baseURL: `${OLLAMA_URL}/v1`, idleTimeoutMs: LOCAL_IDLE_TIMEOUT_MS };
      return { name: 'ollama', kind: 'openai-chat', options };
    }
    case 'openrouter':
      return withKey('openrouter', 'openai-chat', 'OPENROUTER_API_KEY', env, 'https://openrouter.ai/api/v1');
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

function compatible(name: string, env: Env): KnownProvider {
  const key = env['OPENAI_API_KEY'];
  const options: ProviderOptions = {
    name,
    baseURL: (env['OPENAI_BASE_URL'] ?? '').trim(),
    idleTimeoutMs: LOCAL_IDLE_TIMEOUT_MS,
    ...(isSet(key) ? { apiKey: key.trim() } : {}),
  };
  return { name, kind: 'openai-chat', options };
}

function withKey(
  name: string,
  kind: ProviderKind,
  keyEnv: string,
  env: Env,
  baseURL: string | undefined,
  defaults?: KnownProvider['defaults'],
): KnownProvider {
  const key = env[keyEnv];
  const options: ProviderOptions = {
    name,
    ...(isSet(key) ? { apiKey: key.trim() } : {}),
    ...(isSet(baseURL) ? { baseURL: baseURL.trim() } : {}),
  };
  return {
    name,
    kind,
    options,
    ...(isSet(key) ? {} : { missingKey: keyEnv }),
    ...(defaults === undefined ? {} : { defaults }),
  };
}

function ownProvider(name: string, config: ProviderConfig, env: Env): KnownProvider {
  const { kind, apiKeyEnv, baseURL, headers, idleTimeoutMs, quietTimeoutMs } = config;
  const key = apiKeyEnv === undefined ? undefined : env[apiKeyEnv];
  const options: ProviderOptions = {
    name,
    ...(isSet(key) ? { apiKey: key.trim() } : {}),
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(headers === undefined ? {} : { headers }),
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    ...(quietTimeoutMs === undefined ? {} : { quietTimeoutMs }),
  };
  const missing = apiKeyEnv !== undefined && !isSet(key);
  return { name, kind, options, ...(missing ? { missingKey: apiKeyEnv } : {}) };
}
