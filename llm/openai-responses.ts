// OpenAI's models through its Responses API and SDK. The dialect is in openai-responses-request.ts and -answer.ts;
// retries belong to the machine.

import type { ModelProvider } from '../shared/ports.ts';
import { listOpenaiModels, openaiClient } from './openai-client.ts';
import { responsesAnswer } from './openai-responses-answer.ts';
import { responsesRequest } from './openai-responses-request.ts';
import { type ProviderOptions, secretsOf } from './provider-options.ts';
import { runStream } from './run-stream.ts';
import type { Watchdog } from './stream-watchdog.ts';

/** These models think for minutes without a byte on the line. */
const SILENT_THINKING_MS = 290_000;

/** A provider over the Responses API. Loads the SDK with its first call. */
export function openaiResponsesProvider(given: ProviderOptions): ModelProvider {
  const options = { idleTimeoutMs: SILENT_THINKING_MS, ...given };
  return {
    name: options.name,
    stream(request, call) {
      const { body, seal } = responsesRequest(request);
      const reader = responsesAnswer({
        seal,
        requested: request.model,
        provider: options.name,
        secrets: secretsOf(options),
        onDelta: (delta) => call.onDelta?.(delta),
      });
      const open = async ({ run, signal }: Watchdog) => {
        const sdk = await openaiClient(options);
        return run(() => sdk.responses.create(body, { signal }));
      };
      return runStream(options, call, open, reader);
    },
    listModels: (signal) => listOpenaiModels(options, signal),
  };
}
