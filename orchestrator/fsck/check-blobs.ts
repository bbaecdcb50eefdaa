// The blob store: every blob that a session needs is there and is what it was named after, and what else lies in the folder.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finding } from './finding.ts';
import type { Quarantine } from './quarantine.ts';

export interface Needed {
  /** Sessions that need the blob. */
  readonly by: readonly string[];
  readonly bytes: number;
}

export interface BlobCheck {
  readonly home: string;
  readonly quarantine: Quarantine;
  /** By hash: what journals, archives and waiting messages need. */
  readonly needed: ReadonlyMap<string, Needed>;
  /** Every hash that occurs in them, in whatever meaning: none of these is called an orphan. */
  readonly mentioned: ReadonlySet<string>;
  /** False when sessions may be elsewhere too, in a Redis that is not this home's own. */
  readonly knowsAll: boolean;
  readonly now: number;
}

/** A blob is written before the event that names it: a young one may be about to be named. */
const YOUNG_MS = 3_600_000;

export async function checkBlobs(
  check: BlobCheck,
): Promise<{ readonly findings: readonly Finding[]; readonly blobs: number }> {
  const folder = join(check.home, 'blobs');
  const names = await readdir(folder).catch((): string[] => []);
  const findings: Finding[] = [];
  const whole = new Set<string>();
  for (const name of names) {
    const path = join(folder, name);
    if (!/^[0-9a-f]{64}$/.test(name)) findings.push(...(await leftover(check, path)));
    else if ((await hashOf(path)) === name) whole.add(name);
    else findings.push(damaged(check, name, path));
  }
  const quarantined = await findQuarantined(check.home);
  for (const [hash, { by, bytes }] of check.needed) {
    if (whole.has(hash) || names.includes(hash)) continue;
    findings.push(missing(hash, bytes, by, quarantined.get(hash), join(folder, hash)));
  }
  findings.push(...(await orphans(check, [...whole], folder)));
  return { findings, blobs: names.length };
}

function damaged({ needed, quarantine }: BlobCheck, hash: string, path: string): Finding {
  const by = needed.get(hash)?.by ?? [];
  const what = by.length === 0 ? 'No session needs it.' : `Needed by ${by.join(', ')}: restore it from a backup.`;
  return {
    severity: by.length === 0 ? 'warning' : 'error',
    code: 'blob_damaged',
    where: path,
    message: `Its content is not what it was named after. ${what}`,
    repair: { what: 'move it to the quarantine; the same content is then written anew', run: () => quarantine(path) },
  };
}

function missing(hash: string, bytes: number, by: readonly string[], found: string | undefined, path: string): Finding {
  return {
    severity: 'error',
    code: 'blob_missing',
    where: hash,
    message: `${bytes} bytes of ${by.join(', ')} are missing. Restore ${path} from a backup; the rest of the session is whole.`,
    ...(found === undefined
      ? {}
      : {
          repair: {
            what: `bring it back from the quarantine (${found})`,
            run: async () => {
              await rename(found, path);
              return undefined;
            },
          },
        }),
  };
}

async function leftover({ quarantine, now }: BlobCheck, path: string): Promise<readonly Finding[]> {
  const stats = await stat(path).catch(() => null);
  if (stats === null || now - stats.mtimeMs < YOUNG_MS) return [];
  return [
    {
      severity: 'warning',
      code: 'blob_leftover',
      where: path,
      message: 'It is no blob: what a write that was interrupted has left, or the file of somebody else.',
      repair: { what: 'move it to the quarantine', run: () => quarantine(path) },
    },
  ];
}

/** One finding for all of them: they cost space and nothing else. */
async function orphans(check: BlobCheck, whole: readonly string[], folder: string): Promise<readonly Finding[]> {
  const old: string[] = [];
  let bytes = 0;
  for (const hash of whole) {
    if (check.mentioned.has(hash)) continue;
    const stats = await stat(join(folder, hash)).catch(() => null);
    if (stats === null || check.now - stats.mtimeMs < YOUNG_MS) continue;
    old.push(hash);
    bytes += stats.size;
  }
  if (old.length === 0) return [];
  const message = `${old.length} blobs (${Math.ceil(bytes / 1024)} KB) are needed by no session here.`;
  const base = { severity: 'note', code: 'blob_orphans', where: folder } as const;
  if (!check.knowsAll) {
    return [
      { ...base, message: `${message} Sessions in another Redis may need them: run fsck without REDIS_URL to see.` },
    ];
  }
  return [
    {
      ...base,
      message,
      repair: {
        what: 'move them to the quarantine',
        run: async () => {
          for (const hash of old) await check.quarantine(join(folder, hash));
          return `moved ${old.length} to the quarantine`;
        },
      },
    },
  ];
}

/** Blobs that an earlier run took away, by their hash, as far as they are whole. */
async function findQuarantined(home: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const folder = join(home, 'quarantine');
  for (const run of await readdir(folder).catch(() => [])) {
    const blobs = join(folder, run, 'blobs');
    for (const name of await readdir(blobs).catch(() => [])) {
      if ((await hashOf(join(blobs, name))) === name) found.set(name, join(blobs, name));
    }
  }
  return found;
}

async function hashOf(path: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
    return hash.digest('hex');
  } catch {
    return null;
  }
}
