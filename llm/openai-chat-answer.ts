// Collects the chunks of one streamed chat completion. The answer is complete with a finish reason; the usage comes after
// it, in a chunk of its own. Forgiving where compatible servers differ: calls without an index or id, a finish reason of
// `stop` behind tool calls, reasoning under two names.

import { randomUUID } from 'node:crypto';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions/completions.js';
import { type AssistantPart, NO_USAGE, type StopReason, type Usage } from '../shared/messages.ts';
import { fail, ok } from '../shared/outcome.ts';
import type { ModelDelta } from '../shared/ports.ts';
import type { AnswerReader } from './run-stream.ts';

interface Call {
  readonly callId: string;
  name: string;
  args: string;
}

type Delta = ChatCompletionChunk.Choice.Delta & {
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
};

/** Finish reasons of servers and routers whose model failed in the middle. */
const BROKEN: ReadonlySet<string> = new Set(['error', 'abort', 'network_error', 'insufficient_system_resource']);

export function chatAnswer(
  { requested, provider }: { readonly requested: string; readonly provider: string },
  onDelta: (delta: ModelDelta) => void,
): AnswerReader<ChatCompletionChunk> {
  const calls = new Map<number, Call>();
  let text = '';
  let thinking = '';
  let refused = false;
  let finish: string | undefined;
  let usage: Usage = NO_USAGE;
  let model = requested;

  const takeCall = (piece: ChatCompletionChunk.Choice.Delta.ToolCall) => {
    const named = piece.id !== undefined && piece.id !== '';
    const known = [...calls.values()].some((call) => call.callId === piece.id);
    const index = (piece.index as number | undefined) ?? (named && !known ? calls.size : Math.max(0, calls.size - 1));
    let call = calls.get(index);
    if (call === undefined) {
      call = { callId: named ? (piece.id ?? '') : `call_${randomUUID().slice(0, 13)}`, name: '', args: '' };
      calls.set(index, call);
    }
    call.name += piece.function?.name ?? '';
    const delta = piece.function?.arguments ?? '';
    call.args += delta;
    onDelta({ type: 'args', callId: call.callId, name: call.name, delta });
  };

  const takeDelta = (delta: Delta) => {
    const thought = delta.reasoning_content ?? delta.reasoning ?? '';
    const said = `${delta.content ?? ''}${delta.refusal ?? ''}`;
    if (thought !== '') onDelta({ type: 'thinking', delta: thought });
    if (said !== '') onDelta({ type: 'text', delta: said });
    thinking += thought;
    text += said;
    refused ||= typeof delta.refusal === 'string' && delta.refusal !== '';
    for (const piece of delta.tool_calls ?? []) takeCall(piece);
  };

  return {
    readsOn: true,
    accept(chunk) {
      if (chunk.model) model = chunk.model;
      if (chunk.usage) usage = usageOf(chunk.usage);
      const choice = chunk.choices?.[0];
      if (choice?.delta) takeDelta(choice.delta);
      if (choice?.finish_reason) finish = choice.finish_reason;
      return finish !== undefined;
    },
    // Some servers send empty pieces while they wait for the model.
    says: ({ choices }) => choices?.some(({ delta, finish_reason }) => finish_reason || saysMore(delta)) ?? false,
    usage: () => (usage === NO_USAGE ? null : usage),
    answer() {
      if (BROKEN.has(finish ?? '')) {
        return fail('transient', 'cut_stream', `${provider} broke the answer off: its finish reason is "${finish}".`);
      }
      const parts: AssistantPart[] = [];
      if (thinking !== '') parts.push({ type: 'thinking', text: thinking });
      if (text !== '') parts.push({ type: 'text', text });
      for (const [, call] of [...calls.entries()].sort(([a], [b]) => a - b)) {
        const rawArgs = call.args === '' ? '{}' : call.args;
        parts.push({ type: 'tool_call', callId: call.callId, name: call.name, rawArgs });
      }
      return ok({ parts, stop: stopOf(finish, calls.size > 0, refused), usage, model });
    },
  };
}

const saysMore = (delta: Delta | undefined): boolean =>
  [delta?.content, delta?.refusal, delta?.reasoning_content, delta?.reasoning, delta?.tool_calls?.length].some(Boolean);

function stopOf(finish: string | undefined, called: boolean, refused: boolean): StopReason {
  switch (finish) {
    case 'stop':
    case 'tool_calls':
    case 'function_call':
      if (called) return 'tool_calls';
      return refused ? 'refusal' : 'end';
    case 'length':
      return 'max_tokens';
    case 'model_length':
      return 'context_full';
    case 'content_filter':
    case 'sensitive':
      return 'refusal';
    default:
      return 'other';
  }
}

function usageOf(usage: NonNullable<ChatCompletionChunk['usage']>): Usage {
  return {
    input: usage.prompt_tokens ?? 0,
    output: usage.completion_tokens ?? 0,
    cacheRead: usage.prompt_tokens_details?.cached_tokens ?? 0,
    cacheWrite: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
  };
}
