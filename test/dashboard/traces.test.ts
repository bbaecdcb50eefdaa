// Traces as a collector gets them, over HTTP.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import * as z from 'zod';
import { openTraces } from '../../dashboard/traces.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { NO_USAGE } from '../../shared/messages.ts';
import { openDashboard } from '../support/dashboard.ts';
import { withWorld } from '../support/odin-world.ts';
import { until } from '../support/until.ts';

const attributesSchema = z.array(
  z.strictObject({
    key: z.string(),
    value: z.union([
      z.strictObject({ stringValue: z.string() }),
      z.strictObject({ intValue: z.string().regex(/^\d+$/) }),
    ]),
  }),
);
const spanSchema = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: z.string().regex(/^\d{19}$/),
  endTimeUnixNano: z.string().regex(/^\d{19}$/),
  attributes: attributesSchema,
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
});
/** What OTLP's protocol buffers are as JSON: nothing more, ids in hexadecimal, 64-bit numbers as text, enums as numbers. */
const sentSchema = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: attributesSchema }),
      scopeSpans: z.array(z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(spanSchema) })),
    }),
  ),
});
type Sent = z.infer<typeof sentSchema>;
type SentSpan = z.infer<typeof spanSchema>;

/** Takes what fits OTLP, and says 400 to the rest; to the first request it says something else. */
async function startCollector(first: number) {
  const spans: SentSpan[] = [];
  const paths: string[] = [];
  const about: Sent['resourceSpans'][number]['resource']['attributes'] = [];
  let answer = first;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    request.on('end', () => {
      paths.push(`${request.method} ${request.url} ${String(request.headers['x-team'])}`);
      const sent = sentSchema.safeParse(JSON.parse(text));
      if (answer === 200 && sent.success) {
        about.push(...sent.data.resourceSpans.flatMap(({ resource }) => resource.attributes));
        spans.push(...sent.data.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)));
      }
      response.writeHead(sent.success ? answer : 400).end('{}');
      answer = 200;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    paths,
    about,
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
  const collector = await startCollector(503);
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
      .reduce((all, { value }) => all + Number('intValue' in value ? value.intValue : Number.NaN), 0);
    expect(sum).toBe((await owner.state(sid)).messages[0]?.usage.input);
    expect(JSON.stringify(spans)).not.toMatch(/secret|a\.txt/);
  });
  await collector.close();
});

test('E16: what a collector refuses for good is told and left out, and what follows is sent', async () => {
  const collector = await startCollector(400);
  const errors: string[] = [];
  const env = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test%20bed,service.name=other,share=100%',
    OTEL_SERVICE_NAME: 'mine',
  };
  const at = 1_800_000_000_000;
  const traces = openTraces(
    env,
    () => at,
    (error) => errors.push(String(error)),
  );
  const models = { model: 'a/b', smallModel: 'a/b', body: { inline: '' }, mid: 'm', mode: 'ask' as const };
  const limits = { maxSteps: 1 };
  for (let seq = 1; seq <= 501; seq++) {
    traces?.take('s', { id: `${seq}-0`, event: { type: 'msg.start', seq, at, limits, ...models } });
    const done = { status: 'completed', steps: 1, seq, at: at + 1, answer: { inline: '' }, usage: NO_USAGE } as const;
    traces?.take('s', { id: `${seq}-1`, event: { type: 'msg.done', ...done } });
  }
  await traces?.close();
  expect(errors).toEqual(['Error: The collector of traces refused 500 spans: 400.']);
  expect(collector.paths).toEqual(['POST /own undefined', 'POST /own undefined']);
  expect(collector.spans).toHaveLength(1);
  expect(collector.about).toEqual([
    { key: 'service.name', value: { stringValue: 'mine' } },
    { key: 'deployment.environment', value: { stringValue: 'test bed' } },
    { key: 'share', value: { stringValue: '100%' } },
  ]);
  await collector.close();
});
