// The archived sessions as the rest of Odin sees them: it lists them, says how far each has come, and brings one back when it is used.

import { aFewAtATime } from '../shared/a-few-at-a-time.ts';
import type { SessionSummary } from './api.ts';
import { type ArchiveHeader, archivedSessions, readArchiveHeader } from './archive-file.ts';
import { type ArchivePlace, restoreSession } from './archive-move.ts';

export interface ArchivedSessions {
  /** Null when it has no file. */
  head(sid: string): Promise<ArchiveHeader | null>;
  /** Those of a workspace, newest activity first; one that Redis has too may be among them. Damaged ones are left to `odin fsck`. */
  list(ws: string): Promise<readonly SessionSummary[]>;
  /** False when it has no file. */
  restore(sid: string): Promise<boolean>;
}

export function openArchive(place: ArchivePlace): ArchivedSessions {
  const { home } = place;
  return {
    head: (sid) => readArchiveHeader(home, sid),
    async list(ws) {
      const headers = await readArchiveHeaders(home, await archivedSessions(home));
      return headers
        .flatMap((header) => (header?.ws === ws ? [summaryOfArchive(header)] : []))
        .toSorted((a, b) => b.updatedAt - a.updatedAt);
    },
    restore: (sid) => restoreSession(place, sid),
  };
}

/** One may have many of them, and a process few open files. */
const AT_ONCE = 16;

/** In the order of their sessions; null where there is no file, or a damaged one. */
export const readArchiveHeaders = (home: string, sids: readonly string[]): Promise<readonly (ArchiveHeader | null)[]> =>
  aFewAtATime(AT_ONCE, sids, (sid) => readArchiveHeader(home, sid).catch(() => null));

/** What a list shows of it. */
export const summaryOfArchive = ({ sid, title, root, createdAt, updatedAt, seq }: ArchiveHeader): SessionSummary => ({
  ...{ sid, title, root, createdAt, updatedAt },
  messages: seq,
  queued: 0,
  status: 'archived',
});
