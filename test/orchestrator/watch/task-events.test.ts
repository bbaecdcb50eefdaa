// What the tasks of batches journal, as a dashboard counts it.

import { expect, test } from '@jest/globals';
import { archiveSession } from '../../../orchestrator/archive-move.ts';
import { openBatchStore } from '../../../orchestrator/batch/store.ts';
import { openTaskEvents } from '../../../orchestrator/watch/task-events.ts';
import { ulid } from '../../../shared/ids.ts';
import { startTestRedis } from '../../support/redis.ts';
import { ask, claimed, done, inboxOf, update } from '../../support/redis-session.ts';

const COPY = 'working-copy';

test('E16 O25: what a batch’s tasks journal is told once, live and from their files; what was over before, and other projects’, is not', async () => {
  const { handle, home, close } = await startTestRedis();
  const redis = handle.client;
  const store = openBatchStore(redis);
  const inbox = inboxOf(redis, home, COPY);
  const base = '0'.repeat(40);
  const task = { prompt: 'x', mode: 'ask' as const, base, limits: {}, priority: 0, needs: [] };
  const create = (bid: string, root: string) =>
    store.create({
      ...{ bid, root, hash: 'h', name: bid, caps: {} },
      tasks: ['a', 'b'].map((id, line) => ({ ...task, id, line, root })),
    });
  const run = { worker: 'w', host: 'box', pid: 7, startTime: '1', job: 'j', token: 't', at: 1 };
  const begin = async (bid: string, item: string) => {
    const sid = ulid();
    await inbox.submit(ask(sid, 'hello'));
    const claim = await store.claim(bid, item, 0, run, { ws: COPY, fresh: sid });
    if (claim.status !== 'ok') throw new Error(claim.status);
    const { journal } = await claimed(redis, sid, 1, '0', COPY);
    const end = async () => {
      await journal.finish(done(1));
      const result = {
        ...{ reason: 'x', answer: 'y', files: [], base, costUsd: null, tokens: 1, steps: 1, worker: 'w' },
      };
      const times = { startedAt: 1, endedAt: 2 };
      await store.finish(
        bid,
        { ...result, ...times, id: item, line: 0, status: 'completed', session: sid },
        claim.epoch,
        '',
      );
    };
    return { sid, journal, end };
  };
  await create('ours', '/project');
  await create('theirs', '/elsewhere');
  await create('past', '/project');
  for (const item of ['a', 'b']) await (await begin('past', item)).end();
  expect((await store.status('past'))?.endedAt).not.toBeNull();
  const before = await begin('ours', 'a');
  await before.end();
  const theirs = await begin('theirs', 'a');

  const told: string[] = [];
  const tasks = openTaskEvents(
    { redis, home },
    '/project',
    (sid, { id, event }) => void told.push(`${sid} ${id} ${event.type}`),
  );
  await tasks.read();
  expect(told).toEqual([]);
  const ours = await begin('ours', 'b');
  await tasks.read();
  void ours.journal.append(update(1, 'on the way'));
  await ours.journal.flushed();
  await Promise.all([tasks.read(), tasks.read()]);
  await ours.end();
  await theirs.end();
  expect(await archiveSession({ redis, home }, ours.sid)).toBe('archived');
  await tasks.read();
  await tasks.read();
  expect(told).toEqual([`${ours.sid} 1-0 claim`, `${ours.sid} 1-1 update`, `${ours.sid} 1-2 msg.done`]);
  await close();
});
