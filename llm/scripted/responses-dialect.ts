// OpenAI's Responses API, as the scripted server speaks it.

import type { JsonObject } from '../../shared/json.ts';
import { type ConversationEntry, readConversation } from './conversation.ts';
import { TOO_LONG_EVENT } from './faults.ts';
import {
  callIdOf,
  callsOf,
  objectsIn,
  outputTokensOf,
  piecesOf,
  type ScriptedDialect,
  sse,
  stringIn,
  textIn,
} from './script.ts';

export const responsesDialect: ScriptedDialect = {
  api: 'responses',
  path: '/v1/responses',
  readTurn(body) {
    const names = objectsIn(body['tools']).map((tool) => stringIn(tool['name']));
    const input = body['input'];
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : objectsIn(input);
    return readConversation(textIn(body['instructions']), names, items.flatMap(entryOf));
  },
  events(answer, about) {
    const response = {
      id: `resp_${about.requestIndex}`,
      object: 'response',
      created_at: 0,
      model: about.model,
      output: [],
      error: null,
      incomplete_details: null,
    };
    const events: string[] = [];
    const output: JsonObject[] = [];
    const send = (type: string, fields: JsonObject) =>
      void events.push(sse({ type, sequence_number: events.length, ...fields }, type));
    const item = (started: JsonObject, pieces: readonly string[], deltaType: string, finished: JsonObject) => {
      const output_index = output.length;
      send('response.output_item.added', { output_index, item: started });
      const at = { output_index, item_id: stringIn(started['id']), content_index: 0, summary_index: 0 };
      for (const delta of pieces) send(deltaType, { ...at, delta });
      send('response.output_item.done', { output_index, item: finished });
      output.push(finished);
    };

    send('response.created', { response: { ...response, status: 'in_progress' } });
    if (answer.thinking !== undefined) {
      const base = { type: 'reasoning', id: `rs_${about.requestIndex}` };
      const summary = [{ type: 'summary_text', text: answer.thinking }];
      const finished = { ...base, summary, encrypted_content: `sealed-${about.requestIndex}` };
      const pieces = piecesOf(answer.thinking, answer.chunkSize);
      item({ ...base, summary: [] }, pieces, 'response.reasoning_summary_text.delta', finished);
    }
    if (answer.text !== undefined) {
      const base = { type: 'message', id: `msg_${about.requestIndex}`, role: 'assistant' };
      const isRefused = answer.fault === 'refusal';
      const content = isRefused
        ? [{ type: 'refusal', refusal: answer.text }]
        : [{ type: 'output_text', text: answer.text, annotations: [] }];
      const pieces = piecesOf(answer.text, answer.chunkSize);
      const phase = (answer.toolCalls ?? []).length > 0 ? 'commentary' : 'final_answer';
      const finished = { ...base, status: 'completed', phase, content };
      const deltas = isRefused ? 'response.refusal.delta' : 'response.output_text.delta';
      item({ ...base, status: 'in_progress', content: [] }, pieces, deltas, finished);
    }
    for (const [at, call] of callsOf(answer).entries()) {
      const call_id = callIdOf(about, at);
      const base = { type: 'function_call', id: `fc_${call_id}`, call_id, name: call.name };
      const pieces = piecesOf(call.args, answer.chunkSize);
      const finished = { ...base, status: 'completed', arguments: call.args };
      item(
        { ...base, status: 'in_progress', arguments: '' },
        pieces,
        'response.function_call_arguments.delta',
        finished,
      );
    }

    const output_tokens = outputTokensOf(answer);
    const usage = {
      input_tokens: about.inputTokens,
      input_tokens_details: { cached_tokens: about.cacheReadTokens, cache_write_tokens: 0 },
      output_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: about.inputTokens + output_tokens,
    };
    const counted = answer.fault === 'no_usage' ? {} : { usage };
    if (answer.fault === 'context_full') {
      const error = { code: 'context_length_exceeded', message: TOO_LONG_EVENT.message };
      send('response.failed', { response: { ...response, status: 'failed', error, output, ...counted } });
      return events;
    }
    const reason = INCOMPLETE[answer.fault ?? ''];
    const status = reason === undefined ? 'completed' : 'incomplete';
    const incomplete_details = reason === undefined ? null : { reason };
    send(`response.${status}`, { response: { ...response, status, incomplete_details, output, ...counted } });
    return events;
  },
  errorBody,
  ping: sse({ type: 'keepalive', sequence_number: 0 }, 'keepalive'),
  errorEvent: (error) =>
    sse({ type: 'error', code: error.openaiCode ?? error.openaiType, message: error.message, param: null }, 'error'),
};

const INCOMPLETE: Readonly<Record<string, string>> = {
  max_tokens: 'max_output_tokens',
  content_filter: 'content_filter',
};

/** OpenAI's error body, the same for both of its APIs. */
export function errorBody(error: Parameters<ScriptedDialect['errorBody']>[0]): JsonObject {
  return { error: { message: error.message, type: error.openaiType, code: error.openaiCode, param: null } };
}

function entryOf(item: JsonObject): readonly ConversationEntry[] {
  switch (item['type'] ?? 'message') {
    case 'function_call':
      return [{ role: 'call', callId: stringIn(item['call_id']), name: stringIn(item['name']) }];
    case 'function_call_output':
      return [{ role: 'result', callId: stringIn(item['call_id']), text: textIn(item['output']) }];
    case 'message':
      return [{ role: item['role'] === 'assistant' ? 'assistant' : 'user', text: textIn(item['content']) }];
    default:
      return [];
  }
}
