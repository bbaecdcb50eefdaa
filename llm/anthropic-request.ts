// Renders a request in the dialect of Anthropic's Messages API. The same request always gives the same bytes, and appended
// messages only lengthen the body: `messages` is the last key, and the cache mark that moves with the conversation is the
// top-level one, which leaves no trace in the messages.

import type {
  ContentBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  TextBlockParam,
  ToolUseBlockParam,
} from '@anthropic-ai/sdk/resources/messages/messages.js';
import type { AssistantPart, ModelMessage, ModelRequest } from '../shared/messages.ts';
import { modelInfo } from './model-info.ts';
import {
  argsObject,
  NO_OUTPUT,
  NO_TEXT,
  nonEmpty,
  picturesOf,
  type Rendered,
  type Seal,
  startSeal,
  unsealed,
  wireId,
  wireName,
  withFacts,
} from './request-text.ts';

export const ANTHROPIC_API = 'anthropic';

export interface AnthropicRequest {
  /** JSON: what is new in it is all that was rendered for it. */
  readonly body: string;
  /** Seals the thinking of the answer to this request. */
  readonly seal: string;
}

/** The request's body, keys in a fixed order. */
export function anthropicRequest(request: ModelRequest): AnthropicRequest {
  const seal = startSeal(ANTHROPIC_API, request);
  const messages: string[] = [];
  for (const message of request.messages) {
    const json = seal.add(message, () => rendered(message, seal, request.images));
    if (json !== '') messages.push(json);
  }
  const body = `${headOf(request)},"messages":[${messages.join(',')}]}`;
  return { body, seal: seal.current() };
}

type BeforeMessages = Pick<ModelRequest, 'model' | 'maxOutputTokens' | 'system'>;

const heads = new WeakMap<ModelRequest['tools'], { readonly of: BeforeMessages; readonly json: string }>();

/** All that stands before the messages, which a message's requests have in common. */
function headOf({ model, maxOutputTokens, system, tools }: ModelRequest): string {
  const known = heads.get(tools);
  const isKnown = known?.of.model === model && known.of.maxOutputTokens === maxOutputTokens;
  if (isKnown && known.of.system === system) return known.json;
  const head: Omit<MessageCreateParamsStreaming, 'messages' | 'tools' | 'system'> = {
    model,
    max_tokens: maxOutputTokens,
    stream: true,
    cache_control: { type: 'ephemeral' },
    // Newer models hide their thinking by default, and with it what they say between two tool calls.
    ...(modelInfo(model).adaptiveThinking ? { thinking: { type: 'adaptive', display: 'summarized' } } : {}),
  };
  const prompt: TextBlockParam[] = [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }];
  const json = [
    JSON.stringify(head).slice(0, -1),
    ...(tools.length > 0 ? [`"tools":${toolsText(tools)}`] : []),
    // Its own mark: tools and system are shared by all sessions of a mode, whatever their conversations.
    ...(system.trim() === '' ? [] : [`"system":${JSON.stringify(prompt)}`]),
  ].reduce((before, part) => `${before},${part}`);
  heads.set(tools, { of: { model, maxOutputTokens, system }, json });
  return json;
}

/** That of the newest tools, the greater part of a request: most sessions of a process have the same ones, and all of them this one string. */
let newest = '';

function toolsText(tools: ModelRequest['tools']): string {
  const text = JSON.stringify(tools.map(toolOf));
  if (text !== newest) newest = text;
  return newest;
}

function rendered(message: ModelMessage, seal: Seal, images: ModelRequest['images']): Rendered<string> {
  const content = contentOf(message, seal, images);
  const param: MessageParam = { role: message.role === 'assistant' ? 'assistant' : 'user', content };
  const json = content.length === 0 ? '' : JSON.stringify(param);
  return { json, sent: json };
}

function toolOf(tool: ModelRequest['tools'][number]) {
  return {
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.inputSchema, type: 'object' as const },
  };
}

function contentOf(message: ModelMessage, seal: Seal, images: ModelRequest['images']): ContentBlockParam[] {
  switch (message.role) {
    case 'user': {
      const { sent, lines } = picturesOf(message, images);
      return [
        ...sent.map(
          ({ mediaType, data }): ContentBlockParam => ({
            type: 'image',
            source: { type: 'base64', media_type: mediaType, data },
          }),
        ),
        { type: 'text', text: lines + withFacts(message.text, message.facts) },
      ];
    }
    case 'assistant':
      return withoutTrailingThinking(message.parts.flatMap((part) => blocksOf(part, seal)));
    case 'tool': {
      const blocks: ContentBlockParam[] = message.results.map((result) => ({
        type: 'tool_result',
        tool_use_id: wireId(result.callId),
        content: nonEmpty(result.text, NO_OUTPUT),
        is_error: result.isError,
      }));
      if (message.facts !== undefined && message.facts.trim() !== '')
        blocks.push({ type: 'text', text: message.facts });
      return blocks;
    }
  }
}

function blocksOf(part: AssistantPart, seal: Seal): ContentBlockParam[] {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ type: 'text', text: nonEmpty(part.text, NO_TEXT) }];
    case 'thinking': {
      const block = part.opaque === undefined ? undefined : unsealed(part.opaque, ANTHROPIC_API, seal.current());
      return block === undefined ? [] : [block as unknown as ContentBlockParam];
    }
    case 'tool_call': {
      const call: ToolUseBlockParam = {
        type: 'tool_use',
        id: wireId(part.callId),
        name: wireName(part.name),
        input: argsObject(part.rawArgs),
      };
      return [call];
    }
  }
}

/** An assistant message may not end in thinking: the API refuses it. */
function withoutTrailingThinking(blocks: ContentBlockParam[]): ContentBlockParam[] {
  const last = blocks.findLastIndex((block) => block.type !== 'thinking' && block.type !== 'redacted_thinking');
  return blocks.slice(0, last + 1);
}
