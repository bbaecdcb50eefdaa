// What a workspace's sessions have to do next, as Redis knows it: the first message of each that is not done, whether somebody runs
// it or not. Whoever starts one of them claims it, and the claim decides.

import { isMode } from '../shared/modes.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';
import type { Turn } from './turn-ticket.ts';

/** One for each session that has something to do. */
export async function waitingTurns(redis: OdinRedis, ws: string): Promise<readonly Turn[]> {
  const sids = await redis.smembers(keys.workspace(ws).pending);
  const turns = await Promise.all(sids.map((sid) => nextTurn(redis, sid)));
  return turns.filter((turn) => turn !== null);
}

async function nextTurn(redis: OdinRedis, sid: string): Promise<Turn | null> {
  const { meta, inbox } = keys.session(sid);
  const [cursor, gen] = await redis.hmget(meta, 'cursor', 'gen');
  const seq = Number(cursor) + 1;
  const [entry] = await redis.xrange(inbox, `${seq}-0`, `${seq}-0`);
  const mode = entry?.[1][3] ?? '';
  return isMode(mode) ? { sid, seq, mode, gen: Number(gen) } : null;
}
