// The private Redis of a home folder: started by the first Odin process that needs it, adopted by the next ones, stopped by
// the last one to leave, started again when it dies under us. Its data stays in <home>/redis.
// Invariant: never two servers on one folder (the second would unlink the first one's socket, and both would write one log,
// DURABILITY 1). So finding, starting, counting and stopping happen under one kernel lock, and who joins is counted before
// it lets go of the lock. What counts a process is its presence: a named connection that the kernel closes when it dies.

import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../shared/outcome.ts';
import { isAlive } from './process-identity.ts';
import { type Lock, lock } from './process-lock.ts';
import { privateFolder, socketPathFor } from './redis-folder.ts';
import { logOf, type Place, recordedProcess, startRedisProcess } from './redis-process.ts';
import { connectResp, type RespConnection, RespError } from './resp-connection.ts';

export type Notice = (line: string) => void;

export interface PrivateServer {
  /** Leaves; the last one to leave stops the server and waits until it has written everything down. */
  leave(): Promise<void>;
}

/** The oldest Redis that has all that Odin and BullMQ use (exclusive ranges of streams, XTRIM MINID). */
export const OLDEST_REDIS = '6.2';

const PRESENCE = 'odin:presence';
const LOCK_TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 10_000;
const LOADING_TIMEOUT_MS = 300_000;

/** A server that was found or started, with the lock held until this process is counted. */
interface Found {
  readonly held: Lock;
  readonly connection: Promise<RespConnection>;
  /** Of a server just started: why it ended, if it ends. */
  readonly ended: Promise<string> | null;
}

/**
 * Finds the server of this home or starts it, and returns as soon as it is on its way: the caller loads its packages
 * while Redis comes up, then awaits `joined`.
 */
export async function startPrivateServer(
  home: string,
  notice: Notice,
): Promise<{ readonly socketPath: string; readonly joined: Promise<PrivateServer> }> {
  const dir = realpathSync(privateFolder(join(home, 'redis')));
  const place: Place = { dir, socketPath: socketPathFor(dir) };
  const found = await findOrStart(place, notice);
  const joined = enter(place, found, notice).then((presence) => stay(place, presence, notice));
  joined.catch(() => {});
  return { socketPath: place.socketPath, joined };
}

const lockPlace = (place: Place): Promise<Lock> =>
  lock(`redis:${place.dir}`, AbortSignal.timeout(LOCK_TIMEOUT_MS)).catch(() => {
    throw new UserError(
      `Another Odin process has been starting or stopping the Redis in ${place.dir} for ${LOCK_TIMEOUT_MS / 1000} s. Is one suspended? Continue or stop it.`,
      1,
    );
  });

async function findOrStart(place: Place, notice: Notice): Promise<Found> {
  const held = await lockPlace(place);
  try {
    const running = (await tryConnect(place)) ?? (await connectToRecorded(place, notice));
    if (running !== null) return { held, connection: Promise.resolve(running), ended: null };
    const { ended } = await startRedisProcess(place);
    return { held, connection: connectToStarted(place, ended), ended };
  } catch (error) {
    held.release();
    throw error;
  }
}

/** Names the connection, so that this process counts, lets go of the lock, and waits until the data is loaded. */
async function enter(place: Place, found: Found, notice: Notice, tries = 5): Promise<RespConnection> {
  let connection: RespConnection;
  let replies: Promise<[string, string, boolean]>;
  try {
    connection = await found.connection;
    const named = connection.call('CLIENT', 'SETNAME', PRESENCE);
    replies = Promise.all([named, connection.call('INFO', 'server'), isLoaded(connection)]);
    replies.catch(() => {});
    await named.catch(() => {});
  } finally {
    found.held.release();
  }
  try {
    const [, info, loaded] = await replies;
    const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? '0';
    if (isOlder(version, OLDEST_REDIS)) {
      throw new UserError(
        `The redis-server on PATH is version ${version}; Odin needs ${OLDEST_REDIS} or newer. Install a newer Redis or Valkey, or set REDIS_URL to one.`,
      );
    }
    if (!loaded) await untilLoaded(place, connection, notice);
    return connection;
  } catch (error) {
    connection.close();
    if (error instanceof UserError) throw error;
    // It was found while it died; once it is gone the next try starts another.
    if (found.ended === null && tries > 1) {
      await delay(20);
      return enter(place, await findOrStart(place, notice), notice, tries - 1);
    }
    // A server that cannot read its own data listens first and dies then.
    const reason = await Promise.race([found.ended, delay(1000, String(error))]);
    throw new UserError(
      `The private Redis in ${place.dir} stopped while it started: ${reason ?? String(error)} Its log: ${logOf(place)}`,
      1,
    );
  }
}

async function isLoaded(connection: RespConnection): Promise<boolean> {
  try {
    await connection.call('PING');
    return true;
  } catch (error) {
    if (error instanceof RespError && error.code === 'LOADING') return false;
    throw error;
  }
}

async function untilLoaded(place: Place, connection: RespConnection, notice: Notice): Promise<void> {
  const startedAt = performance.now();
  const told = setTimeout(() => notice('Redis is loading the sessions from disk ...'), 1000);
  try {
    while (!(await isLoaded(connection))) {
      if (performance.now() - startedAt > LOADING_TIMEOUT_MS) {
        throw new UserError(`Redis is still loading ${place.dir} after ${LOADING_TIMEOUT_MS / 60_000} minutes.`, 1);
      }
      await delay(20);
    }
  } finally {
    clearTimeout(told);
  }
}

/** Keeps the presence: when the server dies under us it is started again, by whoever of its users is first. */
function stay(place: Place, first: RespConnection, notice: Notice): PrivateServer {
  let presence = first;
  let rejoining: Promise<void> | null = null;
  let leaving: Promise<void> | null = null;
  const left = new AbortController();
  const rejoin = async (): Promise<void> => {
    for (let pauseMs = 100; !left.signal.aborted; pauseMs = Math.min(pauseMs * 2, 5000)) {
      try {
        presence = await enter(place, await findOrStart(place, notice), notice);
        if (pauseMs > 100) notice('Redis is back.');
        return watch();
      } catch (error) {
        if (pauseMs === 100) notice(`Redis has stopped. ${error instanceof Error ? error.message : String(error)}`);
        await delay(pauseMs, undefined, { ref: false, signal: left.signal }).catch(() => {});
      }
    }
  };
  const watch = (): void => {
    void presence.closed.then(() => {
      if (!left.signal.aborted) rejoining = rejoin();
    });
  };
  watch();
  return {
    leave() {
      left.abort();
      // A server that is just being started again must be left like any other, or nobody would stop it.
      leaving ??= Promise.resolve(rejoining).then(() => leave(place, presence));
      return leaving;
    },
  };
}

async function leave(place: Place, presence: RespConnection): Promise<void> {
  let held: Lock | null = null;
  try {
    held = await lockPlace(place);
    const [id, clients] = await Promise.all([presence.call('CLIENT', 'ID'), presence.call('CLIENT', 'LIST')]);
    const others = clients
      .split('\n')
      .filter((client) => client.includes(` name=${PRESENCE} `) && !client.startsWith(`id=${id} `));
    if (others.length > 0) return;
    // SHUTDOWN answers by hanging up, after the append-only file is written and synced. NOSAVE: no RDB file beside it.
    presence.call('SHUTDOWN', 'NOSAVE').catch(() => {});
    await Promise.race([presence.closed, delay(5000, undefined, { ref: false })]);
  } catch {
    // It is gone already, or somebody holds the lock for long: then the server stays, and the next process adopts it.
  } finally {
    presence.close();
    held?.release();
  }
}

/** A connection if somebody listens on the socket, else null. */
async function tryConnect(place: Place): Promise<RespConnection | null> {
  try {
    return await connectResp(place.socketPath);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ECONNRESET') return null;
    throw new UserError(`Cannot connect to the private Redis at ${place.socketPath} (${code}).`, 1);
  }
}

/** Nobody listens, but the server that was started here last may live: still coming up, or cut off from its socket. */
async function connectToRecorded(place: Place, notice: Notice): Promise<RespConnection | null> {
  const recorded = recordedProcess(place);
  if (recorded === null) return null;
  for (let waitedMs = 0; waitedMs < 1000 && isAlive(recorded); waitedMs += 20) {
    const connection = await tryConnect(place);
    if (connection !== null) return connection;
    await delay(20);
  }
  if (!isAlive(recorded)) return null;
  notice('The private Redis runs but has lost its socket; it is started anew.');
  process.kill(recorded.pid, 'SIGTERM');
  for (let waitedMs = 0; waitedMs < 15_000; waitedMs += 20) {
    if (!isAlive(recorded)) return null;
    await delay(20);
  }
  throw new UserError(
    `The private Redis (process ${recorded.pid}) neither answers nor stops. Stop it and try again.`,
    1,
  );
}

async function connectToStarted(place: Place, ended: Promise<string>): Promise<RespConnection> {
  const end: { reason?: string } = {};
  void ended.then((reason) => {
    end.reason = reason;
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (let pauseMs = 1; performance.now() < deadline; pauseMs = Math.min(pauseMs + 1, 10)) {
    const connection = await tryConnect(place);
    if (connection !== null) return connection;
    if (end.reason !== undefined) {
      throw new UserError(
        `The private Redis in ${place.dir} stopped while it started: ${end.reason} Its log: ${logOf(place)}`,
        1,
      );
    }
    await delay(pauseMs);
  }
  throw new UserError(`redis-server did not come up within ${START_TIMEOUT_MS / 1000} s. Its log: ${logOf(place)}`, 1);
}

/** Compares versions by their first two numbers. */
export function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [thanMajor = 0, thanMinor = 0] = than.split('.').map(Number);
  return major < thanMajor || (major === thanMajor && minor < thanMinor);
}
