// Watches the owner of a workspace for as long as another process waits for it: one that counts no more, by this process's own clock,
// is stopped or blocked, and still holds the kernel's lock. When it is on this machine it is ended, so that it can never go on where
// another has; when it cannot be seen from here its lease is over. Nothing is done while nothing waits to be done: a process that
// somebody stopped with Ctrl-Z stays as it is until the workspace is wanted.

import { setTimeout as delay } from 'node:timers/promises';
import { endProcess } from './end-process.ts';
import { keys } from './keys.ts';
import { isAlive, selfPlace } from './process-identity.ts';
import type { OdinRedis } from './redis.ts';
import { type Holder, LEASE_MS, readHolder } from './workspace-lease.ts';

export interface WatchOwner {
  readonly redis: OdinRedis;
  readonly ws: string;
  readonly signal: AbortSignal;
  readonly leaseMs?: number;
  /** A line for the user. */
  notice(line: string): void;
}

const LOOKS = 10;

/**
 * Resolves with the id of an owner that was silent and can do no more, or with '' when nobody has the lease. Rejects with the signal's
 * reason. `waitsForLock`: somebody who holds the kernel's lock is not there yet when he has no lease.
 */
export async function untilSilent(
  watch: WatchOwner,
  { waitsForLock }: { readonly waitsForLock: boolean },
): Promise<string> {
  const { redis, ws, signal, leaseMs = LEASE_MS } = watch;
  let seen = '';
  let since = 0;
  let lookedAt = 0;
  let refused = '';
  for (;;) {
    const holder = await readHolder(redis, ws).catch(() => 'unread' as const);
    signal.throwIfAborted();
    if (holder === null && !waitsForLock) return '';
    const now = performance.now();
    const sign = holder === null || holder === 'unread' ? '' : `${holder.id} ${holder.beat}`;
    // A watcher that was stopped itself, or had no Redis for a while, has seen nothing.
    if (sign !== seen || now - lookedAt > leaseMs / 2) since = now;
    seen = sign;
    lookedAt = now;
    const silent = holder !== null && holder !== 'unread' && now - since >= leaseMs ? holder : null;
    // Looked at once more behind the work: an owner that wakes up counts before it takes any.
    if (silent !== null && silent.id !== refused && (await hasWork(redis, ws)) && (await isAsSeen(redis, ws, sign))) {
      if (await end(watch, silent)) return silent.id;
      refused = silent.id;
    }
    await delay(leaseMs / LOOKS, undefined, { ref: false, signal });
  }
}

const isAsSeen = async (redis: OdinRedis, ws: string, sign: string): Promise<boolean> => {
  const holder = await readHolder(redis, ws).catch(() => null);
  return holder !== null && `${holder.id} ${holder.beat}` === sign;
};

const hasWork = async (redis: OdinRedis, ws: string): Promise<boolean> =>
  (await redis.scard(keys.workspace(ws).pending).catch(() => 0)) > 0;

async function end({ leaseMs = LEASE_MS, notice }: WatchOwner, holder: Holder): Promise<boolean> {
  const { pid, host, helper } = holder;
  const seconds = Math.round(leaseMs / 100) / 10;
  const isHere = host === selfPlace() && isAlive(holder);
  const gone = isHere ? await endProcess(holder) : true;
  if (gone && helper !== null && host === selfPlace()) await endProcess(helper);
  notice(
    !gone
      ? `The Odin that runs this project (process ${pid}) has not answered for ${seconds} s and cannot be ended from here. End it with \`kill -9 ${pid}\`; then this one goes on with its work.`
      : isHere
        ? `The Odin that ran this project (process ${pid}) had not answered for ${seconds} s, stopped or blocked. It was ended; this one goes on with its work.`
        : `The Odin that ran this project on ${host} (process ${pid}) has not answered for ${seconds} s; this one goes on with its work.`,
  );
  return gone;
}
