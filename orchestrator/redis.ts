// The connection to Redis: the private server of redis-server.ts, or REDIS_URL. The only file that loads ioredis.
// The first connection fails fast, with one line for the user; once it stood, every connection waits and reconnects for ever,
// commands wait with it, and what had no answer is sent again, so commands carry explicit ids (DURABILITY 13).

import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import type { Redis, RedisOptions } from 'ioredis';
import { UserError } from '../shared/outcome.ts';
import { isOlder, type Notice, OLDEST_REDIS, type PrivateServer, startPrivateServer } from './redis-server.ts';
import { parseRedisUrl } from './redis-url.ts';
import { type OdinScripts, SCRIPTS } from './scripts.ts';

export type OdinRedis = Redis & OdinScripts;

export interface RedisHandle {
  /** Shared by everything that does not block, BullMQ too. */
  readonly client: OdinRedis;
  readonly isPrivate: boolean;
  /** What tells this machine's workspaces apart in a Redis that others use too; empty for the private one. */
  readonly scope: string;
  /** Where it is, without secrets. */
  readonly where: string;
  /** A connection of its own, for reads that block. It closes with the handle at the latest. */
  duplicate(): Promise<OdinRedis>;
  /** Leaves. The last process to leave stops the private server; its data stays. */
  close(): Promise<void>;
}

export interface RedisChoice {
  readonly home: string;
  readonly redisUrl?: string;
  readonly notice: Notice;
}

/** How long our own server may take to be there again when it dies while this process starts. */
const RESTART_MS = 5_000;

export async function connectRedis(choice: RedisChoice): Promise<RedisHandle> {
  if (choice.redisUrl !== undefined) {
    const { where, options } = parseRedisUrl(choice.redisUrl);
    const client = await open(options, where);
    try {
      await checkServer(client, where, choice.notice);
    } catch (error) {
      drop(client);
      throw error;
    }
    return handleOf(client, where, null);
  }
  const { socketPath, joined } = await startPrivateServer(choice.home, choice.notice);
  // The server comes up while ioredis loads.
  const [server] = await Promise.all([joined, import('ioredis')]);
  try {
    const client = await openPrivate(socketPath);
    return handleOf(client, socketPath, server);
  } catch (error) {
    await server.leave();
    throw error;
  }
}

/** Our own server was there a moment ago: if it died since, whoever has joined it starts it again. */
async function openPrivate(socketPath: string): Promise<OdinRedis> {
  const until = performance.now() + RESTART_MS;
  for (;;) {
    try {
      return await open({ path: socketPath }, socketPath);
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

async function open(target: RedisOptions, where: string): Promise<OdinRedis> {
  const { Redis } = await import('ioredis');
  let stood = false;
  const options: RedisOptions = {
    ...target,
    lazyConnect: true,
    protocol: 2,
    disableClientInfo: true,
    connectTimeout: 5000,
    maxRetriesPerRequest: null,
    maxLoadingRetryTime: 50,
    retryStrategy: (times: number) => (stood ? Math.min(20 * 2 ** times, 1000) : null),
    scripts: SCRIPTS,
  };
  const client = new Redis({ ...options, replyMapping: 'legacy' }) as OdinRedis;
  client.on('connect', () => gatherWrites(client.stream));
  let cause: Error | undefined;
  client.on('error', (error: Error) => {
    cause ??= error;
  });
  try {
    await client.connect();
  } catch (error) {
    drop(client);
    // Made anew and without the cause: errors of ioredis carry the command's arguments, and AUTH's is the password.
    throw new UserError(explain(cause ?? (error as Error), where), 1);
  }
  stood = true;
  // BullMQ copies this connection for its worker. A lazy copy whose first attempt fails is lost to it, though it connects later: the
  // worker would never again wait for work.
  client.options.lazyConnect = false;
  return client;
}

/**
 * Commands of one moment leave in one write: those of all sessions that the same replies have moved on. For Redis they are one batch
 * then, which it syncs to disk once.
 */
function gatherWrites(stream: Writable): void {
  const write = stream.write.bind(stream);
  let isGathering = false;
  const release = (): void => {
    isGathering = false;
    stream.uncork();
  };
  const gather = (...args: Parameters<typeof write>): boolean => {
    if (!isGathering) {
      isGathering = true;
      stream.cork();
      process.nextTick(release);
    }
    return write(...args);
  };
  stream.write = gather as typeof stream.write;
}

function handleOf(client: OdinRedis, where: string, server: PrivateServer | null): RedisHandle {
  const duplicates = new Set<OdinRedis>();
  return {
    client,
    where,
    isPrivate: server !== null,
    scope: server === null ? hostname() : '',
    async duplicate() {
      const copy = client.duplicate({ lazyConnect: false }) as OdinRedis;
      copy.on('error', () => {});
      duplicates.add(copy);
      copy.once('end', () => duplicates.delete(copy));
      return copy;
    },
    async close() {
      for (const copy of duplicates) drop(copy);
      if (client.status === 'ready') await Promise.race([client.quit().catch(() => {}), soon(1000)]);
      drop(client);
      await server?.leave();
    },
  };
}

/** Hangs up, however often it is called: twice would keep the process for the two seconds that ioredis gives a socket to close. */
export function hangUpOnce(client: OdinRedis): () => void {
  let isDone = false;
  return () => {
    if (!isDone) drop(client);
    isDone = true;
  };
}

/** For a connection that may have ended already. */
function drop(client: OdinRedis): void {
  if (client.status !== 'end') client.disconnect();
}

const soon = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

/** A server that is not ours: can it be used, and what does it not promise? */
async function checkServer(client: OdinRedis, where: string, notice: Notice): Promise<void> {
  const [info, appendfsync] = await Promise.all([
    client.info(),
    client.config('GET', 'appendfsync').then(
      (reply) => String(reply[1]),
      () => 'unknown',
    ),
  ]);
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const version = field('redis_version');
  if (isOlder(version, OLDEST_REDIS)) {
    throw new UserError(`${where} is Redis ${version}; Odin needs ${OLDEST_REDIS} or newer.`);
  }
  if (field('role') === 'slave') {
    throw new UserError(`${where} is a read-only replica. Set REDIS_URL to its primary (${field('master_host')}).`);
  }
  if (field('redis_mode') === 'cluster') {
    throw new UserError(`${where} is a node of a Redis Cluster, which Odin does not speak to. Use a standalone Redis.`);
  }
  if (field('aof_enabled') !== '1') {
    notice(`${where} writes no append-only file: if it stops, sessions and queued messages may be lost.`);
  } else if (appendfsync !== 'always') {
    notice(
      appendfsync === 'unknown'
        ? `${where} does not say how often it syncs to disk: if it crashes, the newest work may be lost.`
        : `${where} has appendfsync ${appendfsync}: if it crashes, about the last two seconds of work may be lost.`,
    );
  }
  const policy = field('maxmemory_policy');
  if (policy !== '' && policy !== 'noeviction') {
    notice(`${where} has maxmemory-policy ${policy}: when its memory is full it drops sessions. Use noeviction.`);
  }
}

function explain(error: Error, where: string): string {
  const system = (error as NodeJS.ErrnoException).code;
  const reply = error.message.split(' ', 1)[0] ?? '';
  const known = EXPLANATIONS[system ?? ''] ?? EXPLANATIONS[reply];
  if (known !== undefined) return `Cannot use the Redis at ${where}: ${known}`;
  if (/CERT|SIGNED|TLS|SSL|ISSUER/.test(system ?? '')) {
    return `Cannot use the Redis at ${where}: its certificate is not trusted (${system}). For a private authority set NODE_EXTRA_CA_CERTS.`;
  }
  return `Cannot use the Redis at ${where} (${system ?? reply}). Is it a Redis, and is it running?`;
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there. Start it, or unset REDIS_URL to use a private one.',
  ENOENT: 'there is no such socket. Start it, or unset REDIS_URL to use a private one.',
  EACCES: 'you may not open its socket.',
  ENOTFOUND: 'there is no such host.',
  EAI_AGAIN: 'its name cannot be resolved right now.',
  ETIMEDOUT: 'it does not answer within 5 s.',
  EHOSTUNREACH: 'there is no way to that host.',
  ENETUNREACH: 'there is no way to that host.',
  WRONGPASS: 'wrong user or password. Correct REDIS_URL.',
  NOAUTH: 'it wants a password. Put it into REDIS_URL: redis://:password@host:port.',
  NOPERM: 'this user lacks the rights Odin needs (commands on keys {odin}:*, and INFO).',
};
