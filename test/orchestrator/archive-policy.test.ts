// Which sessions leave Redis, and what a user still has of them: lists, transcripts, diffs, undo, and the next message.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { archivedSessions } from '../../orchestrator/archive-file.ts';
import { type ArchivePolicy, createArchiver } from '../../orchestrator/archive-policy.ts';
import { keys } from '../../orchestrator/keys.ts';
import { ulid } from '../../shared/ids.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { only, withWorld } from '../support/odin-world.ts';
import { startTestRedis } from '../support/redis.ts';
import { ask, claimed, done, inboxOf, update, WS } from '../support/redis-session.ts';

const DAY = 86_400_000;

test('DURABILITY 2, O4: the oldest leave when there are many, when they are large, and when nobody used them; never what waits', async () => {
  const server = await startTestRedis();
  const redis = server.handle.client;
  const inbox = inboxOf(redis, server.home);
  const sids: string[] = [];
  for (let n = 0; n < 6; n++) {
    const sid = ulid();
    sids.push(sid);
    await inbox.submit(ask(sid, `session ${n}`));
    const { journal } = await claimed(redis, sid, 1);
    await journal.append(update(1, 'x'.repeat(n === 3 ? 200_000 : 10)));
    await journal.finish(done(1));
    await redis.zadd(keys.workspace(WS).sessions, (n + 1) * DAY, sid);
  }
  await inbox.submit(ask(sids[0] as string, 'it waits'));
  await redis.zadd(keys.workspace(WS).sessions, DAY, sids[0] as string);
  let idle = true;
  const archiver = (policy: Partial<ArchivePolicy>, now = 6 * DAY) =>
    createArchiver({
      place: { redis, home: server.home },
      ws: WS,
      policy: { keepInRedis: 100, keepBytes: 1e9, keepDays: 100, ...policy },
      isIdle: () => idle,
      now: () => now,
      log: (message) => expect(message).toBe(''),
    });
  const nth = (moved: readonly string[]) => moved.map((sid) => sids.indexOf(sid));

  expect(await archiver({}).sweep(20)).toEqual([]);
  idle = false;
  expect(await archiver({ keepInRedis: 1 }).sweep(20)).toEqual([]);
  idle = true;
  // By age: the oldest would be due too, but a message of it waits.
  expect(nth(await archiver({ keepDays: 4 }).sweep(20))).toEqual([1]);
  // By number, and no more at once than was asked for.
  expect(nth(await archiver({ keepInRedis: 2 }).sweep(1))).toEqual([2]);
  // By size: what is older than the large one goes with it.
  expect(nth(await archiver({ keepBytes: 100_000 }).sweep(20))).toEqual([3]);
  expect((await archivedSessions(server.home)).toSorted()).toEqual(sids.slice(1, 4).toSorted());
  expect(await redis.zcard(keys.workspace(WS).sessions)).toBe(3);
  await server.close();
});

/** Message "write": a file; any other: an answer. */
const script = (turn: ScriptedTurn): ScriptedAnswer =>
  turn.userText.startsWith('write') && turn.stepOfMessage === 0
    ? { toolCalls: [{ name: 'WriteFile', args: { file_path: 'made.txt', content: 'by Odin\n' } }] }
    : { text: `answer ${turn.requestIndex}` };

test('E14 O4 O5: an archived session is listed, shown, exported, diffed, forked, undone and gone on with as if it had never left', async () => {
  const userConfig = { sessions: { keepInRedis: 1 } };
  await withWorld({ script, userConfig }, async (world) => {
    const permission = { mode: 'accept-edits', timeoutMs: null } as const;
    const first = await world.open({ permission });
    const old = first.newSession();
    await world.ask(first, old, { mode: 'edit', body: 'write it' });
    const before = { state: await first.state(old), diff: await first.diff(old), replay: await first.replay(old) };
    await world.ask(first, first.newSession(), { mode: 'ask', body: 'another' });
    // A process that leaves tidies up.
    await first.close();
    expect(await archivedSessions(world.home)).toEqual([old]);

    const odin = await world.open({ permission });
    expect((await odin.sessions()).map(({ sid, status }) => [sid === old, status])).toEqual([
      [false, 'idle'],
      [true, 'archived'],
    ]);
    expect({ state: await odin.state(old), diff: await odin.diff(old), replay: await odin.replay(old) }).toEqual(
      before,
    );
    let exported = 0;
    for await (const _ of odin.export(old)) exported += 1;
    expect(exported).toBe(before.replay.events);
    const shown: StreamEvent[] = [];
    for await (const event of odin.follow(old, { signal: new AbortController().signal })) {
      shown.push(event);
      if (event.type === 'AgentDone') break;
    }
    expect(shown[0]?.type).toBe('SessionOpened');
    expect(await odin.fork(old)).toMatchObject({ messages: 1, cut: null });
    expect(await archivedSessions(world.home)).toEqual([old]);

    expect(only(await world.ask(odin, old, { mode: 'ask', body: 'more' }), 'AgentDone')).toMatchObject({ seq: 2 });
    expect((await odin.sessions()).find(({ sid }) => sid === old)?.status).toBe('idle');
    const undo = { mode: 'edit', body: '/undo 1', command: { type: 'undo', count: 1 } } as const;
    expect(readFileSync(join(world.project, 'made.txt'), 'utf8')).toBe('by Odin\n');
    expect(only(await world.ask(odin, old, undo), 'AgentDone').status).toBe('completed');
    expect(existsSync(join(world.project, 'made.txt'))).toBe(false);
    expect(await odin.fsck(false)).toMatchObject({ lines: [], clean: true });
  });
});
