// Traces as a collector gets them, over HTTP.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { openDashboard } from '../support/dashboard.ts';
import { withWorld } from '../support/odin-world.ts';
import { until } from '../support/until.ts';

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string };
  }[];
  readonly status: { readonly code: number; readonly message?: string };
}
interface Sent {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[] }[];
}

/** Refuses the first request. */
async function startCollector() {
  const spans: SentSpan[] = [];
  const paths: string[] = [];
  let refused = false;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    request.on('end', () => {
      paths.push(`${request.method} ${request.url} ${String(request.headers['x-team'])}`);
      if (refused)
        spans.push(
          ...(JSON.parse(text) as Sent).resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)),
        );
      response.writeHead(refused ? 200 : 503).end('{}');
      refused = true;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    paths,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

test('E16: with OTEL_* set each message is one trace: message, requests and calls, with their times and tokens and without texts', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (turn.requestIndex === 0) return { fault: 'http_529' };
    return turn.stepOfMessage === 0
      ? {
          text: 'secret plan',
          toolCalls: [
            { name: 'ReadFile', args: { file_path: 'a.txt' } },
            { name: 'ReadFile', args: { file_path: 'none' } },
          ],
        }
      : { text: 'secret answer' };
  };
  const collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b' };
  await withWorld({ script, files: { 'a.txt': 'a\n' } }, async (world) => {
    const owner = await world.open({ retryDelayMs: () => 1 });
    const dashboard = await openDashboard(world, { env });
    const sid = owner.newSession();
    await world.ask(owner, sid, { mode: 'ask', body: 'secret question' });
    await world.ask(owner, sid, { mode: 'ask', body: 'again' });
    const { spans } = collector;
    // What was refused is sent again.
    await until(() => spans.filter(({ name }) => name === 'message').length === 2);
    await dashboard.close();
    expect(collector.paths.every((path) => path === 'POST /v1/traces a b')).toBe(true);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    const [root, ...more] = spans.filter(({ name }) => name === 'message');
    expect(more).toHaveLength(1);
    const first = spans.filter(({ traceId }) => traceId === root?.traceId);
    expect(first.map(({ name, status }) => [name, status.message ?? 'ok']).toSorted()).toEqual([
      ['chat', 'ok'],
      ['chat', 'ok'],
      ['chat', 'overloaded'],
      ['message', 'ok'],
      ['tool ReadFile', 'failed'],
      ['tool ReadFile', 'ok'],
    ]);
    for (const span of first) {
      expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
      expect(span.parentSpanId).toBe(span === root ? undefined : root?.spanId);
      expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(root?.startTimeUnixNano ?? 0));
      expect(BigInt(span.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(root?.endTimeUnixNano ?? 0));
    }
    const chats = first.filter(({ name, status }) => name === 'chat' && status.code === 1);
    const sum = chats
      .flatMap(({ attributes }) => attributes.filter(({ key }) => key === 'gen_ai.usage.input_tokens'))
      .reduce((all, { value }) => all + Number(value.intValue), 0);
    expect(sum).toBe((await owner.state(sid)).messages[0]?.usage.input);
    expect(JSON.stringify(spans)).not.toMatch(/secret|a\.txt/);
  });
  await collector.close();
});
