// What an answer is made of, in all three APIs, through the real SDKs over HTTP.

import { describe, expect, test } from '@jest/globals';
import type { ModelMessage } from '../../shared/messages.ts';
import { Fenced, type ModelDelta } from '../../shared/ports.ts';
import { answered, MODEL_APIS, never, requestOf, withServer } from '../support/model-apis.ts';

const ASK: ModelMessage = { role: 'user', text: 'What is in a.ts?' };

describe.each(MODEL_APIS)('$api', ({ api, open }) => {
  test('E8: text, thinking and arguments stream as they come, and add up to the answer', async () => {
    const args = { path: 'src/a.ts', limit: 20 };
    const script = () => ({
      thinking: 'The file first.',
      text: 'I read it.',
      toolCalls: [{ name: 'ReadTool', args }],
      chunkSize: 4,
    });
    await withServer(script, async (server) => {
      const deltas: ModelDelta[] = [];
      const options = { signal: never(), onDelta: (delta: ModelDelta) => void deltas.push(delta) };
      const answer = answered(await open(server.url).stream(requestOf([ASK]), options));
      const joined = (type: ModelDelta['type']) =>
        deltas.map((delta) => (delta.type === type ? delta.delta : '')).join('');
      expect(joined('text')).toBe('I read it.');
      expect(joined('thinking')).toBe('The file first.');
      expect(joined('args')).toBe(JSON.stringify(args));
      expect(deltas.filter((delta) => delta.type === 'text').length).toBeGreaterThan(1);
      expect(deltas.find((delta) => delta.type === 'args')).toMatchObject({ callId: 'call_0_0', name: 'ReadTool' });
      expect(answer.parts.map((part) => part.type)).toEqual(['thinking', 'text', 'tool_call']);
      expect(answer.parts[1]).toMatchObject({ text: 'I read it.' });
      expect(answer.model).toBe('scripted-1');
    });
  });

  test('O4: a request leaves when what was recorded before it is durable, and never when the journal is another owner’s', async () => {
    await withServer(
      () => ({ text: 'Heard.' }),
      async (server) => {
        const provider = open(server.url);
        const sent = () => server.requests.map(({ body }) => /held|fenced|other/.exec(body)?.[0]);
        const held = Promise.withResolvers<void>();
        const fenced = Promise.withResolvers<void>();
        const call = (text: string, ready?: Promise<void>) =>
          provider.stream(requestOf([{ role: 'user', text }]), { signal: never(), ...(ready ? { ready } : {}) });
        const first = call('held', held.promise);
        const second = call('fenced', fenced.promise);
        answered(await call('other'));
        expect(sent()).toEqual(['other']);
        fenced.reject(new Fenced('Another owner.'));
        await expect(second).rejects.toThrow(Fenced);
        held.resolve();
        answered(await first);
        expect(sent()).toEqual(['other', 'held']);
      },
    );
  });

  test('E2: parallel tool calls come in the order in which the model made them, arguments byte for byte', async () => {
    const calls = ['c', 'a', 'b'].map((path) => ({ name: 'ReadTool', args: `{"path": "${path}"}` }));
    await withServer(
      () => ({ toolCalls: calls }),
      async (server) => {
        const answer = answered(await open(server.url).stream(requestOf([ASK]), { signal: never() }));
        expect(answer.stop).toBe('tool_calls');
        expect(answer.parts).toEqual(
          calls.map((call, at) => ({
            type: 'tool_call',
            callId: `call_0_${at}`,
            name: 'ReadTool',
            rawArgs: call.args,
          })),
        );
      },
    );
  });

  test('E8: usage is the provider’s own count, and its input includes what the cache gave', async () => {
    await withServer(
      () => ({ text: 'x'.repeat(400) }),
      async (server) => {
        const provider = open(server.url);
        const first = answered(await provider.stream(requestOf([ASK]), { signal: never() }));
        const second = answered(await provider.stream(requestOf([ASK, ASK]), { signal: never() }));
        const sizes = server.requests.map((request) => Math.ceil(Buffer.byteLength(request.body) / 4));
        expect(first.usage).toEqual({ input: sizes[0], output: 100, cacheRead: 0, cacheWrite: 0 });
        expect(second.usage.input).toBe(sizes[1]);
        expect(second.usage.cacheRead).toBeGreaterThan((sizes[0] ?? 0) * 0.9);
        expect(first.stop).toBe('end');
      },
    );
  });

  test('thinking goes back as it came, and only behind an unchanged conversation with the same model', async () => {
    const script = () => ({ thinking: 'Deep.', text: 'Now.', toolCalls: [{ name: 'ReadTool', args: { path: 'a' } }] });
    await withServer(script, async (server) => {
      const provider = open(server.url);
      const { parts } = answered(await provider.stream(requestOf([ASK]), { signal: never() }));
      const result = { callId: 'call_0_0', name: 'ReadTool', text: 'one', isError: false };
      const history: ModelMessage[] = [ASK, { role: 'assistant', parts }, { role: 'tool', results: [result] }];
      const sent = async (messages: readonly ModelMessage[], more = {}) => {
        await provider.stream(requestOf(messages, more), { signal: never() });
        return server.requests.at(-1)?.body ?? '';
      };
      const mark = { anthropic: 'signed-0', responses: 'sealed-0', chat: 'Deep.' }[api];
      const goesBack = api !== 'chat';
      expect((await sent(history)).includes(mark)).toBe(goesBack);
      expect(await sent(history, { model: 'scripted-2' })).not.toContain(mark);
      expect(await sent(history, { system: 'Another mode.' })).not.toContain(mark);
      expect(await sent([{ role: 'user', text: 'Summary.' }, ...history])).not.toContain(mark);
      for (const other of MODEL_APIS.filter((one) => one.api !== api)) {
        await other.open(server.url).stream(requestOf(history), { signal: never() });
        expect(server.requests.at(-1)?.body).not.toContain(mark);
      }
    });
  });

  test('E10: arguments that are no JSON object come back untouched, and can be sent again', async () => {
    const broken = ['{"path": "a', '[1, 2]', '"text"', 'rm -rf'];
    const script = () => ({ toolCalls: broken.map((args) => ({ name: 'ReadTool', args })) });
    await withServer(script, async (server) => {
      const provider = open(server.url);
      const { parts } = answered(await provider.stream(requestOf([ASK]), { signal: never() }));
      expect(parts.map((part) => part.type === 'tool_call' && part.rawArgs)).toEqual(broken);
      const results = broken.map((_, at) => ({ callId: `call_0_${at}`, name: 'ReadTool', text: 'no', isError: true }));
      const again: ModelMessage[] = [ASK, { role: 'assistant', parts }, { role: 'tool', results }];
      answered(await provider.stream(requestOf(again), { signal: never() }));
      const sent = JSON.stringify(JSON.parse(server.requests[1]?.body ?? ''));
      for (const args of broken) {
        const wrapped = { _raw: args };
        expect(sent).toContain(api === 'anthropic' ? JSON.stringify(wrapped) : JSON.stringify(JSON.stringify(wrapped)));
      }
    });
  });

  test('E9: calls with ids and names that another server made up can be sent, each with its result', async () => {
    const odd = ['functions.LS:0', `id-${'x'.repeat(90)}`, 'plain_1'];
    const parts = odd.map((callId) => ({ type: 'tool_call', callId, name: 'a.b c', rawArgs: '{}' }) as const);
    const results = odd.map((callId) => ({ callId, name: 'a.b c', text: 'no such tool', isError: true }));
    await withServer(
      () => ({ text: 'ok' }),
      async (server) => {
        const history: ModelMessage[] = [ASK, { role: 'assistant', parts }, { role: 'tool', results }];
        answered(await open(server.url).stream(requestOf(history), { signal: never() }));
        const body = server.requests[0]?.body ?? '';
        const ids = [...body.matchAll(/"(?:tool_use_id|call_id|tool_call_id|id)":"([^"]+)"/g)].map(([, id]) => id);
        expect(ids).toHaveLength(2 * odd.length);
        expect(ids.slice(0, 3)).toEqual(ids.slice(3));
        expect(new Set(ids).size).toBe(3);
        if (api === 'chat') expect(ids.slice(0, 3)).toEqual(odd);
        else for (const id of ids) expect(id).toMatch(/^[\w-]{1,64}$/);
        if (api !== 'chat') expect(body).toContain('"name":"a_b_c"');
      },
    );
  });

  test('a call without arguments has an empty object', async () => {
    await withServer(
      () => ({ toolCalls: [{ name: 'ReadTool', args: '' }] }),
      async (server) => {
        const answer = answered(await open(server.url).stream(requestOf([ASK]), { signal: never() }));
        expect(answer.parts).toMatchObject([{ type: 'tool_call', rawArgs: '{}' }]);
      },
    );
  });

  test('G7: the models of a server can be listed', async () => {
    await withServer(
      () => ({}),
      async (server) => {
        expect(await open(server.url).listModels(never())).toEqual({ ok: true, value: ['scripted'] });
      },
    );
  });
});
