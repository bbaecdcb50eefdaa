// Several files changed as one: all or none, merged where both changes fit, and finished or taken back after a crash in the middle.

import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  type ChangedFiles,
  changeFiles,
  resumeChanges,
  type WantedChange,
} from '../../../orchestrator/files/change-files.ts';
import { filesIntentOf } from '../../../orchestrator/files/files-intent.ts';
import type { FileIntent } from '../../../shared/files-port.ts';
import type { Json } from '../../../shared/json.ts';
import { FAST_FOLDER, type FilesBench, messageOf, must, openFilesBench } from '../../support/files-bench.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

let bench: FilesBench;
beforeEach(() => {
  bench = openFilesBench({}, FAST_FOLDER);
});
afterEach(() => bench.close());

const LINES = Array.from({ length: 12 }, (_, i) => `line ${i}\n`).join('');
const put = (name: string, text: string): string => bench.put(name, Buffer.from(text));
const textOf = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null);
const wanted = (path: string, before: string | null, after: string | null): WantedChange => ({
  path,
  before: before === null ? null : Buffer.from(before),
  after: after === null ? null : Buffer.from(after),
  isExecutable: false,
});
const never = new AbortController().signal;

test('O19 O16: a change of several files is made whole; one that does not fit what a file has become changes none of them', async () => {
  const kept = put('kept.txt', LINES);
  const gone = put('gone.txt', 'to be removed\n');
  const fresh = join(bench.root, 'deep/fresh.txt');
  const others = put('others.txt', LINES);
  // Somebody else changes the end of a file whose beginning is changed, and all of another.
  writeFileSync(kept, LINES.replace('line 11', 'LINE 11'));
  const changes = [
    wanted(kept, LINES, LINES.replace('line 0', 'LINE 0')),
    wanted(gone, 'to be removed\n', null),
    wanted(fresh, null, 'new\n'),
  ];
  writeFileSync(others, LINES.replaceAll('line', 'theirs'));
  const conflict = wanted(others, LINES, LINES.replaceAll('line', 'ours'));
  const intents: Json[] = [];
  const intend = async (intent: Json) => void intents.push(intent);
  const refused = await changeFiles(bench.files, [...changes, conflict], intend, never);
  expect(messageOf(refused)).toContain('others.txt was changed here meanwhile');
  expect([intents, textOf(gone), textOf(fresh)]).toEqual([[], 'to be removed\n', null]);
  expect(textOf(kept)).toBe(LINES.replace('line 11', 'LINE 11'));

  const made: ChangedFiles = must(await changeFiles(bench.files, changes, intend, never));
  expect(made.merged).toEqual([kept]);
  expect(textOf(kept)).toBe(LINES.replace('line 0', 'LINE 0').replace('line 11', 'LINE 11'));
  expect([textOf(gone), textOf(fresh)]).toEqual([null, 'new\n']);
  expect(intents).toHaveLength(1);
  expect(filesIntentOf(intents[0] as Json)).toEqual(made.changes);
  const again = must(await changeFiles(bench.files, changes.slice(1), intend, never));
  expect([again.changes, intents.length]).toEqual([[], 1]);
});

test('O19: what cannot be finished after a crash says why, and is as it was before', async () => {
  const [done, stuck] = [put('done.txt', 'before\n'), put('stuck.txt', 'before\n')];
  let intent: Json = null;
  const stopped = changeFiles(
    bench.files,
    [wanted(done, 'before\n', 'after\n'), wanted(stuck, 'before\n', 'after\n')],
    (given) => {
      intent = given;
      return Promise.reject(new Error('killed'));
    },
    never,
  );
  await expect(stopped).rejects.toThrow('killed');
  writeFileSync(done, 'after\n');
  chmodSync(stuck, 0o444);
  const resumed = await resumeChanges(bench.files, filesIntentOf(intent) as readonly FileIntent[]);
  expect(messageOf(resumed)).toMatch(/could not go on: .*stuck\.txt is read-only.*What was done was taken back\.$/);
  expect([textOf(done), textOf(stuck)]).toEqual(['before\n', 'before\n']);
});

test('O19: interrupted after any of its files it is finished; when one was changed meanwhile, the others are as they were', async () => {
  const random = randomFrom(printedSeed('change-files'));
  for (let round = 0; round < 40; round++) {
    const names = Array.from({ length: 2 + random(4) }, (_, i) => `r${round}/f${i}.txt`);
    const before = names.map((_, i) => (random(4) === 0 ? null : `before ${i}\n`));
    const after = names.map((_, i) => (before[i] !== null && random(4) === 0 ? null : `after ${i}\n`));
    const paths = names.map((name, i) => (before[i] === null ? join(bench.root, name) : put(name, before[i] ?? '')));
    put(`r${round}/here`, '');
    let intent: Json = null;
    const stopped = changeFiles(
      bench.files,
      paths.map((path, i) => wanted(path, before[i] ?? null, after[i] ?? null)),
      (given) => {
        intent = given;
        return Promise.reject(new Error('killed'));
      },
      never,
    );
    await expect(stopped).rejects.toThrow('killed');
    const changes = filesIntentOf(intent) as readonly FileIntent[];
    const set = (path: string, text: string | null) =>
      text === null ? rmSync(path, { force: true }) : writeFileSync(path, text);
    const done = random(paths.length + 1);
    for (let i = 0; i < done; i++) set(paths[i] as string, after[i] ?? null);
    const meddled = random(3) === 0 && done < paths.length ? paths.length - 1 : null;
    if (meddled !== null) set(paths[meddled] as string, 'meddled\n');
    const resumed = await resumeChanges(bench.files, changes);
    expect(resumed.ok).toBe(meddled === null);
    const expected = meddled === null ? after : before.map((text, i) => (i === meddled ? 'meddled\n' : text));
    expect(paths.map(textOf)).toEqual(expected);
  }
});
