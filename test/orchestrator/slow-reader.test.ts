// A follower that does not read: the owner goes on, memory stays bounded, and the follower gets every event of the journal in the end.

import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { createEventBus } from '../../orchestrator/event-bus.ts';
import { followFromRedis, followOwn } from '../../orchestrator/follow-session.ts';
import { ulid } from '../../shared/ids.ts';
import { NO_RATES } from '../../shared/spending.ts';
import { createStreamView } from '../../shared/stream-view.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { ask, claimed, done, inboxOf, update } from '../support/redis-session.ts';
import { until } from '../support/until.ts';

let server: TestRedis;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server.close());

const EVENTS = 12_000;

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('DURABILITY 15.14, O4: followers that read nothing while 12,000 events are appended get each of them once, in order', async () => {
  const redis = server.handle.client;
  const source = { redis, home: server.home };
  const blobs = openBlobs(server.home);
  const bus = createEventBus();
  const sid = ulid();
  await inboxOf(redis, server.home).submit(ask(sid, 'many'));
  const { journal } = await claimed(redis, sid, 1);
  const stop = new AbortController();
  const { signal } = stop;
  const own = followOwn(source, blobs, bus, sid, { from: '$', signal, rates: NO_RATES })[Symbol.asyncIterator]();
  const late = followOwn(source, blobs, bus, sid, { from: '0', signal, rates: NO_RATES })[Symbol.asyncIterator]();
  const elsewhere = followFromRedis(server.handle, source, blobs, sid, { from: '0', signal, rates: NO_RATES })[
    Symbol.asyncIterator
  ]();
  // What the bus holds for a reader, seen from outside: a subscription of our own that does not read either.
  const subscription = bus.subscribe(sid, signal);
  const view = createStreamView(sid);
  for (let n = 0; n < EVENTS; n++) {
    const event = update(1, `line ${n}`);
    const id = `1-${n + 1}`;
    const appended = journal.append(event);
    bus.publish(sid, () => view.journaled(id, event));
    bus.publish(sid, () => view.live({ type: 'text', op: '1.1.0', delta: 'x'.repeat(100) }, 0));
    if (n % 1000 === 999) {
      await appended;
      await turnOfLoop();
    }
  }
  await journal.finish(done(1));
  await until(() => subscription.lostFrom !== null);
  expect(subscription.lostFrom).toBe('1-1');

  const lines = Array.from({ length: EVENTS }, (_, n) => `line ${n}`);
  for (const reader of [own, late, elsewhere]) {
    const got: string[] = [];
    while (got.length < EVENTS) {
      const { value } = await reader.next();
      if (value?.type === 'ToolProgress') got.push(value.text);
    }
    expect(got).toEqual(lines);
  }
  // And what comes after that, live.
  bus.publish(sid, () => view.live({ type: 'text', op: '1.1.0', delta: 'after' }, 0));
  for (;;) {
    const { value } = await own.next();
    if (value?.type === 'StreamText' && value.delta === 'after') break;
  }
  stop.abort();
});

test('DURABILITY 15.14: a reader that has lost events ends without a later reader of the same session, and none leaves a listener behind', async () => {
  const bus = createEventBus();
  const sid = ulid();
  const stop = new AbortController();
  const { signal } = stop;
  const view = createStreamView(sid);
  const slow = bus.subscribe(sid, signal);
  bus.publish(sid, () =>
    Array.from({ length: EVENTS }, (_, n) => view.journaled(`1-${n + 1}`, update(1, `line ${n}`))).flat(),
  );
  await until(() => slow.lostFrom !== null);
  expect(slow.lostFrom).toBe('1-1');
  const later = bus.subscribe(sid, signal)[Symbol.asyncIterator]();
  expect(await slow[Symbol.asyncIterator]().next()).toMatchObject({ done: true });
  bus.publish(sid, () => view.live({ type: 'text', op: '1.1.0', delta: 'after' }, 0));
  expect(await later.next()).toMatchObject({ value: { type: 'StreamText', delta: 'after' } });
  await later.return?.();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
