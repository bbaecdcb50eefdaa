import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keys } from '../../orchestrator/keys.ts';
import { openLiveStream } from '../../orchestrator/live-stream.ts';
import type { LiveEvent } from '../../shared/events.ts';
import { ulid } from '../../shared/ids.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

let redis: TestRedis;

beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.close());

const entriesOf = async (sid: string): Promise<{ after: string; events: LiveEvent[] }[]> =>
  (await redis.handle.client.xrange(keys.session(sid).live, '-', '+')).map(([, fields]) =>
    JSON.parse(fields[1] ?? '{}'),
  );

test('G4: a thousand deltas become few entries that hold the same text in the same order', async () => {
  const sid = ulid();
  const live = openLiveStream(redis.handle.client, sid, () => '3-7');
  let text = '';
  for (let i = 0; i < 1000; i++) {
    live.publish({ type: 'text', op: '1.1.0', delta: `${i} ` });
    text += `${i} `;
    if (i % 100 === 0) await new Promise(setImmediate);
  }
  live.publish({ type: 'args', op: '1.1.0', callId: 'a', name: 'ReadTool', delta: '{"pa' });
  live.publish({ type: 'args', op: '1.1.0', callId: 'a', name: 'ReadTool', delta: 'th"' });
  live.publish({ type: 'args', op: '1.1.0', callId: 'b', name: 'ReadTool', delta: '{}' });
  live.publish({ type: 'progress', op: '1.1.1', text: 'half' });
  await live.flush();
  const entries = await entriesOf(sid);
  expect(entries.length).toBeLessThan(20);
  expect(entries.every(({ after }) => after === '3-7')).toBe(true);
  const events = entries.flatMap((entry) => entry.events);
  expect(events.flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join('')).toBe(text);
  expect(events.slice(-3)).toEqual([
    { type: 'args', op: '1.1.0', callId: 'a', name: 'ReadTool', delta: '{"path"' },
    { type: 'args', op: '1.1.0', callId: 'b', name: 'ReadTool', delta: '{}' },
    { type: 'progress', op: '1.1.1', text: 'half' },
  ]);
  expect(await redis.handle.client.ttl(keys.session(sid).live)).toBeGreaterThan(0);
});

test('G4: with Redis away deltas are dropped, and nobody waits for them', async () => {
  const copy = await redis.handle.duplicate();
  await copy.ping();
  copy.disconnect();
  const sid = ulid();
  const live = openLiveStream(copy, sid, () => '1-1');
  live.publish({ type: 'text', op: '1.1.0', delta: 'lost' });
  await live.flush();
  expect(await entriesOf(sid)).toEqual([]);
});
