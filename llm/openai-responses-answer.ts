// Collects the events of one streamed answer of OpenAI's Responses API. The answer is complete with `response.completed`,
// `response.incomplete` or `response.failed`; its parts come from the finished items, in their order.

import type { Response, ResponseOutputItem, ResponseStreamEvent } from 'openai/resources/responses/responses.js';
import type { Json } from '../shared/json.ts';
import { type AssistantPart, NO_USAGE, type StopReason, type Usage } from '../shared/messages.ts';
import { ok } from '../shared/outcome.ts';
import type { ModelDelta } from '../shared/ports.ts';
import { classifyError } from './classify-error.ts';
import { RESPONSES_API } from './openai-responses-request.ts';
import { sealed } from './request-text.ts';
import type { AnswerReader } from './run-stream.ts';

export interface ResponsesAnswerOptions {
  readonly seal: string;
  readonly requested: string;
  readonly provider: string;
  readonly secrets: readonly string[];
  readonly onDelta: (delta: ModelDelta) => void;
}

export function responsesAnswer(options: ResponsesAnswerOptions): AnswerReader<ResponseStreamEvent> {
  const { onDelta } = options;
  const items = new Map<number, ResponseOutputItem>();
  const calls = new Map<number, { readonly callId: string; readonly name: string }>();
  let final: Response | undefined;

  return {
    accept(event) {
      switch (event.type) {
        case 'response.output_item.added':
          if (event.item.type === 'function_call') {
            const call = { callId: event.item.call_id, name: event.item.name };
            calls.set(event.output_index, call);
            onDelta({ type: 'args', ...call, delta: '' });
          }
          return false;
        case 'response.function_call_arguments.delta': {
          const call = calls.get(event.output_index);
          if (call !== undefined) onDelta({ type: 'args', ...call, delta: event.delta });
          return false;
        }
        case 'response.output_text.delta':
        case 'response.refusal.delta':
          onDelta({ type: 'text', delta: event.delta });
          return false;
        case 'response.reasoning_summary_text.delta':
        case 'response.reasoning_text.delta':
          onDelta({ type: 'thinking', delta: event.delta });
          return false;
        case 'response.output_item.done':
          items.set(event.output_index, event.item);
          return false;
        case 'response.completed':
        case 'response.incomplete':
        case 'response.failed':
          final = event.response;
          return true;
        default:
          return false;
      }
    },
    says: (event) => !LIFE_SIGNS.has(event.type),
    usage: () => (final?.usage ? usageOf(final) : null),
    answer() {
      if (final?.status === 'failed' || final === undefined) {
        const error = { ...final?.error, headers: new Headers() };
        return classifyError(error, { provider: options.provider, secrets: options.secrets, streaming: true });
      }
      const ordered = [...items.entries()].sort(([a], [b]) => a - b).map(([, item]) => item);
      const output = ordered.length > 0 ? ordered : (final.output ?? []);
      const parts = output.flatMap((item) => partsOf(item, options.seal));
      const model = final.model ?? options.requested;
      return ok({ parts, stop: stopOf(final, output), usage: usageOf(final), model });
    },
  };
}

/** Events that only keep the line open; the SDK's types do not know them all. */
const LIFE_SIGNS: ReadonlySet<string> = new Set(['keepalive', 'ping', 'response.queued', 'response.in_progress']);

function partsOf(item: ResponseOutputItem, seal: string): AssistantPart[] {
  switch (item.type) {
    case 'message': {
      const text = item.content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join('');
      if (text === '') return [];
      const mark = typeof item.phase === 'string' ? { opaque: { api: RESPONSES_API, phase: item.phase } } : {};
      return [{ type: 'text', text, ...mark }];
    }
    case 'reasoning': {
      const text = [...(item.content ?? []), ...item.summary].map((part) => part.text).join('\n\n');
      if (typeof item.encrypted_content !== 'string') return text === '' ? [] : [{ type: 'thinking', text }];
      const summary: Json = item.summary.map((part) => ({ type: part.type, text: part.text }));
      const block: Json = { type: 'reasoning', id: item.id, summary, encrypted_content: item.encrypted_content };
      return [{ type: 'thinking', text, opaque: sealed(RESPONSES_API, seal, block) }];
    }
    case 'function_call': {
      const rawArgs = item.arguments === '' ? '{}' : item.arguments;
      return [{ type: 'tool_call', callId: item.call_id, name: item.name, rawArgs }];
    }
    default:
      return [];
  }
}

function stopOf(final: Response, output: readonly ResponseOutputItem[]): StopReason {
  if (final.status === 'incomplete') {
    const reason = final.incomplete_details?.reason;
    if (reason === 'max_output_tokens') return 'max_tokens';
    return reason === 'content_filter' ? 'refusal' : 'other';
  }
  if (output.some((item) => item.type === 'function_call')) return 'tool_calls';
  const refused = output.some(
    (item) => item.type === 'message' && item.content.some((part) => part.type === 'refusal'),
  );
  return refused ? 'refusal' : 'end';
}

/** Compatible servers leave out the details, or the whole count. */
function usageOf(final: Response): Usage {
  const usage = final.usage;
  if (usage === undefined || usage === null) return NO_USAGE;
  const details: { readonly cached_tokens?: number; readonly cache_write_tokens?: number } | undefined =
    usage.input_tokens_details;
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cacheRead: details?.cached_tokens ?? 0,
    cacheWrite: details?.cache_write_tokens ?? 0,
  };
}
