// A watch over real sessions in a real Redis, one of which nobody can read.

import { expect, test } from '@jest/globals';
import { keys } from '../../../orchestrator/keys.ts';
import { watchSessions } from '../../../orchestrator/watch/session-watch.ts';
import { ulid } from '../../../shared/ids.ts';
import { NO_RATES } from '../../../shared/spending.ts';
import { startTestRedis } from '../../support/redis.ts';
import { ask, claimed, done, inboxOf, WS } from '../../support/redis-session.ts';
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
  await redis.xadd(keys.session(strange).log, '1-1', 'd', JSON.stringify({ w: 'w', v: 99, e: { type: 'unheard of' } }));
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
