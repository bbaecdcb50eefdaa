// Says which sessions wait for an answer, for whoever watches thousands of them (watch/session-index.ts): one set of the workspace, so that a
// question where nobody looks is found at once and not in its turn. It is a hint: the journal alone says what is asked. The end of a message
// takes its session out whatever became of its questions (scripts.ts, odone).

import type { JournalEvent } from '../shared/events.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';

export interface Asking {
  /** Takes the events of a message in their order, as they are appended. Whether there is something to tell once this one is durable. */
  take(event: JournalEvent): boolean;
  /** Nobody waits for what it writes, and nothing is lost with it. */
  tell(): void;
}

export function createAsking(redis: OdinRedis, ws: string, sid: string): Asking {
  const { asking } = keys.workspace(ws);
  const open = new Set<string>();
  /** Null: what the owner before has left there is not known. */
  let told: boolean | null = null;
  return {
    take(event) {
      let own = event;
      // A subagent's question is its parent's too.
      while (own.type === 'agent.ev') own = own.event;
      if (own.type === 'perm.ask') open.add(own.question.id);
      else if (own.type === 'perm.answer') open.delete(own.questionId);
      else return false;
      return true;
    },
    tell() {
      const asks = open.size > 0;
      if (asks === told) return;
      told = asks;
      (asks ? redis.sadd(asking, sid) : redis.srem(asking, sid)).catch(() => {});
    },
  };
}
