// The questions of a session that wait, read from its journal alone: for any process, whoever owns the session.

import { type AskedQuestion, foldPermissions, NO_PERMISSIONS, openQuestions } from '../agent/permissions-memory.ts';
import type { Journaled } from '../shared/events.ts';
import { decode } from './journal-read.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';

/** The open questions of a session, from its journal's end back to where the running message began. */
export async function readOpenQuestions(redis: OdinRedis, sid: string): Promise<readonly AskedQuestion[]> {
  const events: Journaled[] = [];
  let before = '+';
  while (events.at(-1)?.event.type !== 'msg.start') {
    const page = await redis.xrevrange(keys.session(sid).log, before, '-', 'COUNT', 100);
    for (const entry of page) {
      events.push(decode(entry));
      if (events.at(-1)?.event.type === 'msg.start') break;
    }
    if (page.length < 100) break;
    before = `(${events.at(-1)?.id}`;
  }
  return openQuestions(events.reduceRight((memory, { event }) => foldPermissions(memory, event), NO_PERMISSIONS));
}
