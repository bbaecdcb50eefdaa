// Any server with OpenAI's chat completions (Ollama, vLLM, llama.cpp, OpenRouter), through OpenAI's SDK and a base URL.
// The dialect is in openai-chat-request.ts and -answer.ts; retries belong to the machine.

import type { ModelProvider } from '../shared/ports.ts';
import { chatAnswer } from './openai-chat-answer.ts';
import { chatRequest } from './openai-chat-request.ts';
import { listOpenaiModels, openaiClient } from './openai-client.ts';
import type { ProviderOptions } from './provider-options.ts';
import { runStream } from './run-stream.ts';
import type { Watchdog } from './stream-watchdog.ts';

/** A provider over chat completions. Loads the SDK with its first call. */
export function openaiChatProvider(options: ProviderOptions): ModelProvider {
  return {
    name: options.name,
    stream(request, call) {
      const body = chatRequest(request);
      const reader = chatAnswer({ requested: request.model, provider: options.name }, (delta) => call.onDelta?.(delta));
      const open = async ({ run, signal }: Watchdog) => {
        const sdk = await openaiClient(options);
        return run(() => sdk.chat.completions.create(body, { signal }));
      };
      return runStream(options, call, open, reader);
    },
    listModels: (signal) => listOpenaiModels(options, signal),
  };
}
