// A private Redis for a test: Odin's own server and connection, in a folder of its own that goes away with it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';

export interface TestRedis {
  readonly home: string;
  readonly handle: RedisHandle;
  /** What the user would have been told. */
  readonly notices: string[];
  close(): Promise<void>;
}

export async function tempHome(): Promise<{ readonly home: string; remove(): Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), 'odin-test-'));
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
}

export async function startTestRedis(): Promise<TestRedis> {
  const { home, remove } = await tempHome();
  const notices: string[] = [];
  const handle = await connectRedis({ home, notice: (line) => notices.push(line) });
  return {
    home,
    handle,
    notices,
    async close() {
      await handle.close();
      await remove();
    },
  };
}

/** Pid of the server of a home, as it was recorded when it was started. */
export async function serverPid(home: string): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  return (JSON.parse(await readFile(join(home, 'redis', 'server.json'), 'utf8')) as { pid: number }).pid;
}
