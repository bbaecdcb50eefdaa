import { expect, test } from '@jest/globals';
import { keys } from '../../orchestrator/keys.ts';
import { leaseRounds } from '../../orchestrator/lease-rounds.ts';
import { startTestRedis } from '../support/redis.ts';

test('O24: the leases that are due at one moment are renewed in one script, and each hears whether it is its owner’s still', async () => {
  const { handle, close } = await startTestRedis();
  const { client } = handle;
  try {
    const owners = Array.from({ length: 300 }, (_, i) => keys.workspace(`w${i}`).owner);
    // Every third has another owner, and the one after that none.
    await Promise.all(
      owners.map((key, i) =>
        i % 3 === 2 ? Promise.resolve(1) : client.hset(key, 'id', i % 3 === 0 ? 'own' : 'other'),
      ),
    );
    const scripts = async () =>
      [...(await client.info('commandstats')).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
        (sum, [, calls]) => sum + Number(calls),
        0,
      );
    // The first time the script goes as a whole.
    await leaseRounds(client, 1_000).renew(owners[0] ?? '', 'own', 1);
    const before = await scripts();
    const held = await Promise.all(owners.map((key) => leaseRounds(client, 1_000).renew(key, 'own', 7)));
    expect((await scripts()) - before).toBe(1);
    expect(held).toEqual(owners.map((_, i) => i % 3 === 0));
    const beats = await Promise.all(owners.slice(0, 3).map((key) => client.hget(key, 'beat')));
    expect(beats).toEqual(['7', null, null]);
    await client.set(owners[0] ?? '', 'no hash');
    const some = [0, 1, 3].map((i) => owners[i] ?? '');
    const others = await Promise.all(some.map((key) => leaseRounds(client, 1_000).renew(key, 'own', 8)));
    expect(others).toEqual([false, false, true]);
    expect(await client.hget(owners[3] ?? '', 'beat')).toBe('8');
  } finally {
    await close();
  }
});
