// OpenAI's chat completions, as the scripted server speaks them.

import type { JsonObject } from '../../shared/json.ts';
import { type ConversationEntry, readConversation } from './conversation.ts';
import { TOO_LONG_EVENT } from './faults.ts';
import { errorBody } from './responses-dialect.ts';
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

export const chatDialect: ScriptedDialect = {
  api: 'chat',
  path: '/v1/chat/completions',
  readTurn(body) {
    const names = objectsIn(body['tools']).map((tool) =>
      stringIn((tool['function'] as JsonObject | undefined)?.['name']),
    );
    const messages = objectsIn(body['messages']);
    const system = messages
      .filter((message) => message['role'] === 'system')
      .map((message) => textIn(message['content']));
    return readConversation(system.join('\n'), names, messages.flatMap(entriesOf));
  },
  events(answer, about) {
    const head = {
      id: `chatcmpl-${about.requestIndex}`,
      object: 'chat.completion.chunk',
      created: 0,
      model: about.model,
    };
    const chunk = (delta: JsonObject, finish_reason: string | null = null) =>
      sse({ ...head, choices: [{ index: 0, delta, finish_reason }] });
    const events = [chunk({ role: 'assistant', content: '' })];
    const pieces = (text: string) => piecesOf(text, answer.chunkSize);
    if (answer.thinking !== undefined) {
      events.push(...pieces(answer.thinking).map((reasoning_content) => chunk({ reasoning_content })));
    }
    const said = answer.fault === 'refusal' ? 'refusal' : 'content';
    if (answer.text !== undefined) events.push(...pieces(answer.text).map((text) => chunk({ [said]: text })));
    for (const [index, call] of callsOf(answer).entries()) {
      const started = { index, id: callIdOf(about, index), type: 'function' };
      events.push(chunk({ tool_calls: [{ ...started, function: { name: call.name, arguments: '' } }] }));
      for (const piece of pieces(call.args)) {
        events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
      }
    }
    const completion_tokens = outputTokensOf(answer);
    const usage = {
      prompt_tokens: about.inputTokens,
      prompt_tokens_details: { cached_tokens: about.cacheReadTokens },
      completion_tokens,
      total_tokens: about.inputTokens + completion_tokens,
    };
    if (answer.fault === 'context_full') return [...events, sse(errorBody(TOO_LONG_EVENT))];
    events.push(chunk({}, finishOf(answer)));
    const counted = answer.fault === 'no_usage' ? '' : sse({ ...head, choices: [], usage });
    events.push(`${counted}data: [DONE]\n\n`);
    return events;
  },
  errorBody,
  ping: ': PROCESSING\n\n',
  errorEvent: (error) => sse(errorBody(error)),
};

function finishOf(answer: ScriptedAnswer): string {
  if (answer.fault === 'max_tokens') return 'length';
  if (answer.fault === 'content_filter') return 'content_filter';
  if (answer.fault === 'finish_error') return 'error';
  return (answer.toolCalls ?? []).length > 0 ? 'tool_calls' : 'stop';
}

function entriesOf(message: JsonObject): readonly ConversationEntry[] {
  const text = textIn(message['content']);
  switch (message['role']) {
    case 'tool':
      return [{ role: 'result', callId: stringIn(message['tool_call_id']), text }];
    case 'assistant': {
      const calls = objectsIn(message['tool_calls']).map((call): ConversationEntry => {
        const name = stringIn((call['function'] as JsonObject | undefined)?.['name']);
        return { role: 'call', callId: stringIn(call['id']), name };
      });
      return text === '' ? calls : [{ role: 'assistant', text }, ...calls];
    }
    case 'user':
      return [{ role: 'user', text }];
    default:
      return [];
  }
}
