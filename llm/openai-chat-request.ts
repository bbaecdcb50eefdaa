// Renders a request in the dialect of chat completions, as the many compatible servers understand it: plain strings as
// contents, no field that only OpenAI knows but the cache key. The same request always gives the same bytes; `messages` is
// the last key. Thinking is not sent back: this dialect has no place for it.

import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions/completions.js';
import type { ModelMessage, ModelRequest } from '../shared/messages.ts';
import { textOf, toolCallsOf } from '../shared/messages.ts';
import { argsText, NO_OUTPUT, nonEmpty, picturesOf, withFacts } from './request-text.ts';

/** The request's body, keys in a fixed order. */
export function chatRequest(request: ModelRequest): ChatCompletionCreateParamsStreaming {
  const system: ChatCompletionMessageParam[] =
    request.system.trim() === '' ? [] : [{ role: 'system', content: request.system }];
  return {
    model: request.model,
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: request.maxOutputTokens,
    prompt_cache_key: request.cacheKey,
    ...(request.tools.length > 0 ? { tools: request.tools.map(toolOf) } : {}),
    messages: [...system, ...request.messages.flatMap((message) => messagesOf(message, request.images))],
  };
}

function toolOf(tool: ModelRequest['tools'][number]): ChatCompletionTool {
  return {
    type: 'function',
    function: { name: tool.name, description: tool.description, parameters: { ...tool.inputSchema } },
  };
}

function messagesOf(message: ModelMessage, images: ModelRequest['images']): ChatCompletionMessageParam[] {
  switch (message.role) {
    case 'user': {
      const { sent, lines } = picturesOf(message, images);
      const text = lines + withFacts(message.text, message.facts);
      if (sent.length === 0) return [{ role: 'user', content: text }];
      const pictures = sent.map(({ mediaType, data }) => ({
        type: 'image_url' as const,
        image_url: { url: `data:${mediaType};base64,${data}` },
      }));
      return [{ role: 'user', content: [...pictures, { type: 'text', text }] }];
    }
    case 'assistant': {
      const text = textOf(message.parts);
      const calls = toolCallsOf(message.parts).map(
        (call): ChatCompletionMessageFunctionToolCall => ({
          id: call.callId,
          type: 'function',
          function: { name: nonEmpty(call.name, 'unnamed'), arguments: argsText(call.rawArgs) },
        }),
      );
      if (text.trim() === '' && calls.length === 0) return [];
      return [
        {
          role: 'assistant',
          ...(text.trim() === '' ? {} : { content: text }),
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
      ];
    }
    case 'tool': {
      const results: ChatCompletionMessageParam[] = message.results.map((result) => ({
        role: 'tool',
        tool_call_id: result.callId,
        content: nonEmpty(result.text, NO_OUTPUT),
      }));
      if (message.facts !== undefined && message.facts.trim() !== '') {
        results.push({ role: 'user', content: message.facts });
      }
      return results;
    }
  }
}
