// Collects the events of one streamed answer of Anthropic's Messages API. The answer is complete with `message_stop`.

import type {
  RawContentBlockDelta,
  RawContentBlockStartEvent,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages/messages.js';
import type { Json } from '../shared/json.ts';
import type { AssistantPart, StopReason, Usage } from '../shared/messages.ts';
import { ok } from '../shared/outcome.ts';
import type { ModelDelta } from '../shared/ports.ts';
import { ANTHROPIC_API } from './anthropic-request.ts';
import { sealed } from './request-text.ts';
import type { AnswerReader } from './run-stream.ts';

type Block =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'thinking'; text: string; signature: string }
  | { readonly type: 'redacted'; readonly data: string }
  | { readonly type: 'call'; readonly id: string; readonly name: string; args: string; readonly input: unknown };

interface Counts {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
}

const STOPS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  stop_sequence: 'end',
  tool_use: 'tool_calls',
  max_tokens: 'max_tokens',
  refusal: 'refusal',
  model_context_window_exceeded: 'context_full',
};

export function anthropicAnswer(
  seal: string,
  requested: string,
  onDelta: (delta: ModelDelta) => void,
): AnswerReader<RawMessageStreamEvent> {
  const blocks = new Map<number, Block>();
  const counted = { plain: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  let model = requested;
  let stopReason: string | null = null;

  // Compatible servers leave usage out where Anthropic always sends it.
  const count = (usage: Counts | undefined) => {
    counted.plain = usage?.input_tokens ?? counted.plain;
    counted.output = usage?.output_tokens ?? counted.output;
    counted.cacheRead = usage?.cache_read_input_tokens ?? counted.cacheRead;
    counted.cacheWrite = usage?.cache_creation_input_tokens ?? counted.cacheWrite;
  };

  const usage = (): Usage => {
    const { plain, output, cacheRead, cacheWrite } = counted;
    return { input: plain + cacheRead + cacheWrite, output, cacheRead, cacheWrite };
  };

  return {
    accept(event) {
      switch (event.type) {
        case 'message_start':
          model = event.message.model;
          count(event.message.usage);
          return false;
        case 'content_block_start': {
          const block = startOf(event.content_block);
          if (block === undefined) return false;
          blocks.set(event.index, block);
          if (block.type === 'call') onDelta({ type: 'args', callId: block.id, name: block.name, delta: '' });
          return false;
        }
        case 'content_block_delta': {
          const block = blocks.get(event.index);
          if (block !== undefined) extend(block, event.delta, onDelta);
          return false;
        }
        case 'message_delta':
          stopReason = event.delta.stop_reason ?? stopReason;
          count(event.usage);
          return false;
        case 'message_stop':
          return true;
        default:
          return false;
      }
    },
    usage: () => (usage().input + counted.output === 0 ? null : usage()),
    answer() {
      const ordered = [...blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
      const parts = ordered.map((block) => partOf(block, seal)).filter((part) => part !== undefined);
      const stop = STOPS[stopReason ?? ''] ?? 'other';
      return ok({ parts, stop, usage: usage(), model });
    },
  };
}

function startOf(block: RawContentBlockStartEvent['content_block']): Block | undefined {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'thinking':
      return { type: 'thinking', text: block.thinking, signature: block.signature };
    case 'redacted_thinking':
      return { type: 'redacted', data: block.data };
    case 'tool_use':
      return { type: 'call', id: block.id, name: block.name, args: '', input: block.input };
    default:
      return undefined;
  }
}

function extend(block: Block, delta: RawContentBlockDelta, onDelta: (delta: ModelDelta) => void): void {
  if (delta.type === 'text_delta' && block.type === 'text') {
    block.text += delta.text;
    onDelta({ type: 'text', delta: delta.text });
  } else if (delta.type === 'thinking_delta' && block.type === 'thinking') {
    block.text += delta.thinking;
    onDelta({ type: 'thinking', delta: delta.thinking });
  } else if (delta.type === 'signature_delta' && block.type === 'thinking') {
    block.signature += delta.signature;
  } else if (delta.type === 'input_json_delta' && block.type === 'call') {
    block.args += delta.partial_json;
    if (delta.partial_json !== '') {
      onDelta({ type: 'args', callId: block.id, name: block.name, delta: delta.partial_json });
    }
  }
}

function partOf(block: Block, seal: string): AssistantPart | undefined {
  switch (block.type) {
    case 'text':
      return block.text === '' ? undefined : { type: 'text', text: block.text };
    case 'thinking': {
      // Without its signature the block cannot go back.
      if (block.signature === '') return block.text === '' ? undefined : { type: 'thinking', text: block.text };
      const whole: Json = { type: 'thinking', thinking: block.text, signature: block.signature };
      return { type: 'thinking', text: block.text, opaque: sealed(ANTHROPIC_API, seal, whole) };
    }
    case 'redacted': {
      const whole: Json = { type: 'redacted_thinking', data: block.data };
      return { type: 'thinking', text: '', opaque: sealed(ANTHROPIC_API, seal, whole) };
    }
    case 'call':
      return {
        type: 'tool_call',
        callId: block.id,
        name: block.name,
        rawArgs: block.args === '' ? JSON.stringify(block.input ?? {}) : block.args,
      };
  }
}
