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

test('DURABILITY 2: an owner that hangs up twice, as one that lost its workspace and then leaves does, keeps no process waiting', async () => {
  const { handle, close } = await startTestRedis();
  const opened: OdinRedis[] = [];
  const duplicate = async () => {
    const copy = await handle.duplicate();
    opened.push(copy);
    return copy;
  };
  const control = await openControl({ ...handle, duplicate }, 'ws', () => {});
  try {
    control.close();
    await until(() => opened.every(({ status }) => status === 'end'));
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    control.close();
    expect([opened.length, timers()]).toEqual([1, before]);
  } finally {
    await close();
  }
});
