// What Redis answers when it cannot write now and may later: a full disk, full memory, a primary that moves. In words for the user,
// with what to do. Redis names its errors by the first word of the answer; that word is the code, the rest is never matched.

const REASONS: Readonly<Record<string, string>> = {
  MISCONF: 'Redis cannot write to its disk, which is probably full. Free some space; what runs goes on by itself.',
  OOM: 'The memory of Redis is full (maxmemory). Give it more; what runs goes on by itself.',
  READONLY: 'Redis is read-only for now. When it takes writes again, what runs goes on by itself.',
  NOREPLICAS: 'Redis has too few replicas to take writes. When they are back, what runs goes on by itself.',
  MASTERDOWN: 'Redis has lost its primary. When it is back, what runs goes on by itself.',
  BUSY: 'Redis is busy with a long script. When it is done, what runs goes on by itself.',
};

/** A line for the user when the error is such an answer, else null. */
export function pauseReason(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null;
  return REASONS[error.message.split(' ', 1)[0] ?? ''] ?? null;
}
