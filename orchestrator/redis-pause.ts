// What Redis answers when it cannot write now and may later: a full disk, full memory, a primary that moves. In words for the user,
// with what to do. Redis names its errors by the first word of the answer; that word is the code, the rest is never matched.

import { UserError } from '../shared/outcome.ts';

const REASONS: Readonly<Record<string, string>> = {
  MISCONF: 'Redis cannot write to its disk, which is probably full: free some space.',
  OOM: 'The memory of Redis is full (maxmemory): give it more.',
  READONLY: 'Redis is read-only for now.',
  NOREPLICAS: 'Redis has too few replicas to take writes.',
  MASTERDOWN: 'Redis has lost its primary.',
  BUSY: 'Redis is busy with a long script.',
};

/** What is wrong, and what to do about it, when the error is such an answer; else null. */
export function pauseReason(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null;
  return REASONS[error.message.split(' ', 1)[0] ?? ''] ?? null;
}

/** For a user's request of which Redis has taken nothing, being unable to write: says why, and `what` becomes of it. */
export const refusedWith =
  (what: string) =>
  (error: unknown): never => {
    const reason = pauseReason(error);
    throw reason === null ? error : new UserError(`${reason} ${what}`, 1);
  };
