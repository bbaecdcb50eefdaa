// Which of a workspace's sessions leave Redis for their files, and when (SPEC O4; DURABILITY 2): those that nobody has used for long,
// and the oldest when there are many or they are large. Done by the workspace's owner, one session at a time and only while nothing
// runs, so that no turn ever waits for it.

import { setTimeout as delay } from 'node:timers/promises';
import type { ArchivePlace } from './archive-move.ts';
import { archiveSession } from './archive-move.ts';
import { keys } from './keys.ts';

export interface ArchivePolicy {
  /** Sessions that stay in Redis. */
  readonly keepInRedis: number;
  /** And the bytes that they take there. */
  readonly keepBytes: number;
  /** A session that was not used for so long leaves. */
  readonly keepDays: number;
}

export const DEFAULT_POLICY: ArchivePolicy = { keepInRedis: 200, keepBytes: 256 * 1024 * 1024, keepDays: 30 };

export interface Archiver {
  /** Begins to look, from time to time. */
  start(): void;
  /** Archives what is due now, at most so many, and returns which. Stops when a message begins to run. */
  sweep(most: number): Promise<readonly string[]>;
  /** On the way out, for processes that are over before a sweep comes: a little of what is due by number or age. */
  leave(): Promise<void>;
  stop(): void;
}

const FIRST_MS = 20_000;
const EVERY_MS = 300_000;
/** Sessions of one sweep in the background. */
const SWEEP = 20;
const LEAVING_SWEEP = 2;
const LEAVING_MS = 2_000;
const DAY_MS = 86_400_000;

export function createArchiver(deps: {
  readonly place: ArchivePlace;
  readonly ws: string;
  readonly policy: ArchivePolicy;
  isIdle(): boolean;
  now(): number;
  log(message: string, detail: Record<string, unknown>): void;
}): Archiver {
  const { place, ws, policy } = deps;
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;

  const sweep = async (most: number, within: ArchivePolicy = policy): Promise<readonly string[]> => {
    const moved: string[] = [];
    for (const sid of await dueSessions(place, ws, within, deps.now())) {
      if (moved.length === most || !deps.isIdle()) break;
      try {
        if ((await archiveSession(place, sid)) === 'archived') moved.push(sid);
      } catch (error) {
        // A full disk, a damaged file: it stays in Redis, and the next sweep tries again.
        deps.log('a session was not archived', { sid, error: error instanceof Error ? error.message : String(error) });
      }
    }
    return moved;
  };

  const again = (ms: number): void => {
    timer = setTimeout(() => {
      sweep(SWEEP)
        .catch((error: unknown) => deps.log('sessions were not archived', { error: String(error) }))
        .finally(() => {
          if (!stopped) again(EVERY_MS);
        });
    }, ms).unref();
  };

  return {
    start: () => again(FIRST_MS),
    sweep: (most) => sweep(most),
    async leave() {
      if (place.redis.status !== 'ready') return;
      // Their sizes would have to be asked for one by one.
      const some = sweep(LEAVING_SWEEP, { ...policy, keepBytes: Number.POSITIVE_INFINITY });
      await Promise.race([some.catch(() => {}), delay(LEAVING_MS, undefined, { ref: false })]);
    },
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Those that are due, the longest unused first. */
async function dueSessions(
  { redis }: ArchivePlace,
  ws: string,
  { keepInRedis, keepBytes, keepDays }: ArchivePolicy,
  now: number,
): Promise<readonly string[]> {
  const { sessions } = keys.workspace(ws);
  const [count, old] = await Promise.all([
    redis.zcard(sessions),
    redis.zrangebyscore(sessions, '-inf', now - keepDays * DAY_MS),
  ]);
  const newest = await redis.zrevrange(sessions, 0, keepInRedis - 1);
  const kept: string[] = [];
  let bytes = 0;
  // The newest is in use, whatever its size.
  for (const [i, sid] of newest.entries()) {
    if (Number.isFinite(keepBytes)) bytes += (await redis.memory('USAGE', keys.session(sid).log)) ?? 0;
    if (i > 0 && bytes > keepBytes) break;
    kept.push(sid);
  }
  const beyond = count > kept.length ? (await redis.zrevrange(sessions, kept.length, -1)).toReversed() : [];
  return [...new Set([...old, ...beyond])];
}
