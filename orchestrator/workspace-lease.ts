// The word of the process that runs a workspace that it still can (DURABILITY 6): a number in Redis that it counts up. Who waits for
// the workspace watches that number by its own clock (watch-owner.ts), so that no clock that jumps takes part. The owner watches
// itself: when it could not count for 0.7 of the time after which others take over, it puts down what runs, and before every effect
// it makes sure that it has not slept. Between processes of one machine the kernel's lock comes before this; the lease is what finds
// a holder that is stopped or blocked, and what keeps owners apart that do not share a kernel's lock.

import { ulid } from '../shared/ids.ts';
import { Fenced } from '../shared/ports.ts';
import { endProcess } from './end-process.ts';
import { keys } from './keys.ts';
import { leaseRounds } from './lease-rounds.ts';
import type { Log } from './log.ts';
import { isAlive, type ProcessIdentity, selfIdentity, selfPlace } from './process-identity.ts';
import type { OdinRedis } from './redis.ts';
import { pauseReason } from './redis-pause.ts';

/** A process that owns a workspace, as others see it. */
export interface Holder extends ProcessIdentity {
  readonly id: string;
  /** selfPlace() of it. */
  readonly host: string;
  readonly beat: string;
  /** The process in which it runs a message alone; it must be gone before anybody else goes on with it. */
  readonly helper: ProcessIdentity | null;
}

export interface Lease {
  /** Sessions that had something to do when the workspace was taken. */
  readonly pending: number;
  /**
   * Null as long as nobody else can have the workspace. Else what settles when that is known again; it rejects with Fenced when
   * somebody has. Await it before an effect.
   */
  sure(): Promise<void> | null;
  /** Names the process that runs a message alone. Resolves when others can see it. */
  nameHelper(helper: ProcessIdentity | null): Promise<void>;
  /** The workspace is free: what comes next need not wait. */
  drop(): Promise<void>;
}

export interface LeaseEvents {
  /** It could not be renewed for too long: what runs must stop, for others may soon have it. */
  onDoubt(): void;
  /** It is ours still, after a doubt. */
  onBack(): void;
  /** Somebody else has it. */
  onLost(): void;
  readonly log: Log;
}

export type Taken =
  | { readonly status: 'ok'; readonly lease: Lease }
  | { readonly status: 'held'; readonly holder: Holder };

/** A process that gave no sign of life for this long is taken for stopped. */
export const LEASE_MS = 10_000;
/** From the last renewal until the owner itself lets go, as a part of the lease. */
const FENCE = 0.7;
const RENEWALS = 4;
const TICKS = 20;
/** A timer that comes later than this tells of a blocked event loop. */
const LAG_MS = 1_000;

/** Takes the lease when nobody has it, or the one who has it is dead, or is `former` and known to be gone. */
export async function takeLease(
  redis: OdinRedis,
  ws: string,
  events: LeaseEvents,
  { leaseMs = LEASE_MS, former = '' }: { readonly leaseMs?: number; readonly former?: string } = {},
): Promise<Taken> {
  const id = ulid();
  const { owner, pending } = keys.workspace(ws);
  const rounds = leaseRounds(redis, leaseMs / TICKS);
  let beat = 0;
  let helper: ProcessIdentity | null = null;
  let waiting = 0;
  let sentAt = 0;

  /** Null: it is ours. */
  const beatOnce = async (replaces: string): Promise<Holder | null> => {
    const who = JSON.stringify({ ...selfIdentity(), host: selfPlace(), helper });
    beat += 1;
    sentAt = performance.now();
    const reply = await redis.olease([owner, pending], [id, who, beat, replaces]);
    if (reply[0] === 'ok') {
      waiting = reply[1];
      return null;
    }
    const holder = holderOf(reply[1], reply[2], reply[3]);
    return holder.id !== replaces && (await isGone(holder)) ? beatOnce(holder.id) : holder;
  };

  /** Null: it is ours still. What is not known as ours any more is looked into. */
  const beatAgain = async (): Promise<Holder | null> => {
    beat += 1;
    return (await rounds.renew(owner, id, beat)) ? null : beatOnce('');
  };

  /** The kernel frees the lock of a process that dies a moment before that one is dead to us. */
  const beatFirst = async (): Promise<Holder | null> => {
    const until = performance.now() + DYING_MS;
    let found = await beatOnce(former);
    for (let ms = 1; found?.host === selfPlace() && performance.now() < until; ms = Math.min(2 * ms, 50)) {
      await soon(ms);
      if (!isAlive(found)) found = await beatOnce(former);
    }
    return found;
  };

  const holder = await beatFirst();
  if (holder !== null) return { status: 'held', holder };

  let renewedAt = sentAt;
  let renewing: Promise<void> | null = null;
  let state: 'ours' | 'doubted' | 'lost' | 'dropped' = 'ours';

  const lose = (): void => {
    state = 'lost';
    leaveRounds();
    events.onLost();
  };
  const renewed = (at: number): void => {
    renewedAt = at;
    if (state !== 'doubted') return;
    state = 'ours';
    events.onBack();
  };
  const renewOnce = async (beatWith: () => Promise<Holder | null>): Promise<void> => {
    const at = performance.now();
    try {
      const other = await beatWith();
      if (state === 'lost' || state === 'dropped') return;
      if (other === null) renewed(at);
      else lose();
    } catch (error) {
      // A Redis that refuses to write now refuses it to others too, and they to see it silent.
      if (pauseReason(error) !== null && state !== 'lost' && state !== 'dropped') renewed(at);
    }
  };
  const renew = (beatWith = () => beatOnce('')): Promise<void> => {
    renewing ??= renewOnce(beatWith).finally(() => {
      renewing = null;
    });
    return renewing;
  };
  const isStale = (): boolean => performance.now() - renewedAt > FENCE * leaseMs;

  const tick = (now: number, lateMs: number): void => {
    const wasStopped = lateMs > Math.min(LAG_MS, leaseMs / RENEWALS);
    if (wasStopped) events.log('the event loop was blocked, or the process was stopped', { forMs: lateMs });
    // Right after a stop the renewal tells; nothing new begins before it has.
    if (isStale() && !wasStopped && state === 'ours') {
      state = 'doubted';
      events.log('the workspace could not be renewed', { forMs: Math.round(now - renewedAt) });
      events.onDoubt();
    }
    // After a stop it may be another's, and that is to be known at once.
    if (now - renewedAt > leaseMs / RENEWALS) void (wasStopped ? renew() : renew(beatAgain));
  };
  const leaveRounds = rounds.join(tick);

  return {
    status: 'ok',
    lease: {
      pending: waiting,
      sure() {
        if (state === 'ours' && !isStale()) return null;
        return (async () => {
          if (state === 'ours' || state === 'doubted') await renew();
          if (state !== 'ours' || isStale()) throw new Fenced('This process may have lost the workspace.');
        })();
      },
      async nameHelper(named) {
        helper = named;
        await renewing;
        await renew();
      },
      async drop() {
        if (state === 'lost' || state === 'dropped') return;
        state = 'dropped';
        leaveRounds();
        // With Redis away it would wait for ever; the next owner then finds this process gone.
        await Promise.race([redis.odrop([owner], [id]).catch(() => {}), soon(DROP_MS)]);
      },
    },
  };
}

const DROP_MS = 1_000;
/** Of a process that has let go of the kernel's lock and is not gone: how long it may be dying. */
const DYING_MS = 2_000;
const soon = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

/** Who owns the workspace, or null. */
export async function readHolder(redis: OdinRedis, ws: string): Promise<Holder | null> {
  const [id, who, beat] = await redis.hmget(keys.workspace(ws).owner, 'id', 'who', 'beat');
  return id ? holderOf(id, who ?? '', beat ?? '') : null;
}

/** Dead on this machine; then what it ran a message in ends too. What runs on another machine cannot be known. */
const isGone = async ({ host, helper, ...process }: Holder): Promise<boolean> =>
  host === selfPlace() && !isAlive(process) && (helper === null || (await endProcess(helper)));

function holderOf(id: string, who: string, beat: string): Holder {
  return { id, beat, ...(JSON.parse(who) as Omit<Holder, 'id' | 'beat'>) };
}
