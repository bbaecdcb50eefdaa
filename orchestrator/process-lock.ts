// A lock by name between the processes of one user on one machine, released by the kernel when its holder dies, however
// it dies. Linux: an abstract unix socket, which exists exactly as long as somebody listens. It is per network namespace:
// two containers that share a home folder but not the network do not see each other's locks.
// Elsewhere: a lock file (process-lock-file.ts), which is weaker; its header says how.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { sha256 } from '../shared/ids.ts';
import { type Lock, lockFilePath, tryFileLock } from './process-lock-file.ts';

export type { Lock } from './process-lock-file.ts';

/** Takes the lock, or null when another process (or this one) holds it. It does not keep the process running. */
export async function tryLock(name: string): Promise<Lock | null> {
  return process.platform === 'linux' ? trySocketLock(addressOf(name)) : tryFileLock(lockFilePath(name));
}

/** Waits for the lock. Rejects with the signal's reason when it aborts. */
export async function lock(name: string, signal?: AbortSignal): Promise<Lock> {
  for (;;) {
    signal?.throwIfAborted();
    const taken = await tryLock(name);
    if (taken !== null) return taken;
    if (process.platform === 'linux') await holderGone(addressOf(name), signal);
    else await delay(25, undefined, signal === undefined ? {} : { signal });
  }
}

// Anybody on the machine can take an abstract name, so the user's id is part of it; the rest fits the 107 bytes there are.
const addressOf = (name: string): string => `\0odin-${userInfo().uid}-${sha256(name).slice(0, 32)}`;

async function trySocketLock(address: string): Promise<Lock | null> {
  const waiting = new Set<Socket>();
  const server = createServer((socket) => {
    waiting.add(socket);
    socket.unref();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => waiting.delete(socket));
  });
  server.listen({ path: address, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
  server.unref();
  return {
    release() {
      server.close();
      for (const socket of waiting) socket.destroy();
    },
  };
}

/** Resolves when the holder's side of a connection to its socket closes: by release, or by the kernel at its death. */
async function holderGone(address: string, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const socket = connect({ path: address });
  const abort = (): void => void socket.destroy();
  signal?.addEventListener('abort', abort, { once: true });
  let refused = false;
  socket.on('error', () => {
    refused = true;
  });
  socket.resume();
  await once(socket, 'close').catch(() => {});
  signal?.removeEventListener('abort', abort);
  // Refused: it was freed in between, or its queue of connections is full. Either way the next try is not a busy loop.
  if (refused) await delay(3);
}
