// The folder's sync runs beside the edit, and the journal waits for it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createFolderSyncs } from '../../../orchestrator/files/folder-syncs.ts';
import { createRecorder } from '../../../orchestrator/recorder.ts';
import { emptyMemory } from '../../../orchestrator/session-memory.ts';
import type { JournalEvent } from '../../../shared/events.ts';

test('DURABILITY 8: what has begun is waited for, a folder that is gone is no failure, and nothing is left under way', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'odin-syncs-'));
  const syncs = createFolderSyncs();
  expect(syncs.underWay()).toBeNull();
  syncs.begin(folder);
  syncs.begin(join(folder, 'gone'));
  await syncs.underWay();
  expect(syncs.underWay()).toBeNull();
  rmSync(folder, { recursive: true });
});

test('DURABILITY 4: an event that must wait is appended after what it waits for, and what comes behind it keeps its place', async () => {
  const onDisk = Promise.withResolvers<void>();
  const appended: string[] = [];
  const recorder = createRecorder({
    journal: {
      append: (event) => Promise.resolve(`1-${appended.push(event.type)}`),
      flushed: () => Promise.resolve(),
    },
    sure: () => null,
    memory: emptyMemory('s'),
    putBlob: () => Promise.reject(new Error('Nothing here is large.')),
    before: (event) => (event.type === 'files.moved' ? onDisk.promise : null),
    onRecorded: () => {},
    onDurable: () => {},
  });
  const events: readonly JournalEvent[] = [
    { type: 'update', seq: 1, text: 'before', at: 0 },
    { type: 'files.moved', direction: 'undo', seqs: [], paths: [], at: 0 },
    { type: 'cancel', seq: 1, by: 'test', at: 0 },
  ];
  for (const event of events) recorder.record(event);
  expect(appended).toEqual(['update']);
  onDisk.resolve();
  await recorder.flushed();
  expect(appended).toEqual(['update', 'files.moved', 'cancel']);
});
