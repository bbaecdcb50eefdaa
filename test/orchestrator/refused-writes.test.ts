import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { sendControl } from '../../orchestrator/control.ts';
import { installSession } from '../../orchestrator/install-session.ts';
import { keys } from '../../orchestrator/keys.ts';
import { ulid } from '../../shared/ids.ts';
import { UserError } from '../../shared/outcome.ts';
import { startTestRedis } from '../support/redis.ts';
import { ask, inboxOf, WS } from '../support/redis-session.ts';
import { until } from '../support/until.ts';

test('DURABILITY 11: while Redis cannot write, what a user asks for is refused in one line that tells what to do, and changes nothing', async () => {
  const redis = await startTestRedis();
  const { client } = redis.handle;
  try {
    const inbox = inboxOf(client, redis.home);
    const sid = ulid();
    await inbox.submit(ask(sid, 'waits'));
    const { seq } = await inbox.submit(ask(sid, 'waits too'));
    const requests = {
      message: () => inbox.submit(ask(sid, 'one more')),
      'change of the queue': () => inbox.editWaiting(sid, seq, { mode: 'edit' }),
      'removal from the queue': () => inbox.removeWaiting(sid, seq),
      cancel: () => sendControl(client, WS, sid, { type: 'cancel', seq: 1, by: 'test' }),
      fork: () =>
        installSession(client, {
          ...{ sid: ulid(), ws: WS, root: '/', title: '', createdAt: 1, updatedAt: 1 },
          ...{ seq: 0, epoch: 0, entries: [['0-1', '{}']], mids: {} },
        }),
    };
    // A disk that takes no dump, as a full one; and a memory that is full.
    mkdirSync(join(redis.home, 'redis', 'dump.rdb', 'taken'), { recursive: true });
    await client.config('SET', 'save', '3600 1');
    await client.bgsave();
    await until(async () => (await client.info('persistence')).includes('rdb_last_bgsave_status:err'));
    const lines = await refusals(requests);
    expect(lines).toEqual({
      message: `${DISK} The message was not taken: send it again then.`,
      'removal from the queue': `${DISK} The queue is as it was: change it again then.`,
      'change of the queue': `${DISK} The queue is as it was: change it again then.`,
      cancel: `${DISK} Nobody was told of it: ask for it again then.`,
      fork: `${DISK} Nothing was changed: try again then.`,
    });
    await client.config('SET', 'save', '');
    await client.config('SET', 'maxmemory', '1');
    const full = Object.entries(lines).map(([name, line]) => [name, line.replace(DISK, MEMORY)]);
    expect(await refusals(requests)).toEqual(Object.fromEntries(full));
    await client.config('SET', 'maxmemory', '0');
    expect((await inbox.waiting(sid)).map(({ mode }) => mode)).toEqual(['ask', 'ask']);
    expect(await client.exists(keys.workspace(WS).ctl)).toBe(0);
    for (const request of Object.values(requests)) await request();
  } finally {
    await redis.close();
  }
});

const DISK = 'Redis cannot write to its disk, which is probably full: free some space.';
const MEMORY = 'The memory of Redis is full (maxmemory): give it more.';

async function refusals(requests: Readonly<Record<string, () => Promise<unknown>>>): Promise<Record<string, string>> {
  const lines: Record<string, string> = {};
  for (const [name, request] of Object.entries(requests)) {
    const error = await request().catch((cause: unknown) => cause);
    lines[name] = error instanceof UserError ? error.message : `not refused: ${String(error)}`;
  }
  return lines;
}
