// Says which sessions wait for an answer, for whoever watches thousands of them (watch/session-index.ts): one set of the workspace, so that a
// question where nobody looks is found at once and not in its turn. It is a hint: the journal alone says what is asked. The end of a message
// takes its session out whatever became of its questions (scripts.ts, odone).

import type { JournalEvent } from '../shared/events.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';

/** Takes the events of a message in their order. Nobody waits for what it writes, and nothing is lost with it. */
export function createAsking(redis: OdinRedis, ws: string, sid: string): (event: JournalEvent) => void {
  const { asking } = keys.workspace(ws);
  const open = new Set<string>();
  return (event) => {
    if (event.type === 'perm.ask') {
      open.add(event.question.id);
      if (open.size === 1) redis.sadd(asking, sid).catch(() => {});
    } else if (event.type === 'perm.answer' && open.delete(event.questionId) && open.size === 0) {
      redis.srem(asking, sid).catch(() => {});
    }
  };
}
