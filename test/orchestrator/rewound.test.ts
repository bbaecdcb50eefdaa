// Redis goes back under Odin, or cannot write: what was done is not done again, what was begun ends with a word about it or waits.

import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

const EDITS = { mode: 'accept-edits', timeoutMs: null } as const;

/** One file of its own for each message: step 1 appends to it, step 2 answers. */
function appendThenAnswer(turn: ScriptedTurn): ScriptedAnswer {
  const n = /write (\d)/.exec(turn.userText)?.[1];
  if (n === undefined || turn.stepOfMessage > 0) return { text: 'done' };
  return { toolCalls: [{ name: 'WriteFile', args: { file_path: `f${n}.txt`, content: `token ${n}\n` } }] };
}

const textOf = (world: World, n: number): string => readFileSync(join(world.project, `f${n}.txt`), 'utf8');

/** All keys as they are now, and how to bring them back as they were. */
async function copyOf(redis: RedisHandle['client']): Promise<() => Promise<void>> {
  const keys = (await redis.keys('{odin}:s:*')).concat(await redis.keys('{odin}:ws:*'));
  const dumps = await Promise.all(keys.map(async (key) => [key, await redis.dumpBuffer(key)] as const));
  return async () => {
    const back = redis.multi();
    for (const key of await redis.keys('{odin}:s:*')) back.del(key);
    for (const [key, dump] of dumps) if (dump !== null) back.restore(key, 0, dump, 'REPLACE');
    await back.exec();
  };
}

test('DURABILITY 15.9: Redis restored from an older copy between two runs: the next message says so, and what was done stays done', async () => {
  await withWorld({ script: appendThenAnswer }, async (world) => {
    const backup = `${world.home}-backup`;
    const run = async (body: string, sid?: string) => {
      const odin = await world.open({ permission: EDITS });
      const session = sid ?? odin.newSession();
      const end = only(await world.ask(odin, session, { mode: 'edit', body }), 'AgentDone');
      await odin.close();
      return { sid: session, end };
    };
    const { sid } = await run('write 1');
    cpSync(join(world.home, 'redis'), backup, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    await run('write 2', sid);
    rmSync(join(world.home, 'redis'), { recursive: true });
    cpSync(backup, join(world.home, 'redis'), { recursive: true });
    rmSync(backup, { recursive: true });

    const requests = world.server.requests.length;
    const { end } = await run('write 3', sid);
    expect(end).toMatchObject({ status: 'planner_failure', seq: 2 });
    expect(end.answer).toContain('Redis came back with older data');
    expect(world.server.requests).toHaveLength(requests);
    expect(textOf(world, 2)).toBe('token 2\n');
    // Told once; then the session goes on.
    expect((await run('write 4', sid)).end).toMatchObject({ status: 'completed', seq: 3 });
    const odin = await world.open({ models: false });
    expect(await odin.fsck(false)).toMatchObject({ lines: [], clean: true });
    expect(await odin.replay(sid)).toMatchObject({ difference: null });
  });
});

for (const when of ['before the message was sent', 'in its first step'] as const) {
  test(`DURABILITY 15.9: Redis goes back to ${when} while it runs: it ends with one sentence about that, and nothing is done twice`, async () => {
    let redis: RedisHandle | undefined;
    let goBack = async () => {};
    const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
      const isSecond = turn.userText.startsWith('write 2');
      if (isSecond && turn.stepOfMessage === 0 && when === 'in its first step' && redis)
        goBack = await copyOf(redis.client);
      if (isSecond && turn.stepOfMessage === 1) await goBack();
      return appendThenAnswer(turn);
    };
    await withWorld({ script }, async (world) => {
      const odin = await world.open({ permission: EDITS });
      const sid = odin.newSession();
      await world.ask(odin, sid, { mode: 'edit', body: 'write 1' });
      redis = await connectRedis({ home: world.home, notice: () => {} });
      goBack = await copyOf(redis.client);
      const elsewhere = endElsewhere(await world.open({ models: false }), sid, 2);
      const end = only(await world.ask(odin, sid, { mode: 'edit', body: 'write 2' }), 'AgentDone');
      expect((await elsewhere).answer).toBe(end.answer);
      expect(end).toMatchObject({ status: 'planner_failure', seq: 2 });
      expect(end.answer).toContain('look at the files, then go on');
      expect(textOf(world, 2)).toBe('token 2\n');
      expect(world.server.requests.filter(({ body }) => JSON.stringify(body).includes('write 2'))).toHaveLength(2);
      const next = only(await world.ask(odin, sid, { mode: 'edit', body: 'write 3' }), 'AgentDone');
      expect(next.status).toBe('completed');
      expect(await odin.fsck(false)).toMatchObject({ clean: true });
      await redis.close();
    });
  });
}

/** What a process that only follows hears of a message's end. */
async function endElsewhere(
  odin: Odin,
  sid: string,
  seq: number,
): Promise<Extract<StreamEvent, { type: 'AgentDone' }>> {
  for await (const event of odin.follow(sid, { signal: new AbortController().signal })) {
    if (event.type === 'AgentDone' && event.seq === seq) return event;
  }
  throw new Error('It ended without an end.');
}

test('DURABILITY 15.11: a Redis that cannot write: the turn waits where it is, the user is told once, and it goes on by itself', async () => {
  let redis: RedisHandle | undefined;
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (turn.stepOfMessage === 0) await redis?.client.config('SET', 'maxmemory', '1');
    return appendThenAnswer(turn);
  };
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ permission: EDITS });
    redis = await connectRedis({ home: world.home, notice: () => {} });
    const { client } = redis;
    const ended = world.ask(odin, odin.newSession(), { mode: 'edit', body: 'write 1' });
    while (world.noticed.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(world.noticed).toEqual([expect.stringContaining('The memory of Redis is full')]);
    await client.config('SET', 'maxmemory', '0');
    expect(only(await ended, 'AgentDone')).toMatchObject({ status: 'completed', steps: 2 });
    expect(textOf(world, 1)).toBe('token 1\n');
    expect(world.server.requests).toHaveLength(2);
    expect(world.noticed).toEqual([expect.stringContaining('goes on by itself'), 'It goes on.']);
    await redis.close();
  });
});
