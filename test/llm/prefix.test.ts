// What provider caches live on: every request begins with the whole of the one before it.

import { describe, expect, test } from '@jest/globals';
import type { ModelMessage } from '../../shared/messages.ts';
import { answered, MODEL_APIS, never, requestOf, withServer } from '../support/model-apis.ts';

/** A body without what closes it: the messages' bracket and the object's brace. */
const opened = (body: string): string => body.replace(/\]\}$/, '');

describe.each(MODEL_APIS)('$api', ({ open }) => {
  test('C9: over five steps with tools, thinking and facts, each body starts with the body before it', async () => {
    const script = ({ stepOfMessage }: { stepOfMessage: number }) =>
      stepOfMessage < 4
        ? {
            thinking: `step ${stepOfMessage}`,
            text: 'Ich prüfe “a”.',
            toolCalls: [
              { name: 'ReadTool', args: `{ "path": "f${stepOfMessage}.ts", "2": 1, "1": 2 }` },
              { name: 'ReadTool', args: '{"path":"ü\\u2028"}' },
            ],
          }
        : { text: 'Done.' };
    await withServer(script, async (server) => {
      const provider = open(server.url);
      const messages: ModelMessage[] = [{ role: 'user', text: 'Go', facts: '<facts>todos: none</facts>' }];
      for (let step = 0; step < 5; step += 1) {
        const { parts } = answered(await provider.stream(requestOf(messages), { signal: never() }));
        messages.push({ role: 'assistant', parts });
        const results = parts.flatMap((part) =>
          part.type === 'tool_call' ? [{ callId: part.callId, name: part.name, text: `r${step}`, isError: false }] : [],
        );
        const facts = step === 1 ? { facts: '<facts>changed</facts>' } : {};
        if (results.length > 0) messages.push({ role: 'tool', results, ...facts });
      }
      messages.push({ role: 'user', text: 'And again' });
      answered(await provider.stream(requestOf(messages), { signal: never() }));

      const bodies = server.requests.map((request) => request.body);
      expect(bodies).toHaveLength(6);
      for (const [at, body] of bodies.slice(1).entries()) {
        expect(body.startsWith(opened(bodies[at] ?? ''))).toBe(true);
        expect(body.length).toBeGreaterThan(bodies[at]?.length ?? 0);
      }
    });
  });

  test('the same request gives the same bytes, from another provider object as well', async () => {
    await withServer(
      () => ({ text: 'ok' }),
      async (server) => {
        const request = requestOf([{ role: 'user', text: 'Hi', facts: 'f' }]);
        await open(server.url).stream(request, { signal: never() });
        await open(server.url).stream(structuredClone(request), { signal: never() });
        expect(server.requests[1]?.body).toBe(server.requests[0]?.body);
      },
    );
  });

  test('ten calls in a row use one connection, also when the server takes its time to end the body', async () => {
    const script = ({ requestIndex }: { requestIndex: number }) =>
      requestIndex % 2 === 0 ? { text: 'quick' } : { text: 'slow end', pieceDelayMs: 2 };
    await withServer(script, async (server) => {
      const provider = open(server.url);
      for (let call = 0; call < 10; call += 1) {
        answered(await provider.stream(requestOf([{ role: 'user', text: `${call}` }]), { signal: never() }));
      }
      expect(server.connections()).toBe(1);
    });
  });

  test('E18: nothing that is sent is ever null or empty', async () => {
    await withServer(
      () => ({ text: 'ok' }),
      async (server) => {
        const messages: ModelMessage[] = [
          { role: 'user', text: '' },
          { role: 'assistant', parts: [{ type: 'text', text: ' ' }] },
          { role: 'assistant', parts: [{ type: 'tool_call', callId: 'c1', name: 'ReadTool', rawArgs: '' }] },
          { role: 'tool', results: [{ callId: 'c1', name: 'ReadTool', text: ' \n', isError: false }], facts: '' },
          { role: 'user', text: ' ', facts: ' ' },
        ];
        const provider = open(server.url);
        answered(await provider.stream(requestOf(messages, { system: '', tools: [] }), { signal: never() }));
        expect(emptyOnes(JSON.parse(server.requests[0]?.body ?? ''))).toEqual([]);
        expect(server.requests[0]?.body).toContain('(no output)');
      },
    );
  });
});

function emptyOnes(value: unknown, path = '$'): readonly string[] {
  if (value === null || (typeof value === 'string' && value.trim() === '')) return [path];
  if (typeof value !== 'object') return [];
  const entries = Object.entries(value);
  if (Array.isArray(value) && entries.length === 0) return [path];
  return entries.flatMap(([key, inner]) => emptyOnes(inner, `${path}.${key}`));
}
