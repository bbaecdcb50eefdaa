// Small real sessions for tests of the journal, the inbox and the queue.

import { hostname } from 'node:os';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { type Inbox, openInbox } from '../../orchestrator/inbox.ts';
import { type ClaimResult, claimSession } from '../../orchestrator/journal.ts';
import { selfIdentity } from '../../orchestrator/process-identity.ts';
import type { OdinRedis } from '../../orchestrator/redis.ts';
import type { EventOf } from '../../shared/events.ts';
import { ulid } from '../../shared/ids.ts';
import { NO_USAGE } from '../../shared/messages.ts';

export const WS = 'test-workspace';

export const inboxOf = (redis: OdinRedis, home: string, ws = WS): Inbox =>
  openInbox(redis, openBlobs(home), ws, `/project-of-${ws}`);

export const ask = (sid: string, body: string, mid = ulid()) =>
  ({ sid, mid, mode: 'ask', body, limits: {}, create: true }) as const;

export const claimEvent = (seq: number): EventOf<'claim'> => ({
  type: 'claim',
  seq,
  ...selfIdentity(),
  host: hostname(),
  journal: 1,
  machines: 'test',
  at: Date.now(),
});

export const update = (seq: number, text: string): EventOf<'update'> => ({ type: 'update', seq, text, at: Date.now() });

export const done = (seq: number, answer = 'done'): EventOf<'msg.done'> => ({
  type: 'msg.done',
  seq,
  status: 'completed',
  answer: { inline: answer },
  usage: NO_USAGE,
  steps: 1,
  at: Date.now(),
});

/** Claims what must be claimable. */
export async function claimed(
  redis: OdinRedis,
  sid: string,
  seq: number,
  after = '0',
  ws = WS,
): Promise<Extract<ClaimResult, { status: 'ok' }>> {
  const result = await claimSession(redis, { sid, seq, ws, after, claim: claimEvent(seq) });
  if (result.status !== 'ok') throw new Error(`Message ${seq} of ${sid} is ${result.status}.`);
  return result;
}
