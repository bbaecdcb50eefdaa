// Renders a request in the dialect of OpenAI's Responses API, statelessly: nothing is stored over there, reasoning comes
// back encrypted and is sent again. The same request always gives the same bytes; `input` is the last key.

import type {
  EasyInputMessage,
  FunctionTool,
  ResponseCreateParamsStreaming,
  ResponseInputItem,
} from 'openai/resources/responses/responses.js';
import type { AssistantPart, ModelMessage, ModelRequest } from '../shared/messages.ts';
import {
  argsText,
  NO_OUTPUT,
  nonEmpty,
  picturesOf,
  type Seal,
  startSeal,
  unsealed,
  wireId,
  wireName,
  withFacts,
} from './request-text.ts';

export const RESPONSES_API = 'openai-responses';

export interface ResponsesRequest {
  readonly body: ResponseCreateParamsStreaming;
  /** Seals the reasoning of the answer to this request. */
  readonly seal: string;
}

/** Models before GPT-5 other than the o-series do not reason, and refuse to be asked for encrypted reasoning. */
const NO_REASONING = /^(?:gpt-3|gpt-4|chatgpt-4)/;

/** The request's body, keys in a fixed order. */
export function responsesRequest(request: ModelRequest): ResponsesRequest {
  const seal = startSeal(RESPONSES_API, request);
  const input = request.messages.flatMap((message) =>
    seal.add(message, () => {
      const sent = itemsOf(message, seal, request.images);
      return { json: JSON.stringify(sent), sent };
    }),
  );
  const body: ResponseCreateParamsStreaming = {
    model: request.model,
    stream: true,
    store: false,
    max_output_tokens: request.maxOutputTokens,
    prompt_cache_key: request.cacheKey,
    ...(NO_REASONING.test(request.model) ? {} : { include: ['reasoning.encrypted_content'] }),
    ...(request.system.trim() === '' ? {} : { instructions: request.system }),
    ...(request.tools.length > 0 ? { tools: request.tools.map(toolOf) } : {}),
    input,
  };
  return { body, seal: seal.current() };
}

/** Not strict: strict mode refuses optional parameters, and Odin checks arguments itself. */
function toolOf(tool: ModelRequest['tools'][number]): FunctionTool {
  return {
    type: 'function',
    name: tool.name,
    description: tool.description,
    parameters: { ...tool.inputSchema },
    strict: false,
  };
}

function itemsOf(message: ModelMessage, seal: Seal, images: ModelRequest['images']): ResponseInputItem[] {
  switch (message.role) {
    case 'user': {
      const { sent, lines } = picturesOf(message, images);
      const text = lines + withFacts(message.text, message.facts);
      if (sent.length === 0) return [{ role: 'user', content: text }];
      const pictures = sent.map(({ mediaType, data }) => ({
        type: 'input_image' as const,
        detail: 'auto' as const,
        image_url: `data:${mediaType};base64,${data}`,
      }));
      return [{ role: 'user', content: [...pictures, { type: 'input_text', text }] }];
    }
    case 'assistant': {
      const before = message.parts.some((part) => 'opaque' in part) ? seal.current() : '';
      return withoutTrailingReasoning(message.parts.flatMap((part) => assistantItems(part, before)));
    }
    case 'tool': {
      const items: ResponseInputItem[] = message.results.map((result) => ({
        type: 'function_call_output',
        call_id: wireId(result.callId),
        output: nonEmpty(result.text, NO_OUTPUT),
      }));
      if (message.facts !== undefined && message.facts.trim() !== '') {
        items.push({ role: 'user', content: message.facts });
      }
      return items;
    }
  }
}

function assistantItems(part: AssistantPart, seal: string): ResponseInputItem[] {
  switch (part.type) {
    case 'text': {
      if (part.text.trim() === '') return [];
      const item: EasyInputMessage = { role: 'assistant', content: part.text, ...phaseOf(part.opaque) };
      return [item];
    }
    case 'thinking': {
      const block = unsealed(part.opaque, RESPONSES_API, seal);
      return block === undefined ? [] : [block as unknown as ResponseInputItem];
    }
    case 'tool_call':
      return [
        {
          type: 'function_call',
          call_id: wireId(part.callId),
          name: wireName(part.name),
          arguments: argsText(part.rawArgs),
        },
      ];
  }
}

function phaseOf(opaque: unknown): { phase?: 'commentary' | 'final_answer' } {
  const mark = opaque as { readonly api?: unknown; readonly phase?: unknown } | null | undefined;
  if (mark?.api !== RESPONSES_API) return {};
  return mark.phase === 'commentary' || mark.phase === 'final_answer' ? { phase: mark.phase } : {};
}

/** A reasoning item must be followed by what it led to: the API refuses it alone. */
function withoutTrailingReasoning(items: ResponseInputItem[]): ResponseInputItem[] {
  const last = items.findLastIndex((item) => item.type !== 'reasoning');
  return items.slice(0, last + 1);
}
