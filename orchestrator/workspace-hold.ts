// How a process comes to own its workspace (DURABILITY 1, 6): first the kernel's lock, which one process of a machine has, then the lease,
// which shows the others that it lives. Now if both are free, else as soon as the present owner leaves, dies, or is found to be silent
// and is ended.

import { type Lock, lock, tryLock } from './process-lock.ts';
import { untilSilent } from './watch-owner.ts';
import { type Holder, LEASE_MS, type Lease, type LeaseEvents, takeLease } from './workspace-lease.ts';
import type { World } from './world.ts';

export interface WorkspaceHold {
  /** Null while the workspace is not ours. */
  readonly lease: Lease | null;
  /** Takes it if it is free. */
  take(): Promise<boolean>;
  /** Takes it when it becomes free. Rejects when the process closes first. */
  wait(): Promise<void>;
  /** Whether some process has it now. */
  isTaken(): Promise<boolean>;
  /** The lease is free; the kernel's lock is kept until `release`. */
  drop(): Promise<void>;
  release(): void;
}

export function createHold(world: World, events: LeaseEvents): WorkspaceHold {
  const { handle, ws, closing, options, log } = world;
  const { leaseMs = LEASE_MS, notice = () => {} } = options;
  const lockName = `ws:${options.home}:${ws}`;
  const watched = { redis: handle.client, ws, leaseMs, notice };
  let held: Lock | null = null;
  let other: Holder | null = null;
  let lease: Lease | null = null;

  /** The kernel's lock is ours; the lease may be another's, a process that does not share our kernel's locks. */
  const lend = async (former: string): Promise<void> => {
    const taken = await takeLease(handle.client, ws, events, { former, leaseMs });
    other = taken.status === 'held' ? taken.holder : null;
    if (taken.status === 'ok') lease = taken.lease;
  };

  const outwait = async ({ host, pid }: Holder): Promise<void> => {
    notice(
      `This project is run by the Odin on ${host} (process ${pid}), which gets your messages. When it ends, or is silent for ${leaseMs / 1000} s, this one takes over.`,
    );
    while (other !== null) await lend(await untilSilent({ ...watched, signal: closing }, { waitsForLock: false }));
  };

  /** Ends a holder that is silent while there is something to do; then the kernel frees its lock. */
  const waitForLock = async (): Promise<Lock> => {
    const gained = new AbortController();
    const signal = AbortSignal.any([closing, gained.signal]);
    const watching = async () => {
      for (;;) await untilSilent({ ...watched, signal }, { waitsForLock: true });
    };
    watching().catch((error: unknown) => {
      if (!signal.aborted) log('the owner is not watched', { error: String(error) });
    });
    return lock(lockName, closing).finally(() => gained.abort());
  };

  const drop = async (): Promise<void> => lease?.drop();

  return {
    get lease() {
      return lease;
    },
    async take() {
      held = await tryLock(lockName);
      if (held !== null) await lend('');
      return lease !== null;
    },
    async wait() {
      held ??= await waitForLock();
      try {
        closing.throwIfAborted();
        if (other === null) await lend('');
        if (other !== null) await outwait(other);
        closing.throwIfAborted();
      } catch (error) {
        await drop();
        held.release();
        throw error;
      }
    },
    async isTaken() {
      if (held !== null) return true;
      const free = await tryLock(lockName);
      free?.release();
      return free === null;
    },
    drop,
    release: () => held?.release(),
  };
}
