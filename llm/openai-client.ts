// Opens OpenAI's SDK for both of its APIs: nothing from the environment but what the options name, no retries, no console.

import { type Outcome, ok } from '../shared/outcome.ts';
import { classifyError } from './classify-error.ts';
import { LIST_TIMEOUT_MS, type ProviderOptions, SILENT_LOGGER, secretsOf } from './provider-options.ts';
import { watchedFetch } from './stream-watchdog.ts';

const DEFAULT_BASE_URL = 'https://api.openai.com/v1';

const opened = new WeakMap<ProviderOptions, ReturnType<typeof open>>();

/** The client of a provider, made with its first call. Each call's watchdog comes in through the fetch. */
export function openaiClient(options: ProviderOptions): ReturnType<typeof open> {
  const client = opened.get(options) ?? open(options);
  opened.set(options, client);
  return client;
}

async function open(options: ProviderOptions) {
  const { OpenAI } = await import('openai');
  return new OpenAI({
    apiKey: options.apiKey ?? 'none',
    adminAPIKey: null,
    baseURL: options.baseURL ?? DEFAULT_BASE_URL,
    // An organization is OpenAI's own: another server has no use for it.
    ...(options.baseURL === undefined ? {} : { organization: null, project: null }),
    maxRetries: 0,
    // The watchdog owns time: it must be the first to fire.
    timeout: 2 * 3_600_000,
    logger: SILENT_LOGGER,
    logLevel: 'off',
    defaultHeaders: { ...(options.apiKey === undefined ? { authorization: null } : {}), ...options.headers },
    fetch: watchedFetch,
  });
}

/** The names of the models that the server lists. */
export async function listOpenaiModels(
  options: ProviderOptions,
  signal: AbortSignal,
): Promise<Outcome<readonly string[]>> {
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]);
    const page = await (await openaiClient(options)).models.list({ signal: limit });
    return ok(page.data.map((model) => model.id));
  } catch (error) {
    return classifyError(error, { provider: options.name, secrets: secretsOf(options), streaming: false });
  }
}
