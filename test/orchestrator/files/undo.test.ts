import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openBlobs } from '../../../orchestrator/blobs.ts';
import { createFiles } from '../../../orchestrator/files/files.ts';
import { fileIntentOf, resumeEdit } from '../../../orchestrator/files/resume-edit.ts';
import { moveChange } from '../../../orchestrator/files/undo.ts';
import type { FileChange } from '../../../shared/files-port.ts';
import { codeOf, FAST_FOLDER, type FilesBench, messageOf, must, openFilesBench } from '../../support/files-bench.ts';
import { printedSeed } from '../../support/seed.ts';

let bench: FilesBench;
beforeEach(() => {
  bench = openFilesBench({}, FAST_FOLDER);
});
afterEach(() => bench.close());

const move = (change: FileChange, direction: 'undo' | 'redo') =>
  moveChange(bench.files, change, direction, bench.intend);
const write = async (path: string, content: string) => must(await bench.port.write(path, content, bench.intend));

test('E14: undo of any edits is the identity byte for byte, and redo brings them back', async () => {
  const seed = printedSeed('undo after edit');
  const piece = fc.constantFrom('a', 'é', '\t', '猫', ' ', 'xyz', '\u001b', '\n', '\r\n', '\r', '');
  const textArb = fc.array(piece, { minLength: 1, maxLength: 20 }).map((parts) => parts.join(''));
  const bytesArb = fc
    .tuple(fc.constantFrom('', '\ufeff'), textArb, fc.boolean())
    .map(([bom, text, latin]) =>
      latin ? Buffer.from(text.replaceAll('猫', '\xff'), 'latin1') : Buffer.from(bom + text),
    );
  const editArb = fc.record({
    at: fc.nat(30),
    length: fc.integer({ min: 1, max: 6 }),
    to: textArb,
    whole: fc.boolean(),
  });
  let edits = 0;
  await fc.assert(
    fc.asyncProperty(bytesArb, fc.array(editArb, { minLength: 1, maxLength: 3 }), async (before, wanted) => {
      const path = bench.put('f.txt', before);
      const changes: FileChange[] = [];
      for (const { at, length, to, whole } of wanted) {
        const { text } = must(await bench.port.read(path));
        const from = text.slice(at % (text.length || 1), (at % (text.length || 1)) + length);
        const outcome = whole
          ? await bench.port.write(path, to, bench.intend)
          : await bench.port.edit(path, [{ oldText: from, newText: to, replaceAll: false }], bench.intend);
        if (outcome.ok) changes.push(outcome.value);
      }
      edits += changes.length;
      const after = readFileSync(path);
      for (const change of changes.toReversed()) must(await move(change, 'undo'));
      expect(readFileSync(path)).toEqual(before);
      for (const change of changes) must(await move(change, 'redo'));
      expect(readFileSync(path)).toEqual(after);
    }),
    { seed, numRuns: 2_000 },
  );
  expect(edits).toBeGreaterThan(1_000);
});

test('E14: creating and deleting are undone and redone, with the mode bits', async () => {
  const path = join(bench.root, 'folder/new.txt');
  const made = await write(path, 'hello\n');
  const { mode } = statSync(path);
  must(await move(made, 'undo'));
  expect(existsSync(path)).toBe(false);
  expect(bench.port.cached(path)).toBeUndefined();
  expect(existsSync(join(bench.root, 'folder'))).toBe(false);
  must(await move(made, 'redo'));
  expect([readFileSync(path, 'utf8'), statSync(path).mode]).toEqual(['hello\n', mode]);
  // An undo is a change with an intent like any other.
  expect(bench.intents.map((intent) => fileIntentOf(intent)?.afterHash === null)).toEqual([false, true, false]);
  expect(must(await move(made, 'redo'))).toMatchObject({ already: true });
});

test('E14: undo takes away the folders that a write made, as far as they are empty, and no others', async () => {
  const made = await write(join(bench.root, 'a/b/c/new.txt'), 'hello\n');
  expect(made.madeFolder).toBe(join(bench.root, 'a'));
  const beside = await write(join(bench.root, 'a/b/beside.txt'), 'hello\n');
  expect(beside.madeFolder).toBeUndefined();
  must(await move(made, 'undo'));
  expect(existsSync(join(bench.root, 'a/b/c'))).toBe(false);
  expect(existsSync(beside.path)).toBe(true);
  must(await move(beside, 'undo'));
  expect(existsSync(join(bench.root, 'a/b'))).toBe(true);
  // Interrupted after the file was gone, it is done again.
  must(await move(made, 'undo'));
  expect(existsSync(join(bench.root, 'a'))).toBe(false);
});

test('E14: content that is lost is a failure that says so, and the file stays', async () => {
  const path = bench.put('a.txt', 'one\n');
  const files = createFiles({ root: bench.root, blobs: openBlobs(join(bench.root, '../home')) });
  const port = files.portFor();
  must(await port.read(path));
  const change = must(await port.write(path, 'two\n', async () => {}));
  rmSync(join(bench.root, '../home/blobs'), { recursive: true });
  const outcome = await moveChange(files, change, 'undo', bench.intend);
  expect(codeOf(outcome)).toBe('not_kept');
  expect(messageOf(outcome)).toMatch(/missing: .*Restore it from a backup.*a\.txt was not changed/);
  writeFileSync(path, 'three\n');
  expect(messageOf(await moveChange(files, change, 'undo', bench.intend))).toMatch(/changed by somebody else.*missing/);
  expect(readFileSync(path, 'utf8')).toBe('three\n');
});

test('E14: a file that somebody changed since is not touched, and the difference is shown', async () => {
  const path = bench.put('a.txt', 'one\ntwo\n');
  must(await bench.port.read(path));
  const change = await write(path, '1\ntwo\n');
  writeFileSync(path, '1\n2\n');
  const outcome = await move(change, 'undo');
  expect(codeOf(outcome)).toBe('conflict');
  expect(messageOf(outcome)).toContain('-two\n+2');
  expect(readFileSync(path, 'utf8')).toBe('1\n2\n');
  rmSync(path);
  expect(messageOf(await move(change, 'undo'))).toMatch(/was deleted by somebody else/);
  const created = await write(join(bench.root, 'b.txt'), 'b\n');
  must(await move(created, 'undo'));
  writeFileSync(join(bench.root, 'b.txt'), 'other\n');
  expect(messageOf(await move(created, 'redo'))).toMatch(/was made again by somebody else/);
});

test('E14: an interrupted change is made, recognised as made, or reported', async () => {
  const path = bench.put('a.txt', 'one\n');
  must(await bench.port.read(path));
  await write(path, 'two\n');
  const intent = fileIntentOf(bench.intents[0] ?? null);
  if (!intent) throw new Error('no intent');
  expect(must(await resumeEdit(bench.files, intent))).toMatchObject({
    how: 'already',
    change: { added: 1, removed: 1 },
  });
  writeFileSync(path, 'one\n');
  expect(must(await resumeEdit(bench.files, intent)).how).toBe('applied');
  expect(readFileSync(path, 'utf8')).toBe('two\n');
  writeFileSync(path, 'three\n');
  const outcome = await resumeEdit(bench.files, intent);
  expect(codeOf(outcome)).toBe('conflict');
  expect(messageOf(outcome)).toMatch(/neither as it was before nor as it should be after/);
  expect(readFileSync(path, 'utf8')).toBe('three\n');
  expect(fileIntentOf({ kind: 'command' })).toBeUndefined();
});

test('DURABILITY 8: who finishes an interrupted change leaves alone what another change of the same file is about to put there', async () => {
  const path = bench.put('f.txt', 'one\n');
  must(await bench.port.read(path));
  await write(path, 'two\n');
  const intent = fileIntentOf(bench.intents[0] ?? null);
  if (!intent) throw new Error('no intent');
  const resumed: ReturnType<typeof resumeEdit>[] = [];
  const outcome = await bench.port.write(path, 'three\n', async () => {
    resumed.push(resumeEdit(bench.files, intent));
  });
  must(outcome);
  expect(codeOf((await resumed[0]) ?? outcome)).toBe('conflict');
  expect(readFileSync(path, 'utf8')).toBe('three\n');
});
