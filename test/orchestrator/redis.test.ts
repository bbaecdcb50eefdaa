import { expect, test } from '@jest/globals';
import { connectRedis } from '../../orchestrator/redis.ts';
import { parseRedisUrl } from '../../orchestrator/redis-url.ts';
import { startFakeRedis } from '../support/redis-fake.ts';
import { freePort, startTcpRedis } from '../support/redis-tcp.ts';

const home = '/nowhere';

async function refusal(redisUrl: string): Promise<string> {
  try {
    const handle = await connectRedis({ home, redisUrl, notice: () => {} });
    await handle.close();
    return 'connected';
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

test('REDIS_URL: over a network it takes TLS and a password, and secrets are never shown', () => {
  for (const url of ['redis://db.example.com', 'redis://:geheim@10.0.0.5:6379', 'rediss://db.example.com:6380']) {
    expect(() => parseRedisUrl(url)).toThrow(/is on the network.*Use rediss:\/\/ and a password/);
  }
  for (const url of ['redis://:geheim@10.0.0.5:6379', 'http://:geheim@localhost', 'redis://u:geheim@localhost/zero']) {
    expect(() => parseRedisUrl(url)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('geheim') }),
    );
  }
  expect(parseRedisUrl('rediss://me:gehe%40im@db.example.com:6380/2')).toEqual({
    where: 'rediss://db.example.com:6380/2',
    options: {
      host: 'db.example.com',
      port: 6380,
      db: 2,
      username: 'me',
      password: 'gehe@im',
      tls: { servername: 'db.example.com' },
    },
  });
  expect(parseRedisUrl('redis://[::1]:7000').options).toMatchObject({ host: '::1', port: 7000 });
  expect(parseRedisUrl('unix:///run/redis.sock')).toEqual({
    where: 'unix:/run/redis.sock',
    options: { path: '/run/redis.sock' },
  });
  expect(() => parseRedisUrl('6379')).toThrow(/^REDIS_URL is not an address/);
});

test('REDIS_URL: what is wrong with the server is said in one line, at once', async () => {
  const password = await startTcpRedis({ requirepass: 'geheim' });
  const old = await startFakeRedis('redis_version:5.0.7\r\nrole:master\r\n');
  const cluster = await startFakeRedis('redis_version:7.2.4\r\nrole:master\r\nredis_mode:cluster\r\n');
  const replica = await startTcpRedis({ replicaof: `127.0.0.1 ${password.port}` });
  try {
    expect(await refusal(`redis://127.0.0.1:${await freePort()}`)).toMatch(/^UserError: .*nothing listens there/);
    expect(await refusal('unix:///nowhere/redis.sock')).toMatch(/^UserError: .*no such socket/);
    expect(await refusal(`redis://127.0.0.1:${password.port}`)).toMatch(/^UserError: .*wants a password/);
    const wrong = await refusal(`redis://:falsch@127.0.0.1:${password.port}`);
    expect(wrong).toMatch(/^UserError: .*wrong user or password/);
    expect(wrong).not.toContain('falsch');
    expect(await refusal(old.url)).toMatch(/^UserError: .*is Redis 5\.0\.7; Odin needs 6\.2 or newer/);
    expect(await refusal(cluster.url)).toMatch(/^UserError: .*Redis Cluster/);
    expect(await refusal(`redis://127.0.0.1:${replica.port}`)).toMatch(/^UserError: .*read-only replica/);
  } finally {
    await Promise.all([replica.close(), old.close(), cluster.close()]);
    await password.close();
  }
});

test("REDIS_URL: a weaker guarantee than the private server's is said, a full one is not", async () => {
  const weak = await startTcpRedis({ 'maxmemory-policy': 'allkeys-lru' });
  const middling = await startTcpRedis({ appendonly: 'yes', appendfsync: 'everysec' });
  const strong = await startTcpRedis({ appendonly: 'yes', appendfsync: 'always', requirepass: 'geheim' });
  const noticesOf = async (redisUrl: string): Promise<string[]> => {
    const notices: string[] = [];
    const handle = await connectRedis({ home, redisUrl, notice: (line) => notices.push(line) });
    expect(handle.isPrivate).toBe(false);
    expect(await handle.client.ping()).toBe('PONG');
    expect(await (await handle.duplicate()).ping()).toBe('PONG');
    await handle.close();
    return notices;
  };
  try {
    expect(await noticesOf(`redis://127.0.0.1:${weak.port}`)).toEqual([
      expect.stringMatching(/no append-only file/),
      expect.stringMatching(/maxmemory-policy allkeys-lru/),
    ]);
    expect(await noticesOf(`redis://127.0.0.1:${middling.port}`)).toEqual([
      expect.stringMatching(/appendfsync everysec.*two seconds/),
    ]);
    expect(await noticesOf(`redis://:geheim@127.0.0.1:${strong.port}/3`)).toEqual([]);
  } finally {
    await Promise.all([weak.close(), middling.close(), strong.close()]);
  }
});
