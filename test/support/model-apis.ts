// The three model APIs side by side, over real SDKs and a scripted server, so that one test can say what holds for all.

import { anthropicProvider } from '../../llm/anthropic.ts';
import { openaiChatProvider } from '../../llm/openai-chat.ts';
import { openaiResponsesProvider } from '../../llm/openai-responses.ts';
import type { ProviderOptions } from '../../llm/provider-options.ts';
import type { Script } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import type { ModelAnswer, ModelMessage, ModelRequest, ToolSpec } from '../../shared/messages.ts';
import type { Failure, Outcome } from '../../shared/outcome.ts';
import type { ModelProvider } from '../../shared/ports.ts';

export const TEST_KEY = 'sk-odin-test-0123456789abcdef';

export interface ModelApi {
  readonly api: 'anthropic' | 'responses' | 'chat';
  readonly open: (url: string, more?: Partial<ProviderOptions>) => ModelProvider;
}

export const MODEL_APIS: readonly ModelApi[] = [
  {
    api: 'anthropic',
    open: (url, more) => anthropicProvider({ name: 'anthropic', apiKey: TEST_KEY, baseURL: url, ...more }),
  },
  {
    api: 'responses',
    open: (url, more) => openaiResponsesProvider({ name: 'openai', apiKey: TEST_KEY, baseURL: `${url}/v1`, ...more }),
  },
  {
    api: 'chat',
    open: (url, more) => openaiChatProvider({ name: 'compatible', apiKey: TEST_KEY, baseURL: `${url}/v1`, ...more }),
  },
];

export const READ_TOOL: ToolSpec = {
  name: 'ReadTool',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

/** A request of one session: only the messages differ from call to call. */
export function requestOf(messages: readonly ModelMessage[], more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'scripted-1',
    system: 'You are Odin.',
    tools: [READ_TOOL],
    messages,
    maxOutputTokens: 4096,
    cacheKey: 'session-1',
    ...more,
  };
}

export const never = (): AbortSignal => new AbortController().signal;

/** The answer, or an error that shows the failure. */
export function answered(outcome: Outcome<ModelAnswer>): ModelAnswer {
  if (!outcome.ok) throw new Error(`No answer: ${JSON.stringify(outcome.failure)}`);
  return outcome.value;
}

export function failed<T>(outcome: Outcome<T>): Failure {
  if (outcome.ok) throw new Error(`No failure: ${JSON.stringify(outcome.value)}`);
  return outcome.failure;
}

/** Runs with a scripted server, and stops it whatever happens. */
export async function withServer<T>(script: Script, run: (server: ScriptedServer) => Promise<T>): Promise<T> {
  const server = await startScriptedServer({ script });
  try {
    return await run(server);
  } finally {
    await server.close();
  }
}
