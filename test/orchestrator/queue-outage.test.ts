import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PREFIX, turnsQueue } from '../../orchestrator/keys.ts';
import { lock } from '../../orchestrator/process-lock.ts';
import { openTurnQueue } from '../../orchestrator/queue.ts';
import { ulid } from '../../shared/ids.ts';
import { serverPid, startTestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

test('C2, O6: a worker that begins while Redis is away works when it is back, and goes on working', async () => {
  const redis = await startTestRedis();
  const { client } = redis.handle;
  const ws = ulid();
  const errors: Error[] = [];
  const ran: string[] = [];
  try {
    const queue = await openTurnQueue(redis.handle, ws, (error) => errors.push(error));
    // Nobody starts it again before we have looked.
    const held = await lock(`redis:${realpathSync(join(redis.home, 'redis'))}`);
    process.kill(await serverPid(redis.home), 'SIGKILL');
    await until(() => client.status !== 'ready');
    errors.length = 0;
    queue.work(async ({ sid }) => {
      ran.push(sid);
      return null;
    });
    // The worker's own connection has tried, and failed.
    await until(() => errors.length >= 2);
    held.release();
    const wanted = [ulid(), ulid(), ulid()];
    for (const [done, sid] of wanted.entries()) {
      // With nothing left it waits to be woken.
      await until(async () => (await client.zcard(`${PREFIX}:${turnsQueue(ws)}:completed`)) === done);
      await queue.add({ sid, seq: 1, mode: 'ask', gen: 0 });
      await until(() => ran.includes(sid));
    }
    expect(ran).toEqual(wanted);
    await queue.close();
  } finally {
    await redis.close();
  }
});
