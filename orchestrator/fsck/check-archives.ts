// The files of archived sessions: whole, private, in order, and whether Redis has the same session too and which of the two is newer.

import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveFolder, archivePath, readArchive } from '../archive-file.ts';
import { restoreSession } from '../archive-move.ts';
import { isAfter, lastLogId } from '../journal-read.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';
import { checkJournal } from './check-journal.ts';
import type { Finding } from './finding.ts';
import type { Quarantine } from './quarantine.ts';

export interface CheckedArchive {
  readonly sid: string;
  readonly needs: ReadonlyMap<string, number>;
  readonly events: number;
  readonly texts: readonly string[];
}

export interface ArchiveCheck {
  readonly redis: OdinRedis;
  readonly home: string;
  readonly quarantine: Quarantine;
  /** Puts what Redis has of a session into the quarantine, and takes it out of Redis. */
  takeOut(sid: string): Promise<string>;
  readonly now: number;
}

const YOUNG_MS = 600_000;

export async function checkArchives(
  check: ArchiveCheck,
): Promise<{ readonly findings: readonly Finding[]; readonly archives: readonly CheckedArchive[] }> {
  const { home, quarantine, now } = check;
  const folder = archiveFolder(home);
  const findings: Finding[] = [];
  const archives: CheckedArchive[] = [];
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats === null) continue;
    const sid = /^([0-9A-Z]{26})\.jsonl$/.exec(name)?.[1];
    if (sid !== undefined) archives.push(...(await checkArchive(check, sid, stats.mode, findings)));
    else if (now - stats.mtimeMs > YOUNG_MS) {
      findings.push({
        severity: 'warning',
        code: 'archive_leftover',
        where: path,
        message: 'An archive that was interrupted while it was written. The session is in Redis still.',
        repair: { what: 'move it to the quarantine', run: () => quarantine(path) },
      });
    }
  }
  return { findings, archives };
}

async function checkArchive(
  { redis, home, quarantine, takeOut }: ArchiveCheck,
  sid: string,
  mode: number,
  findings: Finding[],
): Promise<readonly CheckedArchive[]> {
  const path = archivePath(home, sid);
  if ((mode & 0o077) !== 0) {
    findings.push({
      severity: 'warning',
      code: 'archive_mode',
      where: path,
      message: 'Others than you may read it.',
      repair: { what: 'make it yours alone', run: () => chmod(path, 0o600).then(() => undefined) },
    });
  }
  const isInRedis = (await redis.exists(keys.session(sid).meta)) === 1;
  let archive: Awaited<ReturnType<typeof readArchive>>;
  try {
    archive = await readArchive(home, sid);
  } catch (error) {
    const message = (error as Error).message.replace(/ `odin fsck` says more\.$/, '');
    findings.push({
      severity: isInRedis ? 'warning' : 'error',
      code: 'archive_damaged',
      where: path,
      message: isInRedis ? `${message} Redis has the session.` : `${message} Restore it from a backup.`,
      ...(isInRedis ? { repair: { what: 'move it to the quarantine', run: () => quarantine(path) } } : {}),
    });
    // It is there, whatever its state: not lost.
    return [{ sid, needs: new Map(), events: 0, texts: [] }];
  }
  if (archive === null) return [];
  const { header, entries } = archive;
  const journal = checkJournal(sid, entries);
  findings.push(...journal.findings);
  const inRedis = await lastLogId(redis, sid);
  if (isInRedis && isAfter(header.lastId, inRedis)) {
    findings.push({
      severity: 'error',
      code: 'archive_newer',
      where: sid,
      message: `Redis came back with older data: it has the session up to ${inRedis}, its file up to ${header.lastId}.`,
      repair: {
        what: 'put what Redis has into the quarantine and the file in its place',
        ws: header.ws,
        run: async () => {
          const done = await takeOut(sid);
          await restoreSession({ redis, home }, sid);
          return `${done}; the session is as in its file`;
        },
      },
    });
  }
  return [{ sid, needs: journal.needs, events: entries.length, texts: entries.map(([, text]) => text) }];
}
