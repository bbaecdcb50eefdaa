// Moves a session out of Redis into its file and back (SPEC O4, DURABILITY 2). While Redis has a session, Redis is right and a file
// of the same name is an older copy; once Redis has none, the file is the session. So each way is two steps, the second of which
// is one script, and a crash between them leaves both: nothing is lost, and readers see the one or the other.
//
// Out: file written aside, synced, read back, renamed, folder synced; then Redis forgets the session, unless it has changed since.
// Back: staged beside its place, then put there at once; the file stays, as a copy.

import { closeSync, createWriteStream, fsyncSync, openSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { ulid } from '../shared/ids.ts';
import { killPoint } from '../shared/kill-point.ts';
import { Bug } from '../shared/outcome.ts';
import {
  type ArchiveHeader,
  archiveFolder,
  archiveLines,
  archivePath,
  type RawEntry,
  readArchive,
  readArchiveHeader,
} from './archive-file.ts';
import { installSession } from './install-session.ts';
import { isAfter } from './journal-read.ts';
import { keys } from './keys.ts';
import { lock } from './process-lock.ts';
import type { OdinRedis } from './redis.ts';

export interface ArchivePlace {
  readonly redis: OdinRedis;
  readonly home: string;
}

/** Where a crash may come, for tests. */
export type ArchiveStep = 'written' | 'renamed' | 'checked' | 'removed';

/**
 * changed: something happened to it meanwhile, or a message of it waits or runs; it stays. gone: it is not in Redis.
 */
export type ArchiveEnd = 'archived' | 'changed' | 'gone';

/** One process at a time: whoever comes second finds the session gone, and never puts its own, older reading in the file's place. */
export async function archiveSession(
  place: ArchivePlace,
  sid: string,
  onStep: (step: ArchiveStep) => void = () => {},
): Promise<ArchiveEnd> {
  const held = await lock(`archive ${archivePath(place.home, sid)}`);
  try {
    return await moveOut(place, sid, onStep);
  } finally {
    held.release();
  }
}

async function moveOut(
  { redis, home }: ArchivePlace,
  sid: string,
  onStep: (step: ArchiveStep) => void,
): Promise<ArchiveEnd> {
  const session = keys.session(sid);
  const [fields, mids, newest] = await Promise.all([
    redis.hgetall(session.meta),
    redis.hgetall(session.mids),
    redis.xrevrange(session.log, '+', '-', 'COUNT', 1),
  ]);
  const lastId = newest[0]?.[0];
  if (fields['ws'] === undefined) return 'gone';
  if (lastId === undefined || fields['cursor'] !== fields['seq']) return 'changed';
  // Redis has gone back behind it: that is for `odin fsck`, and no copy of the older one takes its place.
  const before = await readArchiveHeader(home, sid);
  if (before !== null && isAfter(before.lastId, lastId)) return 'changed';
  const header: ArchiveHeader = {
    odin: 'session',
    version: 1,
    sid,
    ws: fields['ws'],
    root: fields['root'] ?? '',
    title: fields['title'] ?? '',
    createdAt: Number(fields['createdAt']),
    updatedAt: Number(fields['updatedAt']),
    seq: Number(fields['seq']),
    epoch: Number(fields['epoch']),
    lastId,
  };
  const numbers = Object.fromEntries(Object.entries(mids).map(([mid, seq]) => [mid, Number(seq)]));
  const draft = `${archivePath(home, sid)}.${ulid()}.tmp`;
  await mkdir(archiveFolder(home), { recursive: true, mode: 0o700 });
  try {
    // A machine with the same home folder is not kept out by the lock: it may have taken the journal away meanwhile.
    const read = { lastId: '' };
    const lines = archiveLines(header, rawLog(redis, sid, lastId, read), numbers);
    await pipeline(lines, createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }));
    if (read.lastId !== lastId) {
      await rm(draft, { force: true });
      return 'changed';
    }
    onStep('written');
    killPoint('archive:written');
    await rename(draft, archivePath(home, sid));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  syncFolder(archiveFolder(home));
  onStep('renamed');
  const written = await readArchive(home, sid);
  if (written === null) throw new Bug(`The archive of ${sid} is not where it was put.`);
  onStep('checked');
  killPoint('archive:checked');
  const { ws } = header;
  const verdict = await redis.oremove(
    [
      ...[session.meta, session.log, session.inbox, session.changes, session.mids, session.live],
      ...[keys.workspace(ws).sessions, keys.workspace(ws).pending, keys.owners(hostname()), keys.workspace(ws).asking],
    ],
    [sid, lastId, written.entries.length, header.seq, header.epoch, Object.keys(numbers).length],
  );
  onStep('removed');
  return verdict === 'ok' ? 'archived' : verdict;
}

/** Brings a session back from its file. False when there is none, or when Redis has it already. */
export async function restoreSession({ redis, home }: ArchivePlace, sid: string): Promise<boolean> {
  const archive = await readArchive(home, sid);
  if (archive === null) return false;
  const { odin: _, version: __, lastId: ___, ...about } = archive.header;
  return installSession(redis, { ...about, entries: archive.entries, mids: archive.mids });
}

const PAGE = 1000;

/** The entries of a log up to an id, page by page; `read` says how far it has come. */
async function* rawLog(
  redis: OdinRedis,
  sid: string,
  lastId: string,
  read: { lastId: string },
): AsyncGenerator<RawEntry> {
  const { log } = keys.session(sid);
  for (let from = '-'; ; ) {
    const page = await redis.xrange(log, from, lastId, 'COUNT', PAGE);
    for (const [id, fields] of page) yield [id, fields[1] ?? ''];
    const last = page.at(-1)?.[0];
    read.lastId = last ?? read.lastId;
    if (last === undefined || page.length < PAGE) return;
    from = `(${last}`;
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
