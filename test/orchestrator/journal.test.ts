import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openControl, sendControl } from '../../orchestrator/control.ts';
import { claimSession, nameJob } from '../../orchestrator/journal.ts';
import { type Followed, followLog, lastLogId, readLog } from '../../orchestrator/journal-read.ts';
import { keys } from '../../orchestrator/keys.ts';
import { openLiveStream } from '../../orchestrator/live-stream.ts';
import { selfIdentity } from '../../orchestrator/process-identity.ts';
import { connectRedis, type OdinRedis } from '../../orchestrator/redis.ts';
import type { Journaled } from '../../shared/events.ts';
import { ulid } from '../../shared/ids.ts';
import { Fenced } from '../../shared/ports.ts';
import { serverPid, startTestRedis, type TestRedis } from '../support/redis.ts';
import { startLossyProxy } from '../support/redis-proxy.ts';
import { ask, claimEvent, claimed, done, inboxOf, update, WS } from '../support/redis-session.ts';

let redis: TestRedis;
let client: OdinRedis;

beforeAll(async () => {
  redis = await startTestRedis();
  client = redis.handle.client;
});
afterAll(() => redis.close());

async function sessionWith(messages: number): Promise<string> {
  const sid = ulid();
  const inbox = inboxOf(client, redis.home);
  for (let i = 0; i < messages; i++) await inbox.submit(ask(sid, `message ${i + 1}`));
  return sid;
}

const texts = (log: readonly Journaled[]): string[] =>
  log.map(({ event }) => (event.type === 'update' ? event.text : event.type));

test('O4, O6: a message is claimed with its text and the log, journaled in order, and its end brings the next one', async () => {
  const sid = await sessionWith(2);
  expect((await claimSession(client, { sid, seq: 2, ws: WS, claim: claimEvent(2) })).status).toBe('notyet');
  const first = await claimed(client, sid, 1);
  expect(first.message).toMatchObject({ seq: 1, mode: 'ask', body: { inline: 'message 1' }, removed: false });
  expect(texts(first.log)).toEqual(['claim']);
  const ids = await Promise.all(['a', 'b', 'c'].map((text) => first.journal.append(update(1, text))));
  expect(ids).toEqual(['1-1', '1-2', '1-3']);
  expect(first.journal.lastId).toBe('1-3');
  expect(await first.journal.finish(done(1))).toEqual({ sid, seq: 2, mode: 'ask', gen: 0 });
  expect((await claimSession(client, { sid, seq: 1, ws: WS, claim: claimEvent(1) })).status).toBe('done');

  const second = await claimed(client, sid, 2, '1-2');
  expect(texts(second.log)).toEqual(['c', 'msg.done', 'claim']);
  expect(await second.journal.finish(done(2))).toBeNull();
  expect(await client.sismember(keys.workspace(WS).pending, sid)).toBe(0);
  expect((await readLog(client, sid, '0')).map(({ id }) => id)).toEqual([
    '1-0',
    '1-1',
    '1-2',
    '1-3',
    '1-4',
    '2-0',
    '2-1',
  ]);
  expect(texts(await readLog(client, sid, '1-1', 2))).toEqual(['b', 'c']);
  expect(await lastLogId(client, sid)).toBe('2-1');
});

test('DURABILITY 6: who runs a session is named with its job while it runs it, and not once it has ended', async () => {
  const sid = await sessionWith(1);
  const { journal } = await claimed(client, sid, 1);
  const named = async () => JSON.parse((await client.hget(keys.owners(hostname()), sid)) ?? 'null') as unknown;
  const job = { id: 'job', token: 'token' };
  await nameJob(client, { sid, ws: WS, job });
  expect(await named()).toMatchObject({ ...selfIdentity(), ws: WS, jobId: 'job', token: 'token' });
  await nameJob(client, { sid, ws: WS, job: { id: 'another', token: 'x' } });
  expect(await named()).toMatchObject({ jobId: 'job' });
  await journal.finish(done(1));
  await nameJob(client, { sid, ws: WS, job });
  expect(await named()).toBeNull();
});

test('O4: after a second claim the first owner can neither append nor finish', async () => {
  const sid = await sessionWith(1);
  const old = await claimed(client, sid, 1);
  await old.journal.append(update(1, 'mine'));
  const late = old.journal.append(update(1, 'in time'));
  await late;
  const fresh = await claimed(client, sid, 1);
  expect(texts(fresh.log)).toEqual(['claim', 'mine', 'in time', 'claim']);
  await expect(old.journal.append(update(1, 'too late'))).rejects.toThrow(Fenced);
  await expect(old.journal.append(update(1, 'and later'))).rejects.toThrow(Fenced);
  await expect(old.journal.flushed()).rejects.toThrow(Fenced);
  await expect(old.journal.finish(done(1))).rejects.toThrow(Fenced);
  await fresh.journal.finish(done(1));
  expect(texts(await readLog(client, sid, '0'))).toEqual(['claim', 'mine', 'in time', 'claim', 'msg.done']);
});

test('O4: two claimers take one session from each other 2,000 times: no fork, nothing acknowledged is lost', async () => {
  const sid = await sessionWith(1);
  const other = await redis.handle.duplicate();
  const acknowledged: string[] = [];
  let fenced = 0;
  const compete = async (connection: OdinRedis, name: string): Promise<void> => {
    let known = '0';
    for (let round = 0; round < 1000; round++) {
      const { journal, log } = await claimed(connection, sid, 1, known);
      known = log.at(-1)?.id ?? known;
      for (let i = 0; i < 2; i++) {
        const text = `${name}.${round}.${i}`;
        try {
          acknowledged.push(`${await journal.append(update(1, text))} ${text}`);
        } catch (error) {
          if (!(error instanceof Fenced)) throw error;
          fenced += 1;
          break;
        }
      }
    }
  };
  await Promise.all([compete(client, 'a'), compete(other, 'b')]);
  const log = await readLog(client, sid, '0');
  expect(log.filter(({ event }) => event.type === 'claim')).toHaveLength(2000);
  const written = log.flatMap(({ id, event }) => (event.type === 'update' ? [`${id} ${event.text}`] : []));
  expect(written).toEqual([...new Set(written)]);
  expect(acknowledged.filter((entry) => !written.includes(entry))).toEqual([]);
  // One writer and one dense run of numbers per epoch.
  const epochs = Map.groupBy(written, (entry) => entry.split('-')[0]);
  for (const entries of epochs.values()) {
    expect(new Set(entries.map((entry) => entry.split(' ')[1]?.split('.', 2).join('.'))).size).toBe(1);
    expect(entries.map((entry) => Number(/-(\d+) /.exec(entry)?.[1]))).toEqual(entries.map((_, i) => i + 1));
  }
  expect(fenced).toBeGreaterThan(100);
});

test('O4: replies that get lost double nothing: append, finish, submit', async () => {
  const proxy = await startLossyProxy(join(redis.home, 'proxy.sock'), redis.handle.where);
  const lossy = await connectRedis({ home: redis.home, redisUrl: proxy.url, notice: () => {} });
  try {
    const sid = ulid();
    const inbox = inboxOf(lossy.client, redis.home);
    proxy.loseReplyOf('the only one');
    const submitted = await inbox.submit(ask(sid, 'the only one'));
    expect(submitted).toMatchObject({ seq: 1, duplicate: true, wake: { seq: 1 } });
    const { journal } = await claimed(lossy.client, sid, 1);
    for (let i = 0; i < 20; i++) {
      if (i % 5 === 0) proxy.loseReplyOf(`event ${i}.`);
      await Promise.all([journal.append(update(1, `event ${i}.`)), journal.append(update(1, `and ${i}.`))]);
    }
    proxy.loseReplyOf('the answer');
    expect(await journal.finish(done(1, 'the answer'))).toBeNull();
    expect(proxy.lost).toBe(6);
    const log = await readLog(client, sid, '0');
    const expected = Array.from({ length: 20 }, (_, i) => [`event ${i}.`, `and ${i}.`]).flat();
    expect(texts(log)).toEqual(['claim', ...expected, 'msg.done']);
    expect(await inbox.head(sid)).toEqual({ seq: 1, cursor: 1, claimed: 1 });
  } finally {
    await lossy.close();
    await proxy.close();
  }
});

test('O4: kill -9 of Redis under a stream of appends loses none that was acknowledged, and doubles none', async () => {
  const sid = await sessionWith(1);
  const { journal } = await claimed(client, sid, 1);
  const acknowledged: string[] = [];
  for (let kill = 0; kill < 3; kill++) {
    const appends = Array.from({ length: 300 }, async (_, i) => {
      if (i % 10 === 0) await new Promise(setImmediate);
      acknowledged.push(await journal.append(update(1, `${kill}.${i}`)));
    });
    await appends[20];
    process.kill(await serverPid(redis.home), 'SIGKILL');
    await Promise.all(appends);
  }
  await journal.finish(done(1));
  const log = await readLog(client, sid, '0');
  expect(log.map(({ id }) => id)).toEqual(Array.from({ length: 902 }, (_, i) => `1-${i}`));
  expect(acknowledged).toHaveLength(900);
  expect(new Set(texts(log)).size).toBe(902);
});

test('O4: a Redis that comes back without events it had acknowledged stops the turn', async () => {
  const sid = await sessionWith(1);
  const { journal } = await claimed(client, sid, 1);
  await journal.append(update(1, 'a'));
  const kept = await journal.append(update(1, 'b'));
  await client.xdel(keys.session(sid).log, kept);
  await expect(journal.append(update(1, 'c'))).rejects.toThrow(/has lost events/);
});

test.each([
  ['at once', 0],
  ['in larger pieces', 30],
])('O4: a follower sees the journal whole and in order, and live text where it belongs, %s', async (_how, gatherMs) => {
  const sid = await sessionWith(1);
  const { journal } = await claimed(client, sid, 1);
  const live = openLiveStream(client, sid, () => journal.lastId);
  await journal.append(update(1, 'before'));
  const abort = new AbortController();
  const seen: string[] = [];
  const read = (entry: Followed): string =>
    entry.kind === 'live' ? `live ${'delta' in entry.event ? entry.event.delta : ''}` : entry.event.type;
  const enough = Promise.withResolvers<void>();
  const following = (async () => {
    for await (const entry of followLog(redis.handle, sid, '0', abort.signal, gatherMs)) {
      seen.push(read(entry));
      if (seen.length === 2) enough.resolve();
      if (entry.kind === 'journal' && entry.event.type === 'msg.done') abort.abort();
    }
  })();
  await enough.promise;
  await journal.append({ type: 'llm.fail', op: '1.1.0', failure: { kind: 'failed', code: 'x', message: 'x' }, at: 1 });
  for (const delta of ['He', 'l', 'lo']) live.publish({ type: 'text', op: '1.1.0', delta });
  await live.flush();
  await journal.finish(done(1));
  await following;
  expect(seen).toEqual(['claim', 'update', 'llm.fail', 'live Hello', 'msg.done']);
  const fromNow = followLog(redis.handle, sid, '$', AbortSignal.abort());
  expect(await fromNow.next()).toEqual({ done: true, value: undefined });
});

test('A cancel request reaches the owner at once, waits for one who comes later, and goes when it is acknowledged', async () => {
  const ws = ulid();
  const sid = ulid();
  await sendControl(client, ws, sid, { type: 'cancel', seq: 1, by: 'early' });
  const arrived = Promise.withResolvers<string>();
  const owner = await openControl(redis.handle, ws, ({ message }) => {
    if (message.by === 'late') arrived.resolve(message.by);
  });
  expect(owner.pending(sid).map(({ message }) => message)).toEqual([{ type: 'cancel', seq: 1, by: 'early' }]);
  await client.xadd(keys.workspace(ws).ctl, '*', 'sid', sid, 'd', '{"type":"cancel","seq":1,"by":"x","run":"me"}');
  await sendControl(client, ws, sid, { type: 'cancel', seq: 2, by: 'late' });
  expect(await arrived.promise).toBe('late');
  for (const { id } of owner.pending(sid)) await owner.acknowledge(id);
  owner.close();
  const successor = await openControl(redis.handle, ws, () => {});
  expect(successor.pending(sid)).toEqual([]);
  successor.close();
});
