// Sessions that leave Redis for a file and come back, with a crash at every step between.

import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openArchive } from '../../orchestrator/archive.ts';
import { archiveFolder, archivePath, readArchive } from '../../orchestrator/archive-file.ts';
import { type ArchiveStep, archiveSession, restoreSession } from '../../orchestrator/archive-move.ts';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { openInbox } from '../../orchestrator/inbox.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { newestId, readJournal } from '../../orchestrator/journal-source.ts';
import { keys } from '../../orchestrator/keys.ts';
import type { OdinRedis } from '../../orchestrator/redis.ts';
import { ulid } from '../../shared/ids.ts';
import { liveOnce } from '../support/kill-owner.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { ask, claimed, done, inboxOf, update, WS } from '../support/redis-session.ts';

let server: TestRedis;
let redis: OdinRedis;

beforeAll(async () => {
  server = await startTestRedis();
  redis = server.handle.client;
});
afterAll(() => server.close());

const place = () => ({ redis, home: server.home });

/** A session whose messages are done, with texts that a careless format would break. */
async function finishedSession(messages = 2): Promise<string> {
  const sid = ulid();
  const inbox = inboxOf(redis, server.home);
  for (let seq = 1; seq <= messages; seq++) {
    await inbox.submit(ask(sid, `message ${seq}`, `mid-${sid}-${seq}`));
    const { journal } = await claimed(redis, sid, seq);
    await Promise.all(
      ['plain', 'line\nfeed\r\u2028\u2029 and "quotes" \u{1f600}', '\ud800 alone'].map((text) =>
        journal.append(update(seq, text)),
      ),
    );
    await journal.finish(done(seq));
  }
  return sid;
}

/** All that Redis has of a session, byte for byte. */
async function dump(sid: string): Promise<unknown> {
  const session = keys.session(sid);
  return Promise.all([
    redis.hgetall(session.meta),
    redis.hgetall(session.mids),
    redis.xrange(session.log, '-', '+'),
    redis.zscore(keys.workspace(WS).sessions, sid),
  ]);
}

const keysOf = async (sid: string): Promise<readonly string[]> => redis.keys(`*${sid}*`);

test('E14 O4: a session that is archived leaves nothing in Redis, and comes back byte for byte', async () => {
  const sid = await finishedSession();
  const before = await dump(sid);
  expect(await archiveSession(place(), sid)).toBe('archived');
  expect(await keysOf(sid)).toEqual([]);
  expect(await redis.zscore(keys.workspace(WS).sessions, sid)).toBeNull();
  expect(statSync(archivePath(server.home, sid)).mode & 0o777).toBe(0o600);
  expect(statSync(archiveFolder(server.home)).mode & 0o777).toBe(0o700);
  expect(await restoreSession(place(), sid)).toBe(true);
  expect(await dump(sid)).toEqual(before);
  expect(await restoreSession(place(), sid)).toBe(false);
});

test('O4: an archived session is listed, read from any event on, and says how far it came', async () => {
  const sid = await finishedSession();
  const log = await readLog(redis, sid, '0');
  await archiveSession(place(), sid);
  const source = place();
  expect(await readJournal(source, sid)).toEqual(log);
  expect(await readJournal(source, sid, log[3]?.id)).toEqual(log.slice(4));
  expect(await newestId(source, sid)).toBe(log.at(-1)?.id);
  const inbox = openInbox(redis, openBlobs(server.home), WS, '/p', openArchive(source));
  expect((await inbox.sessions()).find((one) => one.sid === sid)).toMatchObject({
    ...{ title: 'message 1', status: 'archived', messages: 2, queued: 0 },
  });
  expect(await inbox.head(sid)).toEqual({ seq: 2, cursor: 2, claimed: 2 });
  await expect(
    openInbox(redis, openBlobs(server.home), 'another', '/q', openArchive(source)).head(sid),
  ).rejects.toThrow('There is no session');
});

test('O6 E14: a message brings the session back, numbers go on, and a client id that was accepted before stays one message', async () => {
  const sid = await finishedSession();
  await archiveSession(place(), sid);
  const inbox = openInbox(redis, openBlobs(server.home), WS, '/p', openArchive(place()));
  const again = { ...ask(sid, 'message 1', `mid-${sid}-1`), create: false };
  expect(await inbox.submit(again)).toMatchObject({ seq: 1, duplicate: true, wake: null });
  expect(await inbox.submit({ ...ask(sid, 'third'), create: false })).toMatchObject({ seq: 3, position: 0 });
  const { journal, log } = await claimed(redis, sid, 3);
  expect(log.at(-1)?.id).toBe('3-0');
  await journal.finish(done(3));
  expect(await archiveSession(place(), sid)).toBe('archived');
  expect((await readArchive(server.home, sid))?.header).toMatchObject({ seq: 3, epoch: 3, lastId: '3-1' });
});

test('O6 E14: of two messages that bring a session back at the same moment neither is refused', async () => {
  const sid = await finishedSession();
  await archiveSession(place(), sid);
  const inbox = openInbox(redis, openBlobs(server.home), WS, '/p', openArchive(place()));
  const sent = ['third', 'fourth'].map((body) => inbox.submit({ ...ask(sid, body), create: false }));
  expect((await Promise.all(sent)).map(({ seq }) => seq).toSorted()).toEqual([3, 4]);
  await expect(inbox.submit({ ...ask(ulid(), 'nobody'), create: false })).rejects.toThrow('There is no session');
});

test('O4 O6: what waits, runs or has just changed is not archived', async () => {
  const sid = await finishedSession();
  const inbox = inboxOf(redis, server.home);
  await inbox.submit(ask(sid, 'waits'));
  expect(await archiveSession(place(), sid)).toBe('changed');
  const { journal } = await claimed(redis, sid, 3);
  expect(await archiveSession(place(), sid)).toBe('changed');
  await journal.finish(done(3));
  // A message that comes while the file is written.
  const other = inboxOf(redis, server.home);
  const coming: Promise<unknown>[] = [];
  const end = await archiveSession(place(), sid, (step) => {
    if (step === 'written') coming.push(other.submit(ask(sid, 'just in time')));
  });
  await Promise.all(coming);
  expect(end).toBe('changed');
  expect(await redis.exists(keys.session(sid).meta)).toBe(1);
  expect(await archiveSession(place(), ulid())).toBe('gone');
});

test('DURABILITY 2, E14: killed at any step, a session is whole in Redis or in its file, and the next try ends it', async () => {
  const steps: readonly ArchiveStep[] = ['written', 'renamed', 'checked', 'removed'];
  for (const dieAt of steps) {
    const sid = await finishedSession();
    const log = await readLog(redis, sid, '0');
    const { killed } = await liveOnce('archive-child', { home: server.home, sid, dieAt }, () => {});
    expect(killed).toBe(true);
    expect(await readJournal(place(), sid)).toEqual(log);
    expect(await archiveSession(place(), sid)).toBe(dieAt === 'removed' ? 'gone' : 'archived');
    expect(await readJournal(place(), sid)).toEqual(log);
    expect(await keysOf(sid)).toEqual([]);
  }
});

test('O4, E14: who archives a session that another process archives waits, and finds it gone', async () => {
  const sid = await finishedSession();
  const log = await readLog(redis, sid, '0');
  const steps: string[] = [];
  const watched = Object.create(redis) as OdinRedis;
  watched.hgetall = (key: string) => {
    if (key === keys.session(sid).meta) steps.push('second reads');
    return redis.hgetall(key);
  };
  const second: Promise<unknown>[] = [];
  const first = await archiveSession(place(), sid, (step) => {
    if (step === 'written') second.push(archiveSession({ redis: watched, home: server.home }, sid));
    steps.push(step);
  });
  expect([first, ...(await Promise.all(second))]).toEqual(['archived', 'gone']);
  expect(steps).toEqual(['written', 'renamed', 'checked', 'removed', 'second reads']);
  expect(await readJournal(place(), sid)).toEqual(log);
});

test('O4, E14: a machine with the same home folder that finds the journal taken away meanwhile leaves the whole file in its place', async () => {
  const sid = await finishedSession();
  const log = await readLog(redis, sid, '0');
  // Its lock is another one, as on another machine.
  const home = `${server.home}-elsewhere`;
  symlinkSync(server.home, home);
  const reads = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const late = Object.create(redis) as OdinRedis;
  late.xrange = (async (...args: Parameters<OdinRedis['xrange']>) => {
    reads.resolve();
    await taken.promise;
    return redis.xrange(...args);
  }) as OdinRedis['xrange'];
  const other = archiveSession({ redis: late, home }, sid);
  await reads.promise;
  expect(await archiveSession(place(), sid)).toBe('archived');
  taken.resolve();
  expect(await other).toBe('changed');
  expect(await readJournal(place(), sid)).toEqual(log);
  rmSync(home);
});

test('O4: who reads while sessions move back and forth sees every event, once', async () => {
  const sid = await finishedSession(5);
  const log = await readLog(redis, sid, '0');
  let moving = true;
  const move = async () => {
    for (let round = 0; round < 20; round++) {
      await archiveSession(place(), sid);
      await restoreSession(place(), sid);
    }
    moving = false;
  };
  const read = async () => {
    let reads = 0;
    for (; moving; reads++) expect(await readJournal(place(), sid)).toEqual(log);
    return reads;
  };
  const [, reads, more] = await Promise.all([move(), read(), read()]);
  expect(Math.min(reads, more)).toBeGreaterThan(5);
});

test('DURABILITY 2: after its journal has left, an older owner can write nothing, and a claim finds nothing to run', async () => {
  const sid = await finishedSession();
  const inbox = inboxOf(redis, server.home);
  await inbox.submit(ask(sid, 'third'));
  const old = await claimed(redis, sid, 3);
  const next = await claimed(redis, sid, 3);
  await next.journal.finish(done(3));
  await archiveSession(place(), sid);
  await expect(old.journal.append(update(3, 'late'))).rejects.toThrow('Redis has lost events');
  expect(await keysOf(sid)).toEqual([]);
});

test('G4: a file that was cut off or changed is refused with its path, never taken for a session', async () => {
  const sid = await finishedSession();
  await archiveSession(place(), sid);
  const path = archivePath(server.home, sid);
  const whole = readFileSync(path);
  const refusal = (why: string) => expect(readJournal(place(), sid)).rejects.toThrow(why);
  for (const bytes of [whole.length - 2, whole.length - 200, 400, 10]) {
    truncateSync(path, bytes);
    await refusal(path);
  }
  writeFileSync(path, whole.toString('utf8').replace('plain', 'plane'));
  await refusal('not those it was closed with');
  writeFileSync(path, whole);
  appendFileSync(path, '{"id":"9-9","w":"x","e":{}}\n');
  await refusal('something follows its end');
  writeFileSync(path, whole);
  expect(await readJournal(place(), sid)).toHaveLength(10);
  expect(
    readdirSync(archiveFolder(server.home)).filter((name) => name.endsWith('.tmp') && name.startsWith(sid)),
  ).toEqual([]);
});
