// Claude, and any server that speaks Anthropic's Messages API, through Anthropic's SDK. The SDK sends and parses; the
// dialect is in anthropic-request.ts and anthropic-answer.ts; retries belong to the machine.

import type { Stream } from '@anthropic-ai/sdk/core/streaming.js';
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages.js';
import { ok } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';
import { anthropicAnswer } from './anthropic-answer.ts';
import { anthropicRequest } from './anthropic-request.ts';
import { classifyError } from './classify-error.ts';
import { LIST_TIMEOUT_MS, type ProviderOptions, SILENT_LOGGER, secretsOf } from './provider-options.ts';
import { runStream } from './run-stream.ts';
import { type Watchdog, watchedFetch } from './stream-watchdog.ts';
import { withoutEnvironment } from './without-environment.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const DEFAULT_BASE_URL = 'https://api.anthropic.com';

/** A provider over the Messages API. Loads the SDK with its first call. */
export function anthropicProvider(options: ProviderOptions): ModelProvider {
  const load = async () => {
    const { Anthropic } = await import('@anthropic-ai/sdk');
    // Everything that the SDK would else take from the environment or a credentials file is given here.
    return withoutEnvironment(
      () =>
        new Anthropic({
          apiKey: options.apiKey ?? 'none',
          webhookKey: null,
          baseURL: options.baseURL ?? DEFAULT_BASE_URL,
          openTelemetry: false,
          maxRetries: 0,
          // The watchdog owns time: it must be the first to fire.
          timeout: 2 * 3_600_000,
          logger: SILENT_LOGGER,
          logLevel: 'off',
          defaultHeaders: { ...keyHeaders(options), ...options.headers },
          fetch: watchedFetch,
        }),
    );
  };
  let loaded: ReturnType<typeof load> | undefined;
  const client = () => {
    loaded ??= load();
    return loaded;
  };

  return {
    name: options.name,
    stream(request, call) {
      const { body, seal } = anthropicRequest(request);
      // Here, so that an open request holds on to the bytes alone, which all its attempts send.
      const bytes = Buffer.from(body);
      const reader = anthropicAnswer(seal, request.model, (delta) => call.onDelta?.(delta));
      const open = async ({ run, signal }: Watchdog) => {
        const sdk = await client();
        // Not messages.create: it goes through the whole conversation, and then makes JSON of all of it again.
        const sent = { body: bytes, headers: JSON_BODY, stream: true, signal } as const;
        return run(() => sdk.post<Stream<RawMessageStreamEvent>>('/v1/messages', sent));
      };
      return runStream(options, call, open, reader);
    },
    async listModels(signal) {
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]);
        const page = await (await client()).models.list({ limit: 1000 }, { signal: limit });
        return ok(page.data.map((model) => model.id));
      } catch (error) {
        return classifyError(error, { provider: options.name, secrets: secretsOf(options), streaming: false });
      }
    },
  };
}

/** The SDK sends the key as a bearer token; other servers with this API still look for it in `x-api-key`. */
function keyHeaders(options: ProviderOptions): Record<string, string | null> {
  if (options.apiKey === undefined) return { authorization: null };
  return options.baseURL === undefined ? {} : { 'x-api-key': options.apiKey };
}
