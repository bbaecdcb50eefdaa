// The archived sessions as the rest of Odin sees them: it lists them, says how far each has come, and brings one back when it is used.

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
      const sids = await archivedSessions(home);
      const headers = await Promise.all(sids.map((sid) => readArchiveHeader(home, sid).catch(() => null)));
      return headers
        .filter((header) => header !== null && header.ws === ws)
        .map((header) => summaryOfArchive(header as ArchiveHeader))
        .toSorted((a, b) => b.updatedAt - a.updatedAt);
    },
    restore: (sid) => restoreSession(place, sid),
  };
}

/** What a list shows of it. */
export const summaryOfArchive = ({ sid, title, root, createdAt, updatedAt, seq }: ArchiveHeader): SessionSummary => ({
  ...{ sid, title, root, createdAt, updatedAt },
  messages: seq,
  queued: 0,
  status: 'archived',
});
