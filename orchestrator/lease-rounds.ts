// The renewals of all leases that a process holds at one Redis: one timer looks at them, and those that are due at the same moment go in one
// script. A worker with 500 tasks has 500 workspaces.

import type { OdinRedis } from './redis.ts';

export interface LeaseRounds {
  /** Calls it at every tick, with how many milliseconds late that one is, until what this returns is called. */
  join(tick: Tick): () => void;
  /** Counts the lease's number up; false when that owner's id is not there any more. */
  renew(owner: string, id: string, beat: number): Promise<boolean>;
}

/** `now`: as performance.now() says. */
type Tick = (now: number, lateMs: number) => void;

interface Due {
  readonly owner: string;
  readonly id: string;
  readonly beat: number;
  readonly answer: PromiseWithResolvers<boolean>;
}

const open = new WeakMap<OdinRedis, Map<number, LeaseRounds>>();

/** The rounds of this process with that Redis, at this pace. */
export function leaseRounds(redis: OdinRedis, everyMs: number): LeaseRounds {
  const rounds = open.get(redis) ?? new Map<number, LeaseRounds>();
  open.set(redis, rounds);
  const known = rounds.get(everyMs) ?? createRounds(redis, everyMs);
  rounds.set(everyMs, known);
  return known;
}

function createRounds(redis: OdinRedis, everyMs: number): LeaseRounds {
  const ticks = new Set<Tick>();
  let timer: NodeJS.Timeout | null = null;
  let due: Due[] = [];

  const send = async (): Promise<void> => {
    const sent = due;
    due = [];
    const args = sent.flatMap(({ id, beat }) => [id, beat]);
    try {
      const held = await redis.orenew(
        sent.length,
        sent.map(({ owner }) => owner),
        args,
      );
      for (const [i, { answer }] of sent.entries()) answer.resolve(held[i] === 1);
    } catch (error) {
      for (const { answer } of sent) answer.reject(error);
    }
  };

  const startTicking = (): NodeJS.Timeout => {
    let tickedAt = performance.now();
    return setInterval(() => {
      const now = performance.now();
      const lateMs = Math.round(now - tickedAt - everyMs);
      tickedAt = now;
      for (const tick of ticks) tick(now, lateMs);
    }, everyMs).unref();
  };

  return {
    join(tick) {
      ticks.add(tick);
      timer ??= startTicking();
      return () => {
        ticks.delete(tick);
        if (ticks.size > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
      };
    },
    renew(owner, id, beat) {
      // Once all that are due now have been named.
      if (due.length === 0) queueMicrotask(() => void send());
      const answer = Promise.withResolvers<boolean>();
      due.push({ owner, id, beat, answer });
      return answer.promise;
    },
  };
}
