// Every way in which an answer can fail to arrive, through the real SDKs over HTTP.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import type { ScriptedAnswer } from '../../llm/scripted/script.ts';
import type { ScriptedServer } from '../../llm/scripted/server.ts';
import type { ModelMessage, Usage } from '../../shared/messages.ts';
import { withEnoughTime } from '../support/enough-time.ts';
import { answered, failed, MODEL_APIS, never, requestOf, TEST_KEY, withServer } from '../support/model-apis.ts';
import { until } from '../support/until.ts';

const ASK: ModelMessage[] = [{ role: 'user', text: 'Hello' }];
const LONG = 'word '.repeat(200);
const hasHeard = ({ requests }: ScriptedServer): true | undefined => requests.length > 0 || undefined;

describe.each(MODEL_APIS)('$api', ({ api, open }) => {
  const failureOf = (answer: ScriptedAnswer, idleTimeoutMs = 120_000) =>
    withServer(
      () => answer,
      async (server) => {
        const outcome = await open(server.url, { idleTimeoutMs }).stream(requestOf(ASK), { signal: never() });
        expect(server.requests).toHaveLength(1);
        return failed(outcome);
      },
    );

  test.each([
    ['quiet_end', 'transient', 'cut_stream'],
    ['cut', 'transient', 'cut_stream'],
    ['bad_json', 'transient', 'cut_stream'],
    ['http_529', 'transient', 'overloaded'],
    ['http_500', 'transient', 'server_error'],
    ['http_401', 'failed', 'auth'],
    ['http_400_context', 'failed', 'context_too_long'],
  ] as const)('E9: %s is %s, %s, and is not tried again here', async (fault, kind, code) => {
    expect(await failureOf({ text: LONG, fault })).toMatchObject({ kind, code });
  });

  test('E9: an error event in the stream is transient', async () => {
    const failure = await failureOf({ text: LONG, fault: 'error_event' });
    expect(failure.kind).toBe('transient');
    expect(['overloaded', 'server_error']).toContain(failure.code);
  });

  test('E9: a stream that goes silent is given up after the idle time, and its request is aborted', async () => {
    await withServer(
      () => ({ text: LONG, fault: 'stall' }),
      async (server) => {
        await withEnoughTime(150, async (idleTimeoutMs) => {
          const provider = open(server.url, { idleTimeoutMs });
          const failure = failed(await provider.stream(requestOf(ASK), { signal: never() }));
          expect(failure).toMatchObject({ kind: 'transient', code: 'stalled_stream' });
          return hasHeard(server);
        });
        await until(() => server.requests.every(({ aborted }) => aborted));
      },
    );
  });

  test('E9: a stream that is slow but alive is not given up', async () => {
    let pieceDelayMs = 0;
    await withServer(
      () => ({ text: LONG, chunkSize: 50, pieceDelayMs }),
      async (server) => {
        // Its twenty pieces take longer than a silence may. A machine that stands still for so long makes a silence of its own.
        const { stop } = await withEnoughTime(300, async (idleTimeoutMs) => {
          pieceDelayMs = idleTimeoutMs / 15;
          const outcome = await open(server.url, { idleTimeoutMs }).stream(requestOf(ASK), { signal: never() });
          return outcome.ok ? outcome.value : undefined;
        });
        expect(stop).toBe('end');
      },
    );
  });

  test.each([
    [7, 7_000],
    ['0.5', 500],
  ])('E9: a 429 says how long to wait: Retry-After %s is %s ms', async (retryAfter, retryAfterMs) => {
    const failure = await failureOf({ fault: 'http_429', retryAfter });
    expect(failure).toMatchObject({ kind: 'transient', code: 'rate_limit', retryAfterMs });
  });

  test('E9: a Retry-After date counts from now', async () => {
    const failure = await failureOf({ fault: 'http_429', retryAfter: new Date(Date.now() + 60_000).toUTCString() });
    expect(failure.retryAfterMs).toBeGreaterThan(30_000);
    expect(failure.retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test('a refused key is named as the problem, and never shown', async () => {
    const { message } = await failureOf({ fault: 'http_401' });
    expect(message).toMatch(/HTTP 401.*\[key\].*Check the key/);
    expect(message).not.toContain(TEST_KEY);
  });

  test('E11: an abort in the middle of an answer ends the call as cancelled, and the request with it', async () => {
    await withServer(
      () => ({ text: LONG, chunkSize: 10, pieceDelayMs: 5 }),
      async (server) => {
        const controller = new AbortController();
        const outcome = await open(server.url).stream(requestOf(ASK), {
          signal: controller.signal,
          onDelta: () => controller.abort(),
        });
        expect(failed(outcome)).toMatchObject({ kind: 'cancelled', code: 'cancelled' });
        await until(() => server.requests[0]?.aborted === true);
      },
    );
  });

  test('E11: an abort before the first byte, and before the call, are cancelled too', async () => {
    const controller = new AbortController();
    const script = () => {
      setImmediate(() => controller.abort());
      return { text: LONG, fault: 'stall' as const };
    };
    await withServer(script, async (server) => {
      const provider = open(server.url);
      const options = { signal: controller.signal };
      expect(failed(await provider.stream(requestOf(ASK), options)).kind).toBe('cancelled');
      expect(failed(await provider.stream(requestOf(ASK), options)).kind).toBe('cancelled');
      expect(server.requests).toHaveLength(1);
    });
  });

  test('an answer cut by its token limit says so: its half tool call is not to be run', async () => {
    const answer = { text: 'So', toolCalls: [{ name: 'ReadTool', args: { path: 'abcdef' } }], fault: 'max_tokens' };
    await withServer(
      () => answer as ScriptedAnswer,
      async (server) => {
        const { stop, parts } = answered(await open(server.url).stream(requestOf(ASK), { signal: never() }));
        expect(stop).toBe('max_tokens');
        expect(parts[1]).toMatchObject({ type: 'tool_call', rawArgs: '{"path":' });
      },
    );
  });

  test('a server that is not there is a network failure that names it', async () => {
    const url = await withServer(
      () => ({}),
      async (server) => server.url,
    );
    const failure = failed(await open(url).stream(requestOf(ASK), { signal: never() }));
    expect(failure).toMatchObject({ kind: 'transient', code: 'network' });
    expect(failure.message).toContain('ECONNREFUSED');
    expect(failed(await open(url).listModels(never()))).toMatchObject({ kind: 'transient', code: 'network' });
  });

  test('SAFETY 5: a server that redirects gets no key and no conversation sent elsewhere, and is told of', async () => {
    await withServer(
      () => ({ text: 'Stolen.' }),
      async (elsewhere) => {
        const redirecting = createServer((request, response) => {
          response.writeHead(307, { location: `${elsewhere.url}${request.url}` }).end();
        }).listen(0, '127.0.0.1');
        await once(redirecting, 'listening');
        try {
          const { port } = redirecting.address() as AddressInfo;
          const provider = open(`http://127.0.0.1:${port}`);
          const failure = failed(await provider.stream(requestOf(ASK), { signal: never() }));
          expect(failure).toMatchObject({ kind: 'failed', code: 'bad_response' });
          expect(failure.message).toMatch(/unexpected redirect.* set that other one as its base URL/);
          expect(failed(await provider.listModels(never()))).toMatchObject({ kind: 'failed', code: 'bad_response' });
          expect(elsewhere.requests).toHaveLength(0);
        } finally {
          redirecting.close();
        }
      },
    );
  });

  test('E9: pings keep a line open for its quiet time and no longer', async () => {
    await withServer(
      () => ({ fault: 'pings' }),
      async (server) => {
        await withEnoughTime(200, async (quietTimeoutMs) => {
          const provider = open(server.url, { idleTimeoutMs: 120_000, quietTimeoutMs });
          const failure = failed(await provider.stream(requestOf(ASK), { signal: never() }));
          expect(failure).toMatchObject({ kind: 'transient', code: 'stalled_stream' });
          const seconds = quietTimeoutMs / 1000;
          expect(failure.message).toContain(`kept the line open for ${seconds} s without a word of the answer`);
          return hasHeard(server);
        });
        await until(() => server.requests.every(({ aborted }) => aborted));
      },
    );
  });

  test('E11: an answer that takes longer than it may is ended, and that is not tried again', async () => {
    await withServer(
      () => ({ text: LONG.repeat(10), chunkSize: 1, pieceDelayMs: 5 }),
      async (server) => {
        let calls = 0;
        await withEnoughTime(200, async (timeoutMs) => {
          calls += 1;
          const failure = failed(await open(server.url).stream(requestOf(ASK), { signal: never(), timeoutMs }));
          expect(failure).toMatchObject({ kind: 'failed', code: 'step_timeout' });
          return hasHeard(server);
        });
        // One that was given up on its way may still be heard.
        expect(server.requests.length).toBeLessThanOrEqual(calls);
        await until(() => server.requests.every(({ aborted }) => aborted));
      },
    );
  });

  test('E9: a page of a proxy is told by its title, whatever its status; an error with a good status is an error', async () => {
    expect(await failureOf({ fault: 'page_502' })).toMatchObject({ kind: 'transient', code: 'server_error' });
    expect((await failureOf({ fault: 'page_502' })).message).toMatch(/a page of HTML, “502 Bad Gateway”/);
    const page = await failureOf({ fault: 'page_200' });
    expect(page).toMatchObject({ kind: 'failed', code: 'bad_response' });
    expect(page.message).toMatch(/text\/html instead of a stream: a page of HTML, “502 Bad Gateway”.*base URL/);
    expect(page.message).not.toContain('<');
    expect(await failureOf({ fault: 'json_200' })).toMatchObject({ kind: 'transient' });
  });

  test('E8: what was counted before an answer broke off is told', async () => {
    await withServer(
      () => ({ text: LONG, fault: 'cut' }),
      async (server) => {
        const told: Usage[] = [];
        const onUsage = (usage: Usage) => void told.push(usage);
        failed(await open(server.url).stream(requestOf(ASK), { signal: never(), onUsage }));
        const input = Math.ceil(Buffer.byteLength(server.requests[0]?.body ?? '') / 4);
        // OpenAI's APIs count at the end only.
        expect(told).toEqual(api === 'anthropic' ? [{ input, output: 1, cacheRead: 0, cacheWrite: 0 }] : []);
      },
    );
  });

  test('nothing is printed to the console, whatever goes wrong', async () => {
    const printed: unknown[] = [];
    const names = ['error', 'warn', 'info', 'log', 'debug'] as const;
    const before = names.map((name) => console[name]);
    for (const name of names) console[name] = (...args: unknown[]) => void printed.push(args);
    try {
      for (const fault of ['bad_json', 'http_529', 'cut'] as const) await failureOf({ text: LONG, fault });
    } finally {
      for (const [at, name] of names.entries()) console[name] = before[at] as typeof console.log;
    }
    expect(printed).toEqual([]);
  });
});

test('E9: a chat completion whose finish reason is an error is a cut stream, not an answer', async () => {
  const chat = MODEL_APIS.find(({ api }) => api === 'chat');
  await withServer(
    () => ({ text: LONG, fault: 'finish_error' }),
    async (server) => {
      const outcome = await chat?.open(server.url).stream(requestOf(ASK), { signal: never() });
      expect(outcome).toMatchObject({ ok: false, failure: { kind: 'transient', code: 'cut_stream' } });
    },
  );
});
