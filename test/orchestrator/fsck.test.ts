// fsck over real damage: each kind is made, found, repaired where that is possible, and not found again.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { archivePath } from '../../orchestrator/archive-file.ts';
import { archiveSession, restoreSession } from '../../orchestrator/archive-move.ts';
import { openBlobs } from '../../orchestrator/blobs.ts';
import type { FsckReport } from '../../orchestrator/fsck/finding.ts';
import { runFsck } from '../../orchestrator/fsck/run-fsck.ts';
import { claimSession } from '../../orchestrator/journal.ts';
import { openMarks } from '../../orchestrator/journal-marks.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { keys } from '../../orchestrator/keys.ts';
import { lock } from '../../orchestrator/process-lock.ts';
import type { OdinRedis } from '../../orchestrator/redis.ts';
import { sha256, ulid } from '../../shared/ids.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { ask, claimEvent, claimed, done, inboxOf, update, WS } from '../support/redis-session.ts';

let server: TestRedis;
let redis: OdinRedis;

beforeEach(async () => {
  server = await startTestRedis();
  redis = server.handle.client;
});
afterEach(() => server.close());

const BIG = 'a large body\n'.repeat(2000);

/** Two messages, the first of them large, all done; marks as an owner notes them. */
async function session(): Promise<string> {
  const sid = ulid();
  const inbox = inboxOf(redis, server.home);
  const marks = openMarks(server.home);
  const blobs = openBlobs(server.home);
  for (const [n, body] of [BIG, 'small'].entries()) {
    const seq = n + 1;
    await inbox.submit(ask(sid, body));
    const result = await claimSession(redis, { sid, seq, ws: WS, claim: claimEvent(seq), marks });
    if (result.status !== 'ok') throw new Error(result.status);
    const { journal, message } = result;
    await journal.append({
      ...{ type: 'msg.start', seq, mid: message.mid, mode: 'ask', body: await blobs.putPayload(body) },
      ...{ model: 'a/b', smallModel: 'a/b', limits: { maxSteps: 5 }, at: 1 },
    });
    await journal.append(update(seq, 'a line'));
    await journal.finish(done(seq));
    journal.release();
  }
  return sid;
}

const check = (): Promise<FsckReport> => runFsck({ redis, home: server.home, isPrivate: true }, false, Date.now());
const repair = (): Promise<FsckReport> => runFsck({ redis, home: server.home, isPrivate: true }, true, Date.now());
const codes = ({ lines }: FsckReport): readonly string[] => lines.map(({ code }) => code).toSorted();

/** Found once looked for, unchanged by looking, repaired, and then gone. */
async function foundAndRepaired(code: string): Promise<FsckReport> {
  const found = await check();
  expect(codes(found)).toEqual([code]);
  expect(codes(await check())).toEqual([code]);
  expect(found.lines[0]).toMatchObject({ repaired: null, repair: expect.stringMatching(/./) });
  const repaired = await repair();
  expect(repaired.lines[0]).toMatchObject({ code, repair: null, repaired: expect.stringMatching(/./) });
  expect(repaired.clean).toBe(true);
  expect(codes(await check())).toEqual([]);
  return found;
}

const inQuarantine = (): readonly string[] =>
  readdirSync(join(server.home, 'quarantine'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

/** Old enough to be nobody's work in progress. */
const age = (path: string) => utimesSync(path, 1, 1);

test('E14: what is whole is found whole: idle, running, waiting, archived and restored sessions', async () => {
  const idle = await session();
  const archived = await session();
  const restored = await session();
  await archiveSession({ redis, home: server.home }, archived);
  await archiveSession({ redis, home: server.home }, restored);
  await restoreSession({ redis, home: server.home }, restored);
  const busy = await session();
  const inbox = inboxOf(redis, server.home);
  for (const body of ['third', 'fourth']) await inbox.submit(ask(busy, body));
  const { journal } = await claimed(redis, busy, 3);
  await journal.append(update(3, 'under way'));
  expect(await check()).toEqual({
    lines: [],
    checked: { sessions: 3, archives: 2, events: 5 * 8 + 2, blobs: 1 },
    clean: true,
  });
  expect(await readLog(redis, idle, '0')).toHaveLength(8);
});

test('E14 O4: an event that cannot be read, missing ones and results without a call are told with their place', async () => {
  const sid = await session();
  const { log, meta, inbox } = keys.session(sid);
  const put = async (id: string, text: string) => void (await redis.xadd(log, id, 'd', text));
  const event = (e: object) => JSON.stringify({ w: 'x', e });
  await put('3-0', event({ ...claimEvent(3) }));
  await put('3-1', 'no json');
  await put('3-3', event({ type: 'tool.done', op: '3.1.1', kind: 'ok' }));
  await put('3-4', event({ type: 'made.up' }));
  await put('5-1', event(update(3, 'no claim')));
  await redis.hset(meta, 'epoch', 5, 'claimed', 3, 'seq', 3);
  await redis.xadd(inbox, '3-0', 'mid', 'm', 'mode', 'ask', 'p', '{"inline":"x"}', 'limits', '{}', 'at', '1');
  await redis.sadd(keys.workspace(WS).pending, sid);
  const report = await check();
  expect(codes(report)).toEqual([
    ...['journal_claim', 'journal_gap', 'journal_results', 'journal_undecodable', 'journal_undecodable'],
  ]);
  expect(report.lines.map(({ message }) => message).join('\n')).toContain(`odin sessions fork ${sid} --at`);
  expect(report.clean).toBe(false);
  expect((await repair()).clean).toBe(false);
});

test('O4 O6: what stands beside the journal is made as the journal says', async () => {
  const sid = await session();
  const { meta, inbox } = keys.session(sid);
  const workspace = keys.workspace(WS);
  await redis.hset(meta, 'cursor', 1);
  await redis.sadd(workspace.pending, sid);
  const found = await check();
  expect(codes(found)).toEqual(['session_cursor', 'session_pending']);
  expect((await repair()).clean).toBe(true);
  expect(await redis.hmget(meta, 'cursor', 'seq')).toEqual(['2', '2']);

  await redis.hset(meta, 'epoch', 1);
  await foundAndRepaired('session_epoch');
  await redis.zrem(workspace.sessions, sid);
  await foundAndRepaired('session_unlisted');
  await redis.hset(keys.owners(hostname()), sid, JSON.stringify({ pid: 1, startTime: 'long ago', ws: WS }));
  await foundAndRepaired('owner_dead');
  await inboxOf(redis, server.home).submit(ask(sid, 'third'));
  await redis.srem(workspace.pending, sid);
  await foundAndRepaired('session_pending');
  await redis.del(inbox);
  expect(codes(await repair())).toEqual(['session_message_lost']);
});

test('E14: while an Odin runs in the project, its sessions are left alone', async () => {
  const sid = await session();
  await redis.hset(keys.session(sid).meta, 'epoch', 1);
  const held = await lock(`ws:${server.home}:${WS}`);
  const report = await repair();
  expect(report.lines).toMatchObject([{ code: 'session_epoch', repaired: null }]);
  expect(report.lines[0]?.message).toContain('stop it and repair again');
  held.release();
  expect((await repair()).clean).toBe(true);
});

test('E14: a blob that is damaged, missing, left over or needed by nobody; nothing is deleted, and what is in quarantine comes back', async () => {
  const sid = await session();
  const folder = join(server.home, 'blobs');
  const path = join(folder, sha256(BIG));
  const whole = readFileSync(path);
  writeFileSync(path, 'other bytes');
  const damaged = await foundOnce('blob_damaged');
  expect(damaged.lines[0]?.message).toContain(sid);
  // Gone now, and told as missing until the same content is put again.
  expect(codes(await check())).toEqual(['blob_missing']);
  expect((await repair()).clean).toBe(false);
  await openBlobs(server.home).put(whole);
  expect((await check()).clean).toBe(true);

  const orphan = await openBlobs(server.home).put('nobody needs this');
  expect((await check()).lines).toEqual([]);
  age(join(folder, orphan.sha256));
  await foundAndRepaired('blob_orphans');
  writeFileSync(join(folder, `${'0'.repeat(64)}.${ulid()}`), 'half');
  age(join(folder, readdirSync(folder).find((name) => name.includes('.')) ?? ''));
  await foundAndRepaired('blob_leftover');
  expect(inQuarantine()).toEqual(expect.arrayContaining([orphan.sha256, sha256(BIG)]));

  // Taken away by mistake: what a session needs comes back.
  const aside = join(server.home, 'quarantine', 'by-hand', 'blobs');
  mkdirSync(aside, { recursive: true });
  writeFileSync(join(aside, sha256(BIG)), whole);
  rmSync(path);
  await foundAndRepaired('blob_missing');
  expect(readFileSync(path)).toEqual(whole);
});

async function foundOnce(code: string): Promise<FsckReport> {
  const found = await check();
  expect(codes(found)).toEqual([code]);
  await repair();
  return found;
}

test('E14: a Redis that is not this home alone has orphans and lost sessions that are none', async () => {
  await session();
  const { sha256: hash } = await openBlobs(server.home).put('for a session elsewhere');
  age(join(server.home, 'blobs', hash));
  openMarks(server.home).open(ulid(), 1).note('1-1');
  const report = await runFsck({ redis, home: server.home, isPrivate: false }, true, Date.now());
  expect(report.lines).toMatchObject([{ code: 'blob_orphans', repaired: null, repair: null }]);
  expect(existsSync(join(server.home, 'blobs', hash))).toBe(true);
});

test('E14: archives that are damaged, open to others, half written, or newer than what Redis has', async () => {
  const sid = await session();
  const place = { redis, home: server.home };
  const path = archivePath(server.home, sid);
  await archiveSession(place, sid);
  chmodSync(path, 0o644);
  await foundAndRepaired('archive_mode');
  writeFileSync(`${path}.${ulid()}.tmp`, '{"odin":');
  age(join(server.home, 'sessions', readdirSync(join(server.home, 'sessions')).find((n) => n.endsWith('.tmp')) ?? ''));
  await foundAndRepaired('archive_leftover');

  const whole = readFileSync(path);
  truncateSync(path, whole.length - 5);
  const damaged = await check();
  expect(codes(damaged)).toContain('archive_damaged');
  expect((await repair()).clean).toBe(false);
  expect(existsSync(path)).toBe(true);
  writeFileSync(path, whole);

  // Redis, restored from an older copy, has the beginning of what is in the file.
  await restoreSession(place, sid);
  const log = await readLog(redis, sid, '0');
  await redis.xdel(keys.session(sid).log, ...log.slice(4).map(({ id }) => id));
  await redis.hset(keys.session(sid).meta, 'cursor', 1, 'claimed', 1, 'epoch', 1, 'seq', 1);
  const found = await check();
  expect(codes(found)).toEqual(['archive_newer', 'session_rewound']);
  openMarks(server.home).drop(sid);
  await foundAndRepaired('archive_newer');
  expect(await readLog(redis, sid, '0')).toEqual(log);
  expect(inQuarantine()).toContain(`${sid}.log.dump`);
});

test('DURABILITY 15.9: a session that Redis has lost the end of, and one that it has lost altogether', async () => {
  const sid = await session();
  const log = await readLog(redis, sid, '0');
  await redis.xdel(keys.session(sid).log, ...log.slice(6).map(({ id }) => id));
  await redis.hset(keys.session(sid).meta, 'cursor', 1, 'claimed', 2);
  await redis
    .xadd(keys.session(sid).inbox, '2-0', 'mid', 'm', 'mode', 'ask', 'p', '{"inline":"x"}', 'limits', '{}', 'at', '1')
    .catch(() => {});
  await redis.sadd(keys.workspace(WS).pending, sid);
  const report = await check();
  expect(codes(report)).toContain('session_rewound');
  await repair();
  expect(codes(await check())).not.toContain('session_rewound');

  const lost = await session();
  await redis.del(...Object.values(keys.session(lost)));
  await redis.zrem(keys.workspace(WS).sessions, lost);
  expect(codes(await check())).toContain('session_lost');
  await repair();
  expect(codes(await check())).not.toContain('session_lost');
  expect(openMarks(server.home).read(lost)).toBeNull();
});
