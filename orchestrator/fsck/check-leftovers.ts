// What processes leave behind when they die: lock files, the names of owners, snapshots and marks of sessions that are gone.

import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Marks } from '../journal-marks.ts';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';
import { lockFilePath } from '../process-lock-file.ts';
import type { Finding } from './finding.ts';

export interface LeftoverCheck {
  readonly home: string;
  readonly marks: Marks;
  /** Sessions that exist, in Redis or as files. */
  readonly sessions: ReadonlySet<string>;
  /** False when sessions may be elsewhere too. */
  readonly knowsAll: boolean;
}

export async function checkLeftovers(check: LeftoverCheck): Promise<readonly Finding[]> {
  return [...(await lockFiles()), ...lostSessions(check), ...(await snapshots(check))];
}

/** Where the kernel has no locks that die with their holder; elsewhere there are none of these. */
async function lockFiles(): Promise<readonly Finding[]> {
  const folder = dirname(lockFilePath(''));
  const findings: Finding[] = [];
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const path = join(folder, name);
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text === null || holds(text)) continue;
    findings.push({
      severity: 'note',
      code: 'lock_stale',
      where: path,
      message: 'The lock of a process that is gone. The next one that wants it takes it over.',
      repair: { what: 'remove it', run: () => rm(path, { force: true }).then(() => undefined) },
    });
  }
  return findings;
}

function holds(text: string): boolean {
  try {
    return isAlive(JSON.parse(text) as ProcessIdentity);
  } catch {
    return false;
  }
}

/** A mark says that a session was run here. */
function lostSessions({ home, marks, sessions, knowsAll }: LeftoverCheck): readonly Finding[] {
  if (!knowsAll) return [];
  const lost = marks.list().filter((sid) => !sessions.has(sid));
  return lost.map((sid) => ({
    severity: 'error',
    code: 'session_lost',
    where: sid,
    message: `It has run here up to event ${marks.read(sid)?.id ?? 'unknown'}, and is neither in Redis nor in a file: Redis came back with older data. Restore a newer copy of ${join(home, 'redis')}.`,
    repair: {
      what: 'accept the loss: forget its mark',
      run: async () => {
        marks.drop(sid);
        return undefined;
      },
    },
  }));
}

async function snapshots({ home, sessions, knowsAll }: LeftoverCheck): Promise<readonly Finding[]> {
  const folder = join(home, 'snapshots');
  const names = await readdir(folder).catch((): string[] => []);
  const stale = names.filter((name) => !(knowsAll ? sessions.has(name) : /^[0-9A-Z]{26}$/.test(name)));
  if (stale.length === 0) return [];
  return [
    {
      severity: 'note',
      code: 'snapshot_stale',
      where: folder,
      message: `${stale.length} snapshots are of no session, or half written. They are made anew when they are needed.`,
      repair: {
        what: 'remove them',
        run: async () => {
          for (const name of stale) await rm(join(folder, name), { force: true });
          return `removed ${stale.length}`;
        },
      },
    },
  ];
}
