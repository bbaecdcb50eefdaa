import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keys, workspaceId } from '../../orchestrator/keys.ts';
import type { OdinRedis } from '../../orchestrator/redis.ts';
import { ulid } from '../../shared/ids.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { ask, claimed, done, inboxOf } from '../support/redis-session.ts';

let redis: TestRedis;
let client: OdinRedis;

beforeAll(async () => {
  redis = await startTestRedis();
  client = redis.handle.client;
});
afterAll(() => redis.close());

test('O6: a message is accepted once per client id, whenever and however often it comes', async () => {
  const inbox = inboxOf(client, redis.home);
  const sid = ulid();
  const first = await inbox.submit(ask(sid, 'one', 'm1'));
  expect(first).toEqual({ seq: 1, position: 0, duplicate: false, wake: { sid, seq: 1, mode: 'ask', gen: 0 } });
  expect(await inbox.submit(ask(sid, 'two', 'm2'))).toEqual({ seq: 2, position: 1, duplicate: false, wake: null });
  expect(await inbox.submit(ask(sid, 'one', 'm1'))).toEqual({ ...first, duplicate: true });
  const { journal } = await claimed(client, sid, 1);
  await journal.finish(done(1));
  expect(await inbox.submit(ask(sid, 'one', 'm1'))).toMatchObject({ seq: 1, duplicate: true, wake: null });
  expect(await inbox.head(sid)).toEqual({ seq: 2, cursor: 1, claimed: 1 });
});

test('O6: two that wait change places with all that belongs to them, also a command and its limits; a third time the same request changes nothing', async () => {
  const inbox = inboxOf(client, redis.home);
  const sid = ulid();
  await inbox.submit(ask(sid, 'runs'));
  const first = await claimed(client, sid, 1);
  const command = { type: 'undo', count: 2 } as const;
  await inbox.submit({ ...ask(sid, '/undo 2'), limits: { maxSteps: 7 }, options: { command } });
  await inbox.submit({ ...ask(sid, 'three'), mode: 'plan', options: { model: 'a/b' } });
  await inbox.editWaiting(sid, 3, { body: 'THREE' });
  await inbox.swapWaiting(sid, 3, 2);
  const { meta, inbox: stream, changes } = keys.session(sid);
  const again = async (id: string) => (await client.oswap([meta, stream, changes], [2, 3, id]))[0];
  expect([await again('x'), await again('y'), await again('y')]).toEqual(['ok', 'ok', 'ok']);
  expect(await inbox.waiting(sid)).toMatchObject([
    { seq: 2, mode: 'plan', body: { inline: 'THREE' }, limits: {}, options: { model: 'a/b' } },
    { seq: 3, mode: 'ask', body: { inline: '/undo 2' }, limits: { maxSteps: 7 }, options: { command } },
  ]);
  await expect(inbox.swapWaiting(sid, 2, 1)).rejects.toThrow(/Message 1 is running/);
  await expect(inbox.swapWaiting(sid, 2, 4)).rejects.toThrow(/Message 4 does not exist/);
  expect(await first.journal.finish(done(1))).toMatchObject({ seq: 2, mode: 'plan' });
  const second = await claimed(client, sid, 2);
  expect(second.message).toMatchObject({
    mode: 'plan',
    body: { inline: 'THREE' },
    limits: {},
    options: { model: 'a/b' },
  });
});

test('O6: the 101st waiting message is refused with a reason, and removing one makes room', async () => {
  const inbox = inboxOf(client, redis.home);
  const sid = ulid();
  await inbox.submit(ask(sid, 'runs'));
  await claimed(client, sid, 1);
  for (let i = 0; i < 100; i++) await inbox.submit(ask(sid, `waits ${i}`));
  await expect(inbox.submit(ask(sid, 'too many'))).rejects.toThrow(/100 messages waiting.*remove some/);
  await inbox.removeWaiting(sid, 50);
  await inbox.removeWaiting(sid, 50);
  expect((await inbox.submit(ask(sid, 'fits'))).seq).toBe(102);
  await expect(inbox.submit(ask(sid, 'too many again'))).rejects.toThrow(/100 messages waiting/);
  expect(await inbox.waiting(sid)).toHaveLength(100);
});

test('O6: what waits can be changed and removed, what runs or is done is refused; a removed one keeps its place', async () => {
  const inbox = inboxOf(client, redis.home);
  const sid = ulid();
  for (const body of ['one', 'two', 'three']) await inbox.submit({ ...ask(sid, body), limits: { maxSteps: 7 } });
  await inbox.editWaiting(sid, 2, { mode: 'edit' });
  await inbox.editWaiting(sid, 2, { body: 'TWO' });
  await inbox.removeWaiting(sid, 3);
  await expect(inbox.editWaiting(sid, 3, { body: 'x' })).rejects.toThrow('Message 3 has been removed.');
  await expect(inbox.removeWaiting(sid, 4)).rejects.toThrow(/Message 4 does not exist/);
  expect((await inbox.waiting(sid)).map(({ seq, mode, body }) => ({ seq, mode, body }))).toEqual([
    { seq: 1, mode: 'ask', body: { inline: 'one' } },
    { seq: 2, mode: 'edit', body: { inline: 'TWO' } },
  ]);
  const first = await claimed(client, sid, 1);
  await expect(inbox.removeWaiting(sid, 1)).rejects.toThrow(/Message 1 is running.*cancel/);
  expect(await first.journal.finish(done(1))).toEqual({ sid, seq: 2, mode: 'edit', gen: 0 });
  await expect(inbox.editWaiting(sid, 1, { body: 'x' })).rejects.toThrow(/Message 1 is done/);
  const second = await claimed(client, sid, 2);
  expect(second.message).toMatchObject({ mode: 'edit', body: { inline: 'TWO' }, limits: { maxSteps: 7 } });
  await second.journal.finish(done(2));
  // Whoever comes by ends a removed one: that does not make its session the one that was used last.
  const later = ulid();
  await inbox.submit(ask(later, 'of another session'));
  const used = await client.hget(keys.session(sid).meta, 'updatedAt');
  const third = await claimed(client, sid, 3);
  expect(third.message.removed).toBe(true);
  expect(await third.journal.finish(done(3))).toBeNull();
  expect(await inbox.last()).toBe(later);
  expect(await client.hget(keys.session(sid).meta, 'updatedAt')).toBe(used);
  expect((await inbox.sessions()).find((session) => session.sid === sid)).toMatchObject({ queued: 0, status: 'idle' });
  expect(await client.hlen(keys.session(sid).changes)).toBe(0);
});

test('O6: a long message travels by reference', async () => {
  const inbox = inboxOf(client, redis.home);
  const sid = ulid();
  const body = 'ä'.repeat(20_000);
  await inbox.submit(ask(sid, body));
  const [waiting] = await inbox.waiting(sid);
  expect(waiting?.body).toEqual({ blob: { sha256: expect.any(String), bytes: 40_000 } });
});

test('Sessions of a workspace are listed with title and status, and belong to it alone', async () => {
  const ws = workspaceId('/project', ulid());
  const inbox = inboxOf(client, redis.home, ws);
  expect(await inbox.last()).toBeNull();
  const [idle, running, queued] = [ulid(), ulid(), ulid()];
  await inbox.submit(ask(idle, '  Fix the tests\nall of them'));
  await (await claimed(client, idle, 1, '0', ws)).journal.finish(done(1));
  await inbox.submit(ask(running, 'x'.repeat(200)));
  await claimed(client, running, 1, '0', ws);
  await inbox.submit(ask(queued, 'later'));
  await inbox.submit(ask(queued, 'and later'));
  const sessions = new Map((await inbox.sessions()).map((session) => [session.sid, session]));
  expect(sessions.get(idle)).toMatchObject({ title: 'Fix the tests', status: 'idle', messages: 1, queued: 0 });
  expect(sessions.get(running)).toMatchObject({ title: `${'x'.repeat(79)}…`, status: 'running', queued: 0 });
  expect(sessions.get(queued)).toMatchObject({ status: 'queued', messages: 2, queued: 2, root: `/project-of-${ws}` });
  const dead = JSON.stringify({ pid: 1, startTime: 'another life', ws, jobId: '', token: '' });
  const [ownersKey] = await client.keys(keys.owners('*').replace(/[{}]/g, '?'));
  await client.hset(ownersKey ?? '', running, dead);
  expect((await inbox.sessions()).find(({ sid }) => sid === running)?.status).toBe('interrupted');
  expect(await inbox.last()).toBe((await inbox.sessions())[0]?.sid);

  const elsewhere = inboxOf(client, redis.home, 'another');
  await expect(elsewhere.submit(ask(idle, 'hello'))).rejects.toThrow(`belongs to /project-of-${ws}`);
  await expect(elsewhere.head(idle)).rejects.toThrow(/no session/);
  await expect(inbox.submit({ ...ask(ulid(), 'x'), create: false })).rejects.toThrow(/no session/);
});

test('A workspace is its root, and in a shared Redis its machine too', () => {
  expect(workspaceId('/a')).toBe(workspaceId('/a'));
  expect(
    new Set([workspaceId('/a'), workspaceId('/b'), workspaceId('/a', 'host1'), workspaceId('/a', 'host2')]).size,
  ).toBe(4);
});
