// A second, independent server: whole tool runs against aimock, which checks what it is sent more strictly than our own.

import { LLMock } from '@copilotkit/aimock';
import { describe, expect, test } from '@jest/globals';
import type { ModelMessage } from '../../shared/messages.ts';
import { toolCallsOf } from '../../shared/messages.ts';
import { answered, failed, MODEL_APIS, never, requestOf } from '../support/model-apis.ts';

describe.each(MODEL_APIS)('$api against aimock', ({ open }) => {
  test('E1: a run of two steps with two parallel tools ends in an answer', async () => {
    const mock = await LLMock.create({ port: 0 });
    try {
      mock.on(
        { userMessage: 'compare', hasToolResult: false },
        {
          content: 'Reading both.',
          toolCalls: [
            { name: 'ReadTool', arguments: '{"path":"a.ts"}' },
            { name: 'ReadTool', arguments: '{"path":"b.ts"}' },
          ],
        },
      );
      mock.on({ toolResultContains: 'two', hasToolResult: true }, { content: 'They differ.' });
      const provider = open(mock.url.replace(/\/$/, ''));
      const messages: ModelMessage[] = [{ role: 'user', text: 'compare a.ts and b.ts' }];
      const first = answered(await provider.stream(requestOf(messages), { signal: never() }));
      const calls = toolCallsOf(first.parts);
      expect(first.stop).toBe('tool_calls');
      expect(calls.map((call) => call.rawArgs)).toEqual(['{"path":"a.ts"}', '{"path":"b.ts"}']);
      expect(new Set(calls.map((call) => call.callId)).size).toBe(2);
      const results = calls.map((call, at) => ({
        callId: call.callId,
        name: call.name,
        text: at === 0 ? 'one' : 'two',
        isError: false,
      }));
      messages.push({ role: 'assistant', parts: first.parts }, { role: 'tool', results });
      const second = answered(await provider.stream(requestOf(messages), { signal: never() }));
      expect(second.stop).toBe('end');
      expect(second.parts.filter((part) => part.type === 'text')).toMatchObject([{ text: 'They differ.' }]);
    } finally {
      await mock.stop();
    }
  });

  test('E9: aimock’s 429 is transient, and its 404 for an unmatched request is not', async () => {
    const mock = await LLMock.create({ port: 0 });
    try {
      mock.on({ userMessage: 'hello' }, { content: 'Hi.' });
      mock.nextRequestError(429, { message: 'slow down', type: 'rate_limit_error' });
      const provider = open(mock.url.replace(/\/$/, ''));
      const ask = (text: string) => provider.stream(requestOf([{ role: 'user', text }]), { signal: never() });
      expect(failed(await ask('hello'))).toMatchObject({ kind: 'transient', code: 'rate_limit' });
      expect(answered(await ask('hello')).stop).toBe('end');
      expect(failed(await ask('unmatched')).kind).toBe('failed');
    } finally {
      await mock.stop();
    }
  });
});
