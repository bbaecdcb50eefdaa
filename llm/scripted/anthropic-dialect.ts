// Anthropic's Messages API, as the scripted server speaks it.

import type { JsonObject } from '../../shared/json.ts';
import { type ConversationEntry, readConversation } from './conversation.ts';
import {
  callIdOf,
  callsOf,
  objectsIn,
  outputTokensOf,
  piecesOf,
  type ScriptedAnswer,
  type ScriptedDialect,
  sse,
  stringIn,
  textIn,
} from './script.ts';

export const anthropicDialect: ScriptedDialect = {
  api: 'anthropic',
  path: '/v1/messages',
  readTurn(body) {
    const names = objectsIn(body['tools']).map((tool) => stringIn(tool['name']));
    return readConversation(textIn(body['system']), names, objectsIn(body['messages']).flatMap(entriesOf));
  },
  events(answer, about) {
    const inputTokens = about.inputTokens - about.cacheReadTokens;
    const usage = { input_tokens: inputTokens, cache_read_input_tokens: about.cacheReadTokens };
    const message = {
      id: `msg_${about.requestIndex}`,
      type: 'message',
      role: 'assistant',
      model: about.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...(answer.fault === 'no_usage' ? {} : { usage: { ...usage, cache_creation_input_tokens: 0, output_tokens: 1 } }),
    };
    const events = [sse({ type: 'message_start', message }, 'message_start')];
    let index = 0;
    const block = (start: JsonObject, deltas: readonly JsonObject[]) => {
      const at = { index };
      events.push(sse({ type: 'content_block_start', ...at, content_block: start }, 'content_block_start'));
      for (const delta of deltas) {
        events.push(sse({ type: 'content_block_delta', ...at, delta }, 'content_block_delta'));
      }
      events.push(sse({ type: 'content_block_stop', ...at }, 'content_block_stop'));
      index += 1;
    };
    if (answer.thinking !== undefined) {
      const deltas = piecesOf(answer.thinking, answer.chunkSize).map((thinking) => ({
        type: 'thinking_delta',
        thinking,
      }));
      const signature = { type: 'signature_delta', signature: `signed-${about.requestIndex}` };
      block({ type: 'thinking', thinking: '', signature: '' }, [...deltas, signature]);
    }
    if (answer.text !== undefined) {
      const deltas = piecesOf(answer.text, answer.chunkSize).map((text) => ({ type: 'text_delta', text }));
      block({ type: 'text', text: '' }, deltas);
    }
    for (const [at, call] of callsOf(answer).entries()) {
      const deltas = piecesOf(call.args, answer.chunkSize).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      }));
      block({ type: 'tool_use', id: callIdOf(about, at), name: call.name, input: {} }, deltas);
    }
    const delta = { stop_reason: stopOf(answer), stop_sequence: null };
    const counted = answer.fault === 'no_usage' ? {} : { usage: { output_tokens: outputTokensOf(answer) } };
    events.push(sse({ type: 'message_delta', delta, ...counted }, 'message_delta'));
    events.push(sse({ type: 'message_stop' }, 'message_stop'));
    return events;
  },
  errorBody: (error) => ({ type: 'error', error: { type: error.anthropicType, message: error.message } }),
  ping: sse({ type: 'ping' }, 'ping'),
  errorEvent: (error) => sse({ type: 'error', error: { type: error.anthropicType, message: error.message } }, 'error'),
};

function stopOf(answer: ScriptedAnswer): string {
  if (answer.fault === 'max_tokens') return 'max_tokens';
  if (answer.fault === 'refusal' || answer.fault === 'content_filter') return 'refusal';
  if (answer.fault === 'context_full') return 'model_context_window_exceeded';
  return (answer.toolCalls ?? []).length > 0 ? 'tool_use' : 'end_turn';
}

function entriesOf(message: JsonObject): readonly ConversationEntry[] {
  const content = message['content'];
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : objectsIn(content);
  return blocks.flatMap((block): readonly ConversationEntry[] => {
    switch (block['type']) {
      case 'tool_result':
        return [{ role: 'result', callId: stringIn(block['tool_use_id']), text: textIn(block['content']) }];
      case 'tool_use':
        return [{ role: 'call', callId: stringIn(block['id']), name: stringIn(block['name']) }];
      case 'text':
        return [{ role: message['role'] === 'assistant' ? 'assistant' : 'user', text: stringIn(block['text']) }];
      default:
        return [];
    }
  });
}
