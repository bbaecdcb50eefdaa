// The archived sessions of a workspace, for a watch that looks again and again: a file is opened once, a few at a time, and again only when
// its session has been back in Redis in between. Damaged ones are left to `odin fsck`.

import type { SessionSummary } from '../api.ts';
import { readArchiveHeaders, summaryOfArchive } from '../archive.ts';
import { archivedSessions } from '../archive-file.ts';

export interface ArchivedList {
  /** Without those that Redis has. */
  read(inRedis: ReadonlySet<string>): Promise<readonly SessionSummary[]>;
  /** Of any workspace; null when it has no file that can be read. */
  one(sid: string): Promise<SessionSummary | null>;
}

export function openArchivedList(home: string, ws: string): ArchivedList {
  /** Null: of another workspace, or damaged. */
  const known = new Map<string, SessionSummary | null>();
  return {
    async read(inRedis) {
      for (const sid of inRedis) known.delete(sid);
      const there = new Set(await archivedSessions(home));
      for (const sid of known.keys()) if (!there.has(sid)) known.delete(sid);
      const fresh = [...there].filter((sid) => !known.has(sid) && !inRedis.has(sid));
      const headers = await readArchiveHeaders(home, fresh);
      fresh.forEach((sid, at) => {
        const found = headers[at];
        known.set(sid, found?.ws === ws ? summaryOfArchive(found) : null);
      });
      return [...known.values()].filter((summary) => summary !== null);
    },
    async one(sid) {
      const [found] = await readArchiveHeaders(home, [sid]);
      return found ? summaryOfArchive(found) : null;
    },
  };
}
