// A turn without a model: claim, a few events, finish.

import { claimSession } from '../../orchestrator/journal.ts';
import type { TurnJob, TurnProcessor } from '../../orchestrator/queue.ts';
import type { RedisHandle } from '../../orchestrator/redis.ts';
import { claimEvent, done, update } from './redis-session.ts';

/** `during` runs between the first event and the last ones; the answer is the message's body. */
export function fakeTurn(
  handle: RedisHandle,
  ws: string,
  during: (turn: TurnJob, signal: AbortSignal) => Promise<void> = async () => {},
): TurnProcessor {
  return async (turn, signal) => {
    const { sid, seq, job } = turn;
    const result = await claimSession(handle.client, { sid, seq, ws, claim: claimEvent(seq), job });
    if (result.status !== 'ok') return null;
    const { journal, message } = result;
    const body = 'inline' in message.body ? message.body.inline : '';
    void journal.append(update(seq, `${message.mode} ${body}`));
    await journal.flushed();
    await during(turn, signal);
    void journal.append(update(seq, 'thinking'));
    void journal.append(update(seq, 'still thinking'));
    return journal.finish(done(seq, body));
  };
}
