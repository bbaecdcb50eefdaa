// Since when the message waits that has waited longest.

import type { SessionSummary } from '../api.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

/** Milliseconds since 1970; null when none waits. Removed ones count until they are passed over. */
export async function oldestWaiting(
  redis: OdinRedis,
  sessions: readonly Pick<SessionSummary, 'sid' | 'queued' | 'status'>[],
): Promise<number | null> {
  const pipeline = redis.pipeline();
  for (const { sid, queued, status } of sessions) {
    // The first entry is the message that runs.
    if (queued > 0) pipeline.xrange(keys.session(sid).inbox, '-', '+', 'COUNT', status === 'queued' ? 1 : 2);
  }
  let oldest: number | null = null;
  for (const [, reply] of (await pipeline.exec()) ?? []) {
    const fields = (reply as [id: string, fields: string[]][] | null)?.at(-1)?.[1] ?? [];
    const at = Number(fields[fields.indexOf('at') + 1]);
    if (at > 0 && (oldest === null || at < oldest)) oldest = at;
  }
  return oldest;
}
