// A session's journal from wherever it is: Redis, or the file of an old session. What reads here sees the one or the other, whole,
// also when the session moves in the middle of the reading.

import type { Journaled } from '../shared/events.ts';
import { archivedEvents, readArchive, readArchiveHeader } from './archive-file.ts';
import { isAfter, lastLogId, readLog } from './journal-read.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';

export interface JournalSource {
  readonly redis: OdinRedis;
  readonly home: string;
}

/** All events after `fromId` ('0' = from the beginning); none when there is no such session. */
export async function readJournal(source: JournalSource, sid: string, fromId = '0'): Promise<readonly Journaled[]> {
  const { redis, home } = source;
  for (;;) {
    const newest = await newestInRedis(source, sid);
    if (newest !== null) {
      const events = await readLog(redis, sid, fromId);
      // Its keys go all at once: with the newest event at its end, nothing was missing while it was read.
      const last = events.at(-1)?.id ?? fromId;
      if (!isAfter(newest, last)) return events;
      continue;
    }
    const archive = await readArchive(home, sid);
    if (archive !== null) return archivedEvents(archive, fromId);
    // Neither: it is nowhere, unless it came back from its file just now.
    if ((await newestInRedis(source, sid)) === null) return [];
  }
}

/** What the file has after an id, of a session that Redis does not have. */
export async function readArchivedAfter(
  source: JournalSource,
  sid: string,
  fromId: string,
): Promise<readonly Journaled[]> {
  if ((await newestInRedis(source, sid)) !== null) return [];
  const archive = await readArchive(source.home, sid);
  return archive === null ? [] : archivedEvents(archive, fromId);
}

/** Id of the newest event, '0' when there is none. */
export async function newestId(source: JournalSource, sid: string): Promise<string> {
  const [inRedis, header] = await Promise.all([
    lastLogId(source.redis, sid),
    readArchiveHeader(source.home, sid).catch(() => null),
  ]);
  return header !== null && isAfter(header.lastId, inRedis) ? header.lastId : inRedis;
}

/** Null when Redis does not have the session. */
async function newestInRedis({ redis }: JournalSource, sid: string): Promise<string | null> {
  const { meta, log } = keys.session(sid);
  const replies = await redis.multi().exists(meta).xrevrange(log, '+', '-', 'COUNT', 1).exec();
  const [exists, newest] = (replies ?? []).map(([, reply]) => reply) as [number, [id: string][]];
  return exists === 1 ? (newest[0]?.[0] ?? '0') : null;
}
