import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { identityOf } from '../../orchestrator/process-identity.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { assertFreeSpace, socketPathFor } from '../../orchestrator/redis-folder.ts';
import { startPrivateServer } from '../../orchestrator/redis-server.ts';
import { serverPid, startTestRedis, tempHome } from '../support/redis.ts';
import { startLineChild } from '../support/redis-lines.ts';
import { until } from '../support/until.ts';

const silent = (): void => {};

test('C2: six processes that start at the same instant share one server; the last to leave stops it, its data stays', async () => {
  const { home, remove } = await tempHome();
  try {
    const children = Array.from({ length: 6 }, () => startLineChild('redis-child', [home]));
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.send('join');
    const servers = await Promise.all(children.map((child) => child.line()));
    expect(new Set(servers).size).toBe(1);
    expect(servers[0]).toMatch(/^server \w{40}$/);
    const pid = await serverPid(home);
    const [last, ...others] = children;
    for (const child of others) child.send('leave');
    await Promise.all(others.map((child) => child.exited));
    expect(identityOf(pid)).not.toBeNull();

    const late = await connectRedis({ home, notice: silent });
    await late.client.set('{odin}:kept', 'yes');
    last?.send('leave');
    await last?.exited;
    expect(identityOf(pid)).not.toBeNull();
    await late.close();
    // It hangs up right before it is gone.
    await until(() => identityOf(pid) === null);

    const next = await connectRedis({ home, notice: silent });
    expect(await next.client.get('{odin}:kept')).toBe('yes');
    await next.close();
  } finally {
    await remove();
  }
});

test('C2: a killed last process leaves the server running, and the next one adopts it', async () => {
  const { home, remove } = await tempHome();
  try {
    const child = startLineChild('redis-child', [home]);
    await child.line();
    child.send('join');
    const server = await child.line();
    child.process.kill('SIGKILL');
    await child.exited;
    const next = await connectRedis({ home, notice: silent });
    const info = await next.client.info('server');
    expect(`server ${/^run_id:(\w+)/m.exec(info)?.[1]}`).toBe(server);
    await next.close();
    await expect(stat(join(home, 'redis', 'redis.sock'))).rejects.toThrow('ENOENT');
  } finally {
    await remove();
  }
});

test('C2: a server that dies under its users is started again with all that it had acknowledged', async () => {
  const redis = await startTestRedis();
  try {
    const { client } = redis.handle;
    for (let kill = 0; kill < 3; kill++) {
      const writes = Array.from({ length: 200 }, (_, i) => client.hset('{odin}:kill', `${kill}.${i}`, 1));
      await Promise.all(writes.slice(0, 50));
      process.kill(await serverPid(redis.home), 'SIGKILL');
      await Promise.all(writes);
    }
    expect(await client.hlen('{odin}:kill')).toBe(600);
  } finally {
    await redis.close();
  }
});

test('C2: a server that lost its socket is replaced, never doubled', async () => {
  const { home, remove } = await tempHome();
  try {
    const child = startLineChild('redis-child', [home]);
    await child.line();
    child.send('join');
    await child.line();
    const first = await serverPid(home);
    child.process.kill('SIGKILL');
    await child.exited;
    await rm(join(home, 'redis', 'redis.sock'));
    const notices: string[] = [];
    const next = await connectRedis({ home, notice: (line) => notices.push(line) });
    expect(notices).toEqual(['The private Redis runs but has lost its socket; it is started anew.']);
    expect(identityOf(first)).toBeNull();
    expect(await serverPid(home)).not.toBe(first);
    await next.close();
  } finally {
    await remove();
  }
});

test("The server folder, its socket and its log are the user's alone", async () => {
  const redis = await startTestRedis();
  try {
    const modeOf = async (name: string): Promise<number> => (await stat(join(redis.home, 'redis', name))).mode & 0o777;
    expect(await modeOf('.')).toBe(0o700);
    expect(await modeOf('redis.sock')).toBe(0o700);
    expect(await modeOf('redis.log')).toBe(0o600);
    const [, appendfsync] = await redis.handle.client.config('GET', 'appendfsync');
    expect(appendfsync).toBe('always');
  } finally {
    await redis.close();
  }
});

test('What keeps the server from starting is said in one line that tells what to do', async () => {
  const { home, remove } = await tempHome();
  const path = process.env['PATH'];
  try {
    await writeFile(join(home, 'file'), '');
    await expect(startPrivateServer(join(home, 'file'), silent)).rejects.toThrow(/^Odin cannot use .*ODIN_HOME/);

    process.env['PATH'] = join(home, 'nothing-here');
    await expect(startPrivateServer(home, silent)).rejects.toThrow(
      /no redis-server or valkey-server on PATH.*REDIS_URL/,
    );
    process.env['PATH'] = path;

    expect(() => assertFreeSpace(home, Number.MAX_SAFE_INTEGER)).toThrow(/^The disk of .* left; .*Free some space/);

    await mkdir(join(home, 'redis', 'appendonlydir'), { recursive: true });
    await writeFile(join(home, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), 'not a manifest\n');
    const { joined } = await startPrivateServer(home, silent);
    await expect(joined).rejects.toThrow(/^The private Redis in .* stopped while it started: .*manifest.*Its log: /i);
  } finally {
    process.env['PATH'] = path;
    await remove();
  }
});

test('A home too deep for a socket gets a short path that depends on nothing but the home', () => {
  const deep = `/home/${'very-'.repeat(30)}deep/redis`;
  expect(socketPathFor('/home/ada/.odin/redis')).toBe('/home/ada/.odin/redis/redis.sock');
  expect(socketPathFor(deep).length).toBeLessThan(60);
  expect(socketPathFor(deep)).toBe(socketPathFor(deep));
});
