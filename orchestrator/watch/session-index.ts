// Which sessions of a workspace may have changed, told by what their owner writes anyway: the sorted set of their last activity, which a
// submission, a claim and an end move, the set of those that have something to do, and the set of those that ask something. Three short
// commands, however many journals grow.

import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

export interface SessionIndex {
  /** `isWide`: also what was written with a clock that is behind. The first is always whole. */
  read(isWide: boolean): Promise<Changed>;
  /** It has left Redis. */
  forget(sid: string): void;
}

export interface Changed {
  /** Submitted to, claimed or ended since the last reading, or with nothing left to do. */
  readonly moved: readonly string[];
  /** Those whose journals may be growing. */
  readonly pending: ReadonlySet<string>;
  /** Those that seem to wait for an answer. */
  readonly asking: ReadonlySet<string>;
  /** Those that were moved lately: what comes behind an end, such as a title, moves nothing. Of a wide reading alone. */
  readonly recent: readonly string[];
}

/** On one machine a write is late by less. */
const LATE_MS = 2_000;
/** Clocks of the machines that share a Redis differ by less. */
const SKEW_MS = 60_000;

export function openSessionIndex(redis: OdinRedis, ws: string): SessionIndex {
  const workspace = keys.workspace(ws);
  const scores = new Map<string, string>();
  let newest = 0;
  let wasPending: readonly string[] = [];
  return {
    async read(isWide) {
      // A score of a clock that is ahead must not hide what comes after it.
      const since = newest === 0 ? 0 : Math.min(newest, Date.now()) - (isWide ? SKEW_MS : LATE_MS);
      const [scored, busy, ask] = await Promise.all([
        redis.zrevrangebyscore(workspace.sessions, '+inf', String(since), 'WITHSCORES'),
        redis.smembers(workspace.pending),
        redis.smembers(workspace.asking),
      ]);
      const pending = new Set(busy);
      // The end of a removed message moves nothing.
      const moved = new Set(wasPending.filter((sid) => !pending.has(sid)));
      wasPending = busy;
      const recent: string[] = [];
      for (let i = 0; i < scored.length; i += 2) {
        const [sid = '', score = '0'] = [scored[i], scored[i + 1]];
        newest = Math.max(newest, Number(score));
        if (isWide && since > 0 && Number(score) > Date.now() - 2 * SKEW_MS) recent.push(sid);
        if (scores.get(sid) === score) continue;
        scores.set(sid, score);
        moved.add(sid);
      }
      return { moved: [...moved], pending, asking: new Set(ask), recent };
    },
    forget: (sid) => void scores.delete(sid),
  };
}
