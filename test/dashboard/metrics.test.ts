// /metrics: who may read it, and that its figures are those of what was done.

import { readFileSync, statSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { createFiles } from '../../orchestrator/files/files.ts';
import { publishFigures, readFigures } from '../../orchestrator/watch/figures.ts';
import { ask, openDashboard } from '../support/dashboard.ts';
import { withWorld } from '../support/odin-world.ts';
import { startTestRedis } from '../support/redis.ts';

test('E16: /metrics counts turns, steps, tokens, tools, retries and waiting messages as they were, for its token alone', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (turn.userText.startsWith('stall')) return { text: 'on and on', fault: 'stall' };
    if (turn.requestIndex === 0) return { fault: 'http_529' };
    return turn.stepOfMessage === 0
      ? {
          toolCalls: [
            { name: 'ReadFile', args: { file_path: 'a.txt' } },
            { name: 'Made_up_by_the_model', args: {} },
          ],
        }
      : { text: 'fine' };
  };
  await withWorld({ script, files: { 'a.txt': 'a\n' } }, async (world) => {
    const owner = await world.open({ retryDelayMs: () => 1 });
    const dashboard = await openDashboard(world);
    const { origin } = dashboard;
    const sid = owner.newSession();
    await world.ask(owner, sid, { mode: 'ask', body: 'hello' });
    const stop = new AbortController();
    const stream = owner.follow(sid, { from: '$', signal: stop.signal });
    await owner.submit(sid, { mode: 'ask', body: 'stall' });
    await owner.submit(sid, { mode: 'ask', body: 'behind it' });
    for await (const event of stream) if (event.type === 'StreamText') stop.abort();

    expect((await ask(origin, '/metrics')).status).toBe(401);
    expect((await ask(origin, '/metrics', { headers: { authorization: 'Bearer x' } })).status).toBe(401);
    expect(statSync(dashboard.metricsTokenFile).mode & 0o777).toBe(0o600);
    const headers = { authorization: `Bearer ${readFileSync(dashboard.metricsTokenFile, 'utf8').trim()}` };
    expect((await ask(origin, '/api/about', { headers })).status).toBe(401);
    const read = async () => (await ask(origin, '/metrics', { headers })).text;
    let text = await read();
    while (!text.includes('odin_queue_messages 1')) text = await read();
    const { usage } = await owner.state(sid);
    for (const line of [
      'odin_turn_seconds_count{mode="ask",status="completed"} 1',
      'odin_step_seconds_count{model="anthropic/scripted"} 2',
      `odin_tokens_total{model="anthropic/scripted",kind="input"} ${usage.input}`,
      `odin_tokens_total{model="anthropic/scripted",kind="output"} ${usage.output}`,
      'odin_unpriced_calls_total{model="anthropic/scripted"} 2',
      'odin_tool_seconds_count{tool="ReadFile",status="ok"} 1',
      'odin_tool_seconds_count{tool="invalid",status="invalid"} 1',
      'odin_model_retries_total{code="overloaded"} 1',
      'odin_resumes_total 0',
      'odin_sessions{status="running"} 1',
      'odin_journal_events_total{type="msg.done"} 1',
    ]) {
      expect(text).toContain(`\n${line}\n`);
    }
    expect(Number(/^odin_queue_oldest_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
    expect(Number(/^odin_journal_bytes_total (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(1000);
    expect(text).not.toMatch(/Made_up|hello|behind/);
    await dashboard.close();
  });
});

test('E16: an orchestrator tells its file cache, locks and event loop through Redis, and a page is sent them', async () => {
  const redis = await startTestRedis();
  const files = createFiles({ root: redis.home, blobs: openBlobs(redis.home) });
  expect(await readFigures(redis.handle.client, 'w')).toBeNull();
  const publisher = publishFigures({ redis: redis.handle.client, ws: 'w', files }, 5);
  let figures = await readFigures(redis.handle.client, 'w');
  while (figures === null) figures = await readFigures(redis.handle.client, 'w');
  publisher.stop();
  expect(figures).toMatchObject({ pid: process.pid, cache: { hits: 0, entries: 0 }, locks: { waits: 0, waitedMs: 0 } });
  expect(figures.rssBytes).toBeGreaterThan(1_000_000);
  await redis.handle.client.set('{odin}:ws:w:figures', '{"pid":"no"}');
  expect(await readFigures(redis.handle.client, 'w')).toBeNull();
  await redis.close();
});
