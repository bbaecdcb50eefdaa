// A redis-server on a TCP port of this machine, as a user may have one, for REDIS_URL.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface TcpRedis {
  readonly port: number;
  close(): Promise<void>;
}

export async function startTcpRedis(settings: Readonly<Record<string, string>>): Promise<TcpRedis> {
  const dir = await mkdtemp(join(tmpdir(), 'odin-tcp-'));
  const port = await freePort();
  const all: Record<string, string> = { port: String(port), bind: '127.0.0.1', dir, save: '', ...settings };
  const server: ChildProcess = spawn(
    'redis-server',
    Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: 'ignore' },
  );
  const exited = once(server, 'exit');
  while (!(await listens(port))) await delay(5);
  return {
    port,
    async close() {
      server.kill('SIGTERM');
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
