// What the tasks of a project's batches journal, for whoever counts it. Their sessions live in working copies, workspaces of their own, and
// are in no list: which there are the batches say. They are read as they are in Redis, and to their end from their files, where a worker of
// this home has put them there; of one of another machine, what had not been read by then is not seen.

import type { Journaled } from '../../shared/events.ts';
import { openBatchStore } from '../batch/store.ts';
import { readJournal } from '../journal-source.ts';
import type { OdinRedis } from '../redis.ts';

export interface TaskEvents {
  /** Tells what is new. Of tasks that were over when it was called first, nothing. */
  read(): Promise<void>;
}

/** `root`: the project's. */
export function openTaskEvents(
  source: { readonly redis: OdinRedis; readonly home: string },
  root: string,
  onEvent: (sid: string, entry: Journaled) => void,
): TaskEvents {
  const store = openBatchStore(source.redis);
  /** Up to which event each session was told, and whether that was its end as far as anybody knows. */
  const told = new Map<string, { readonly upTo: string; readonly isOver: boolean }>();
  /** When the batches ended of whose tasks all has been told. One that is begun anew ends anew. */
  const settled = new Map<string, number>();
  let isFirst = true;
  let reading: Promise<void> = Promise.resolve();

  const tell = async (sid: string, isOver: boolean): Promise<boolean> => {
    const known = told.get(sid);
    if (known?.isOver && isOver) return true;
    let upTo = known?.upTo ?? '0';
    if (!(isFirst && isOver)) {
      for (const entry of await readJournal(source, sid, upTo)) {
        onEvent(sid, entry);
        upTo = entry.id;
      }
    }
    told.set(sid, { upTo, isOver });
    return true;
  };
  const read = async (): Promise<void> => {
    for (const { bid, root: of, endedAt } of await store.list()) {
      if (of !== root || settled.get(bid) === endedAt) continue;
      // In this order: one that begins in between is not taken for one that is over.
      const sessions = await store.sessions(bid);
      const running = await store.runs(bid);
      // One that cannot be read takes nothing away from the others, and is tried again.
      let isAll = true;
      for (const [item, sids] of sessions) {
        for (const sid of sids) isAll = (await tell(sid, !running.has(item)).catch(() => false)) && isAll;
      }
      if (endedAt !== null && isAll) settled.set(bid, endedAt);
    }
    isFirst = false;
  };
  return {
    read() {
      reading = reading.then(read).catch(() => {});
      return reading;
    },
  };
}
