// `odin fsck`: looks at everything that Odin keeps (journals and what stands beside them, archives, blobs, locks, marks, snapshots) and
// says what is not as it should be. It changes nothing, unless it is told to repair; then it says what it did, and what it takes away
// goes to the quarantine.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openMarks } from '../journal-marks.ts';
import { keys, PREFIX } from '../keys.ts';
import { type Lock, tryLock } from '../process-lock.ts';
import type { OdinRedis } from '../redis.ts';
import { checkArchives } from './check-archives.ts';
import { checkBlobs, type Needed } from './check-blobs.ts';
import { checkLeftovers } from './check-leftovers.ts';
import { checkSession } from './check-session.ts';
import type { Finding, FsckLine, FsckReport } from './finding.ts';
import { openQuarantine } from './quarantine.ts';

export interface FsckPlace {
  readonly redis: OdinRedis;
  readonly home: string;
  /** The Redis is this home's own: nothing of it is elsewhere. */
  readonly isPrivate: boolean;
}

export async function runFsck(
  { redis, home, isPrivate }: FsckPlace,
  repair: boolean,
  now: number,
): Promise<FsckReport> {
  const stamp = new Date(now).toISOString().replaceAll(':', '-');
  const quarantine = openQuarantine(home, stamp);
  const marks = openMarks(home);
  const findings: Finding[] = [];
  const needed = new Map<string, Needed>();
  const mentioned = new Set<string>();
  const sessions = new Set<string>();
  let events = 0;
  const take = (sid: string, needs: ReadonlyMap<string, number>, texts: readonly string[]) => {
    sessions.add(sid);
    for (const [hash, bytes] of needs) {
      const by = needed.get(hash)?.by ?? [];
      needed.set(hash, { by: [...by, sid].slice(0, 3), bytes });
    }
    for (const text of texts) for (const [hash] of text.matchAll(HASH)) mentioned.add(hash);
  };

  const inRedis = await sessionsInRedis(redis);
  for (const sid of inRedis) {
    const checked = await checkSession(redis, marks, sid);
    if (checked === null) continue;
    findings.push(...checked.findings);
    events += checked.events;
    take(sid, checked.journal.needs, checked.texts);
  }
  const takeOut = (sid: string) => quarantineSession(redis, join(home, 'quarantine', stamp), sid);
  const { archives, findings: ofArchives } = await checkArchives({ redis, home, quarantine, takeOut, now });
  findings.push(...ofArchives);
  for (const { sid, needs, texts, events: ofArchive } of archives) {
    events += ofArchive;
    take(sid, needs, texts);
  }
  const blobs = await checkBlobs({ home, quarantine, needed, mentioned, knowsAll: isPrivate, now });
  findings.push(...blobs.findings);
  findings.push(...(await checkLeftovers({ home, marks, sessions, knowsAll: isPrivate })));

  const lines = await settle(findings, repair, home);
  return {
    lines,
    checked: { sessions: inRedis.length, archives: archives.length, events, blobs: blobs.blobs },
    clean: lines.every(({ severity, repaired }) => severity === 'note' || repaired !== null),
  };
}

const HASH = /\b[0-9a-f]{64}\b/g;

async function sessionsInRedis(redis: OdinRedis): Promise<readonly string[]> {
  const sids = new Set<string>();
  const pattern = keys.session('*').meta;
  for (let cursor = '0'; ; ) {
    const [next, found] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1000);
    for (const key of found) sids.add(key.slice(`${PREFIX}:s:`.length, -':meta'.length));
    cursor = next;
    if (cursor === '0') return [...sids].toSorted();
  }
}

/** Repairs what is to be repaired, one after the other, while nobody runs in the workspace that it touches. */
async function settle(findings: readonly Finding[], repair: boolean, home: string): Promise<readonly FsckLine[]> {
  const locks = new Map<string, Lock | null>();
  const lines: FsckLine[] = [];
  try {
    for (const { repair: fix, ...finding } of findings) {
      if (!repair || !fix) {
        lines.push({ ...finding, repaired: null, repair: fix?.what ?? null });
        continue;
      }
      if (fix.ws !== undefined && !locks.has(fix.ws)) locks.set(fix.ws, await tryLock(`ws:${home}:${fix.ws}`));
      if (fix.ws !== undefined && locks.get(fix.ws) === null) {
        const message = `${finding.message} An Odin runs in its project: stop it and repair again.`;
        lines.push({ ...finding, message, repaired: null, repair: fix.what });
        continue;
      }
      try {
        lines.push({ ...finding, repaired: (await fix.run()) ?? fix.what, repair: null });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        lines.push({
          ...finding,
          message: `${finding.message} The repair failed: ${why}`,
          repaired: null,
          repair: fix.what,
        });
      }
    }
  } finally {
    for (const lock of locks.values()) lock?.release();
  }
  return lines;
}

/** What Redis has of a session, as files that RESTORE can read, before it is taken out. */
async function quarantineSession(redis: OdinRedis, folder: string, sid: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [name, key] of Object.entries(keys.session(sid))) {
    const dump = await redis.dumpBuffer(key);
    if (dump !== null) await writeFile(join(folder, `${sid}.${name}.dump`), dump, { mode: 0o600, flush: true });
  }
  await redis.del(...Object.values(keys.session(sid)));
  return `moved what Redis had to ${folder}`;
}
