// What any process can read of a session, running or not: its state, its journal, its waiting messages, its file changes.

import { emptyState, foldState } from '../agent/state.ts';
import type { Journaled } from '../shared/events.ts';
import type { FileIntent } from '../shared/files-port.ts';
import type { Json } from '../shared/json.ts';
import type { QueuedMessage, State } from '../shared/state.ts';
import type { FileDiff } from './api.ts';
import { textFor } from './files/change-file.ts';
import { EMPTY_FILE_HISTORY, foldFileHistory, netChanges } from './files/file-history.ts';
import { lineDiff } from './files/line-diff.ts';
import type { InboxMessage } from './inbox-message.ts';
import { openSnapshots } from './journal-snapshot.ts';
import { type JournalSource, readJournal } from './journal-source.ts';
import { withInlinePayload } from './payloads.ts';
import type { ReplayReport } from './replay.ts';
import type { World } from './world.ts';

/** State = fold(journal), with the messages that wait. Throws UserError when the session is unknown. */
export async function readState(world: World, sid: string): Promise<State> {
  const { inbox, root } = world;
  const [, waiting, events] = await Promise.all([
    inbox.head(sid),
    inbox.waiting(sid),
    readJournal(sourceOf(world), sid),
  ]);
  let state = emptyState(sid);
  for (const { id, event } of events) {
    state = foldState(state, { id, event: await withInlinePayload(event, (ref) => readBlob(world, ref)) });
  }
  return { ...state, root, messageQueue: await Promise.all(waiting.map((message) => queuedMessage(world, message))) };
}

export async function readQueued(world: World, sid: string): Promise<readonly QueuedMessage[]> {
  await world.inbox.head(sid);
  return Promise.all((await world.inbox.waiting(sid)).map((message) => queuedMessage(world, message)));
}

/** Every event with its payload inline. */
export async function* exportSession(world: World, sid: string): AsyncGenerator<Json> {
  await world.inbox.head(sid);
  for (const { id, event } of await readJournal(sourceOf(world), sid)) {
    const whole = await withInlinePayload(event, (ref) => readBlob(world, ref));
    yield { id, event: whole } as unknown as Json;
  }
}

/** Its machines and folds run again from its journal, and held against its snapshot when there is one. */
export async function replaySession(world: World, sid: string): Promise<ReplayReport> {
  await world.inbox.head(sid);
  const { replayJournal, snapshotDifference } = await import('./replay.ts');
  const log: Journaled[] = [];
  for (const { id, event } of await readJournal(sourceOf(world), sid)) {
    log.push({ id, event: await withInlinePayload(event, (ref) => readBlob(world, ref)) });
  }
  const report = replayJournal(sid, log);
  const snapshot = openSnapshots(world.options.home).read(sid);
  return { ...report, difference: report.difference ?? (snapshot && snapshotDifference(sid, log, snapshot)) };
}

/** What the session has changed in files, in sum. */
export async function readDiff(world: World, sid: string): Promise<readonly FileDiff[]> {
  await world.inbox.head(sid);
  let history = EMPTY_FILE_HISTORY;
  for (const { event } of await readJournal(sourceOf(world), sid)) history = foldFileHistory(history, event);
  return Promise.all(netChanges(history).map((change) => fileDiff(world, change)));
}

async function fileDiff({ blobs, root }: World, change: FileIntent): Promise<FileDiff> {
  const textOf = async (ref: FileIntent['beforeBlob']) => textFor(ref && (await blobs.get(ref)));
  const path = change.path.startsWith(`${root}/`) ? change.path.slice(root.length + 1) : change.path;
  const diff = await lineDiff(path, await textOf(change.beforeBlob), await textOf(change.afterBlob));
  const status = change.beforeHash === null ? 'created' : change.afterHash === null ? 'deleted' : 'changed';
  return { path, status, ...diff };
}

/** Where the world's journals are: in Redis, or in the files of old sessions. */
export const sourceOf = ({ handle, options }: World): JournalSource => ({ redis: handle.client, home: options.home });

async function queuedMessage({ blobs }: World, message: InboxMessage): Promise<QueuedMessage> {
  const body = await blobs.getPayload(message.body);
  const { seq, mid, mode, at, steered, options } = message;
  const images = options.images === undefined ? {} : { images: options.images };
  return { seq, mid, mode, body, timestamp: at, ...(steered ? { steered } : {}), ...images };
}

const readBlob = ({ blobs }: World, blob: { readonly sha256: string; readonly bytes: number }): Promise<string> =>
  blobs.getPayload({ blob });
