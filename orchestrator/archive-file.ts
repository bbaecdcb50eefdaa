// A session as a file, <home>/sessions/ID.jsonl: one line about it, one for each event of its journal, and a last line with their
// number and their hash, so that a file that was cut off or changed is known as such. Events keep the bytes that they had in Redis.
// What moves a session here and back is archive-move.ts; this file knows the format alone.

import { createHash } from 'node:crypto';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Journaled } from '../shared/events.ts';
import { UserError } from '../shared/outcome.ts';
import { decodeText } from './journal-read.ts';

/** What Redis keeps about a session besides its journal, and what a list shows of it. */
const headerSchema = z.object({
  odin: z.literal('session'),
  version: z.literal(1),
  sid: z.string(),
  ws: z.string(),
  root: z.string(),
  title: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
  /** Number of its messages; all of them are done. */
  seq: z.int(),
  epoch: z.int(),
  /** Id of its newest event. */
  lastId: z.string(),
});

const footerSchema = z.object({
  end: z.object({
    events: z.int(),
    /** Of the lines of the events, line ends included. */
    sha256: z.string(),
    /** Client ids of its messages. */
    mids: z.record(z.string(), z.int()),
  }),
});

export type ArchiveHeader = z.infer<typeof headerSchema>;
type ArchiveFooter = z.infer<typeof footerSchema>['end'];

/** An entry of the journal: its id and the bytes that it has in Redis. */
export type RawEntry = readonly [id: string, text: string];

export const archiveFolder = (home: string): string => join(home, 'sessions');
export const archivePath = (home: string, sid: string): string => join(archiveFolder(home), `${sid}.jsonl`);

/** The lines of an archive, for whoever writes them; returns the hash in its last line. */
export async function* archiveLines(
  header: ArchiveHeader,
  entries: AsyncIterable<RawEntry> | Iterable<RawEntry>,
  mids: Readonly<Record<string, number>>,
): AsyncGenerator<string, ArchiveFooter> {
  yield `${JSON.stringify(header)}\n`;
  const hash = createHash('sha256');
  let events = 0;
  for await (const [id, text] of entries) {
    // `{"w":…` becomes `{"id":"3-1","w":…`, and back, byte for byte.
    const line = `{"id":"${id}",${text.slice(1)}\n`;
    hash.update(line);
    events += 1;
    yield line;
  }
  const end: ArchiveFooter = { events, sha256: hash.digest('hex'), mids };
  yield `${JSON.stringify({ end })}\n`;
  return end;
}

/** The first line; null when there is no such file. Throws UserError when it is none of ours. */
export async function readArchiveHeader(home: string, sid: string): Promise<ArchiveHeader | null> {
  const path = archivePath(home, sid);
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new UserError(`Odin cannot read ${path} (${error.code}).`, 1);
  });
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_HEADER), position: 0 });
    const line = buffer.subarray(0, bytesRead).toString('utf8').split('\n', 1)[0] ?? '';
    return parseLine(headerSchema, line) ?? damaged(path, 'its first line is not one');
  } finally {
    await file.close();
  }
}

const MAX_HEADER = 64 * 1024;

/** Ids of the sessions that have a file. */
export async function archivedSessions(home: string): Promise<readonly string[]> {
  const names = await readdir(archiveFolder(home)).catch(() => []);
  return names.flatMap((name) => /^([0-9A-Z]{26})\.jsonl$/.exec(name)?.[1] ?? []);
}

export interface Archive {
  readonly header: ArchiveHeader;
  readonly entries: readonly RawEntry[];
  readonly mids: Readonly<Record<string, number>>;
}

/** The whole file, its hash checked. Null when there is none; throws UserError when it is damaged. */
export async function readArchive(home: string, sid: string): Promise<Archive | null> {
  const path = archivePath(home, sid);
  const header = await readArchiveHeader(home, sid);
  if (header === null) return null;
  const hash = createHash('sha256');
  const entries: RawEntry[] = [];
  let footer: ArchiveFooter | null = null;
  // By line feeds alone: readline also breaks at U+2028, which JSON leaves as it is.
  const [, ...lines] = (await readFile(path, 'utf8')).trimEnd().split('\n');
  for (const line of lines) {
    if (footer !== null) damaged(path, 'something follows its end');
    const entry = entryOf(line);
    if (entry === null) {
      footer = parseLine(footerSchema, line)?.end ?? damaged(path, `line ${entries.length + 2} is none of a journal`);
      continue;
    }
    hash.update(`${line}\n`);
    entries.push(entry);
  }
  if (footer === null) return damaged(path, 'its end is missing');
  if (footer.events !== entries.length || footer.sha256 !== hash.digest('hex')) {
    damaged(path, 'its events are not those it was closed with');
  }
  return { header, entries, mids: footer.mids };
}

/** The events of an archive after one of them. */
export function archivedEvents({ entries }: Archive, afterId = '0'): readonly Journaled[] {
  const from = entries.findIndex(([id]) => id === afterId) + 1;
  return entries.slice(from).map(([id, text]) => decodeText(id, text));
}

const ENTRY = /^\{"id":"(\d+-\d+)",/;

function entryOf(line: string): RawEntry | null {
  const found = ENTRY.exec(line);
  return found?.[1] === undefined ? null : [found[1], `{${line.slice(found[0].length)}`];
}

function parseLine<T>(schema: z.ZodType<T>, line: string): T | null {
  try {
    return schema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

function damaged(path: string, why: string): never {
  throw new UserError(`The archived session ${path} is damaged: ${why}. \`odin fsck\` says more.`, 1);
}
