// The owner's ear for other processes, with a real Redis that for a moment refuses to answer it.

import { expect, test } from '@jest/globals';
import { openControl, sendControl } from '../../orchestrator/control.ts';
import type { OdinRedis } from '../../orchestrator/redis.ts';
import { startTestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

test('DURABILITY 2: an owner whose waiting read Redis ends with an error hears what comes after it', async () => {
  const { handle, close } = await startTestRedis();
  const redis = handle.client;
  const heard: string[] = [];
  const control = await openControl(handle, 'ws', ({ sid }) => void heard.push(sid));
  const blocked = async () => /^id=(\d+) .* cmd=xread /m.exec(String(await redis.call('CLIENT', 'LIST')))?.[1] ?? null;
  try {
    await until(async () => (await blocked()) !== null);
    // What a failover does to it.
    expect(await redis.call('CLIENT', 'UNBLOCK', (await blocked()) ?? '', 'ERROR')).toBe(1);
    await sendControl(redis, 'ws', 'after', { type: 'cancel', seq: 1, by: 'test' });
    await until(() => heard.length > 0);
    expect(heard).toEqual(['after']);
    expect(control.pending('after')).toHaveLength(1);
  } finally {
    control.close();
    await close();
  }
});

test('DURABILITY 2: an owner that lost its workspace and then leaves hangs up once: twice would keep its process for seconds', async () => {
  const { handle, close } = await startTestRedis();
  const opened: OdinRedis[] = [];
  let hungUp = 0;
  const duplicate = async () => {
    const copy = await handle.duplicate();
    const hangUp = copy.disconnect.bind(copy);
    copy.disconnect = () => {
      hungUp += 1;
      hangUp();
    };
    opened.push(copy);
    return copy;
  };
  try {
    const control = await openControl({ ...handle, duplicate }, 'ws', () => {});
    control.close();
    await until(() => opened.every(({ status }) => status === 'end'));
    control.close();
    expect([opened.length, hungUp]).toEqual([1, 1]);
  } finally {
    await close();
  }
});
