// The redis-server process of one folder: its settings (DURABILITY 13), its start, and the record of which process it is,
// so that one that is cut off from its socket is still found. Callers hold the folder's lock.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../shared/outcome.ts';
import { identityOf, type ProcessIdentity } from './process-identity.ts';
import { assertFreeSpace } from './redis-folder.ts';

export interface Place {
  readonly dir: string;
  readonly socketPath: string;
}

const MAX_LOG_BYTES = 1_000_000;

/** Starts the server, detached, and returns while it comes up. `ended` resolves to the reason if it ends. */
export async function startRedisProcess(place: Place): Promise<{ readonly ended: Promise<string> }> {
  assertFreeSpace(place.dir);
  const logged = statSync(logOf(place), { throwIfNoEntry: false })?.size ?? 0;
  const startedAtByte = logged > MAX_LOG_BYTES ? 0 : logged;
  const log = openSync(logOf(place), startedAtByte === 0 ? 'w' : 'a', 0o600);
  try {
    for (const program of ['redis-server', 'valkey-server']) {
      const child = spawn(program, serverArguments(place), {
        cwd: place.dir,
        detached: true,
        stdio: ['ignore', log, log],
        // Nothing of the user's environment, the keys of models among it, is any of its business.
        env: { PATH: process.env['PATH'] },
      });
      const outcome = once(child, 'exit');
      if (child.pid !== undefined) {
        child.unref();
        writeFileSync(recordOf(place), JSON.stringify(identityOf(child.pid)), { mode: 0o600 });
        return { ended: outcome.then(() => reasonInLog(place, startedAtByte)) };
      }
      const error: NodeJS.ErrnoException = await outcome.then(
        () => new Error('it ended'),
        (cause: Error) => cause,
      );
      if (error.code !== 'ENOENT') throw new UserError(`Cannot start ${program}: ${error.message}`, 1);
    }
  } finally {
    closeSync(log);
  }
  throw new UserError(
    'Odin needs Redis, and there is no redis-server or valkey-server on PATH. Install one (apt install redis-server, brew install redis) or set REDIS_URL to a running one.',
  );
}

/** The process that was started here last, running or not. */
export function recordedProcess(place: Place): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(recordOf(place), 'utf8')) as ProcessIdentity | null;
  } catch {
    return null;
  }
}

export const logOf = (place: Place): string => join(place.dir, 'redis.log');

const recordOf = (place: Place): string => join(place.dir, 'server.json');

function serverArguments(place: Place): string[] {
  const settings: Record<string, string> = {
    port: '0',
    unixsocket: place.socketPath,
    unixsocketperm: '700',
    dir: place.dir,
    appendonly: 'yes',
    appendfsync: 'always',
    'no-appendfsync-on-rewrite': 'no',
    'aof-use-rdb-preamble': 'yes',
    save: '',
    'maxmemory-policy': 'noeviction',
    timeout: '0',
    daemonize: 'no',
    loglevel: 'warning',
    logfile: '',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Its last words. The folder may be gone by now: then it was removed together with the server. */
function reasonInLog(place: Place, fromByte: number): string {
  try {
    const lines = readFileSync(logOf(place)).subarray(fromByte).toString('utf8').trim().split('\n');
    return lines.at(-1) || 'it gave no reason.';
  } catch {
    return 'its folder is gone.';
  }
}
