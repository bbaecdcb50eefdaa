// A watch over real sessions in a real Redis, one of which nobody can read.

import { expect, test } from '@jest/globals';
import { archiveSession } from '../../../orchestrator/archive-move.ts';
import { keys } from '../../../orchestrator/keys.ts';
import { watchSessions } from '../../../orchestrator/watch/session-watch.ts';
import type { EventOf } from '../../../shared/events.ts';
import { ulid } from '../../../shared/ids.ts';
import { NO_USAGE } from '../../../shared/messages.ts';
import { NO_RATES } from '../../../shared/spending.ts';
import { startTestRedis } from '../../support/redis.ts';
import { ask, claimed, done, inboxOf, update, WS } from '../../support/redis-session.ts';
import { until } from '../../support/until.ts';

test('G1: a session that a newer Odin wrote stops no watch: the others are seen, and each of its events is told once at the most', async () => {
  const { handle, home, close } = await startTestRedis();
  const redis = handle.client;
  const inbox = inboxOf(redis, home);
  const [fine, strange] = [ulid(), ulid()];
  for (const sid of [fine, strange]) await inbox.submit(ask(sid, 'hello'));
  const { journal } = await claimed(redis, fine, 1);
  await journal.finish(done(1));
  await claimed(redis, strange, 1);
  // More than one reading brings.
  for (let n = 1; n <= 100; n++) {
    const text = JSON.stringify({ w: 'w', v: 99, e: { type: 'unheard of' } });
    await redis.xadd(keys.session(strange).log, `1-${n}`, 'd', text);
  }
  // The newest comes first.
  await redis.zadd(keys.workspace(WS).sessions, Date.now() + 1_000, strange);
  const told: string[] = [];
  const onEvent = (sid: string) => void told.push(sid);
  const watch = watchSessions({ redis, home, ws: WS, rates: NO_RATES, everyMs: 5, onEvent });
  try {
    await until(() => watch.isComplete() && watch.get(fine)?.status === 'idle');
    await inbox.submit(ask(fine, 'again'));
    await until(() => watch.get(fine)?.status === 'queued');
    expect(watch.get(strange)).toBeUndefined();
    expect(told).toEqual([fine, fine]);
  } finally {
    await watch.close();
    await close();
  }
});

test('C5 E16: nothing is read while nobody wants to know; who catches up has every event once; an archived session has a cost once it is in sight', async () => {
  const { handle, home, close } = await startTestRedis();
  const redis = handle.client;
  const inbox = inboxOf(redis, home);
  const [long, old] = [ulid(), ulid()];
  for (const sid of [long, old]) await inbox.submit(ask(sid, 'hello'));
  const spent = (model: string): EventOf<'aux.used'> => {
    const usage = { ...NO_USAGE, input: 7, output: 1 };
    return { type: 'aux.used', seq: 1, purpose: 'title', model, usage, at: Date.now() };
  };
  const archived = await claimed(redis, old, 1);
  for (const model of ['a/one', 'a/two']) void archived.journal.append(spent(model));
  await archived.journal.finish(done(1));
  expect(await archiveSession({ redis, home }, old)).toBe('archived');
  const running = await claimed(redis, long, 1);
  // More than one reading brings.
  const texts = Array.from({ length: 150 }, (_, n) => `text ${n}`);
  for (const text of texts) void running.journal.append(update(1, text));
  await running.journal.flushed();

  const told: string[] = [];
  let sight: readonly string[] = [];
  const watch = watchSessions({
    ...{ redis, home, ws: WS, everyMs: 1, isWanted: () => false, seen: () => sight },
    rates: { ...NO_RATES, costOf: (spending) => Object.keys(spending).length },
    onEvent: (_sid, { event }) => void told.push(event.type === 'update' ? event.text : event.type),
  });
  try {
    for (let i = 0; i < 20; i++) await redis.ping();
    expect([watch.rev(), watch.all()]).toEqual([0, []]);
    expect(await redis.info('commandstats')).not.toContain('cmdstat_zrevrangebyscore');
    await watch.catchUp(60_000);
    expect(told).toEqual(['claim', ...texts]);
    expect([watch.unread(), watch.isComplete()]).toEqual([0, true]);
    expect(watch.get(long)).toMatchObject({ status: 'running', isRead: true, costUsd: 0 });
    expect(watch.get(old)).toMatchObject({ status: 'archived', isRead: false });
    sight = [old];
    await running.journal.finish(done(1));
    await watch.catchUp(60_000);
    expect(watch.get(old)).toMatchObject({ status: 'archived', isRead: true, costUsd: 2 });
    expect(watch.get(long)?.status).toBe('idle');
    expect(told).toEqual(['claim', ...texts, 'msg.done']);
  } finally {
    await watch.close();
    await close();
  }
});

test('C5 O6: the end of a removed message is seen, though it is no activity of its session', async () => {
  const { handle, home, close } = await startTestRedis();
  const inbox = inboxOf(handle.client, home);
  const sid = ulid();
  for (const body of ['one', 'two']) await inbox.submit(ask(sid, body));
  await inbox.removeWaiting(sid, 2);
  const first = await claimed(handle.client, sid, 1);
  await first.journal.finish(done(1));
  const told: string[] = [];
  const watch = watchSessions({
    ...{ redis: handle.client, home, ws: WS, rates: NO_RATES, everyMs: 1, isWanted: () => false },
    onEvent: (_sid, { event }) => void told.push(event.type),
  });
  try {
    await watch.catchUp(60_000);
    expect(told).toEqual(['claim', 'msg.done']);
    const second = await claimed(handle.client, sid, 2);
    await second.journal.finish(done(2));
    await watch.catchUp(60_000);
    expect(told).toEqual(['claim', 'msg.done', 'claim', 'msg.done']);
    expect(watch.get(sid)).toMatchObject({ status: 'idle', queued: 0 });
  } finally {
    await watch.close();
    await close();
  }
});

test('C5 O24: a question that waits where nobody looks is told, however much is in sight', async () => {
  const { handle, home, close } = await startTestRedis();
  const redis = handle.client;
  const inbox = inboxOf(redis, home);
  const [busy, asking] = [ulid(), ulid()];
  for (const sid of [busy, asking]) await inbox.submit(ask(sid, 'hello'));
  await claimed(redis, busy, 1);
  const { journal } = await claimed(redis, asking, 1);
  const question = { id: 'q1', tool: 'ExecuteCommand', title: 'Run it?', detail: '', reasons: [], argsHash: 'h' };
  void journal.append({ type: 'perm.ask', op: '1.1.1', question, at: Date.now() });
  await journal.flushed();
  // So short a period that what is in sight takes all that it allows.
  const watch = watchSessions({ redis, home, ws: WS, rates: NO_RATES, everyMs: 0.001, seen: () => [busy] });
  const leave = watch.look(busy, () => {});
  try {
    await until(() => watch.questions().length > 0);
    expect(watch.questions()).toMatchObject([{ id: 'q1', sid: asking }]);
  } finally {
    leave();
    await watch.close();
    await close();
  }
});

test('C5 O24: of a thousand sessions that run, the one that asks is read at once, and its answer too', async () => {
  const { handle, home, close } = await startTestRedis();
  const redis = handle.client;
  const inbox = inboxOf(redis, home);
  const { asking } = keys.workspace(WS);
  const crowd = Array.from({ length: 1_000 }, () => ulid());
  const [shy] = crowd as [string];
  for (const sid of crowd) await inbox.submit(ask(sid, 'hello'));
  const { journal } = await claimed(redis, shy, 1);
  // Passes come when the test says so, and none has time for more than it must read.
  const watch = watchSessions({ redis, home, ws: WS, rates: NO_RATES, everyMs: 1, isWanted: () => false });
  try {
    await watch.catchUp(60_000);
    expect(watch.isComplete()).toBe(true);
    // From here on all seem to have moved, and the one that asks comes last.
    for (const [i, sid] of crowd.entries()) await redis.zadd(keys.workspace(WS).sessions, Date.now() + 10_000 - i, sid);
    const question = { id: 'q1', tool: 'ExecuteCommand', title: 'Run it?', detail: '', reasons: [], argsHash: 'h' };
    void journal.append({ type: 'perm.ask', op: '1.1.1', question, at: Date.now() });
    await journal.flushed();
    // Crashes have left some in the set, more than one pass reads.
    await redis.sadd(asking, ...crowd.slice(1, 100));
    for (let pass = 0; watch.questions().length === 0 && pass < 4; pass++) await watch.catchUp(0);
    expect(watch.questions()).toMatchObject([{ id: 'q1', sid: shy }]);

    void journal.append({
      type: 'perm.answer',
      op: '1.1.1',
      questionId: 'q1',
      decision: 'allow',
      by: 'user',
      at: Date.now(),
    });
    await journal.flushed();
    expect(await redis.sismember(asking, shy)).toBe(0);
    for (let pass = 0; watch.questions().length > 0 && pass < 4; pass++) await watch.catchUp(0);
    expect(watch.questions()).toEqual([]);
  } finally {
    await watch.close();
    await close();
  }
});

test('C5 O24: the end of a message takes its session out of those that ask, whatever became of its questions', async () => {
  const { handle, home, close } = await startTestRedis();
  const redis = handle.client;
  const sid = ulid();
  await inboxOf(redis, home).submit(ask(sid, 'hello'));
  const { journal } = await claimed(redis, sid, 1);
  const question = { id: 'q1', tool: 'ExecuteCommand', title: 'Run it?', detail: '', reasons: [], argsHash: 'h' };
  // A subagent's.
  const asks = { type: 'perm.ask', op: '1.1.1', question, at: Date.now() } as const;
  void journal.append({ type: 'agent.ev', aid: 'a1', event: asks, at: Date.now() });
  await journal.flushed();
  expect(await redis.smembers(keys.workspace(WS).asking)).toEqual([sid]);
  // One that travels with the end is over with it.
  void journal.append({ ...asks, question: { ...question, id: 'q2' } });
  await journal.finish(done(1));
  expect(await redis.smembers(keys.workspace(WS).asking)).toEqual([]);
  await close();
});
