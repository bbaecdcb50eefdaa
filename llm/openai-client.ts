// Opens OpenAI's SDK for both of its APIs: nothing from the environment, no retries, no console.

import { type Outcome, ok } from '../shared/outcome.ts';
import { classifyError } from './classify-error.ts';
import { LIST_TIMEOUT_MS, type ProviderOptions, SILENT_LOGGER, secretsOf } from './provider-options.ts';
import { watchedFetch } from './stream-watchdog.ts';
import { withoutEnvironment } from './without-environment.ts';

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
  const { apiKey, baseURL = DEFAULT_BASE_URL, headers } = options;
  return withoutEnvironment(
    () =>
      new OpenAI({
        apiKey: apiKey ?? 'none',
        adminAPIKey: null,
        organization: null,
        project: null,
        webhookSecret: null,
        baseURL,
        maxRetries: 0,
        // The watchdog owns time: it must be the first to fire.
        timeout: 2 * 3_600_000,
        logger: SILENT_LOGGER,
        logLevel: 'off',
        defaultHeaders: { ...(apiKey === undefined ? { authorization: null } : {}), ...headers },
        fetch: watchedFetch,
      }),
  );
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
