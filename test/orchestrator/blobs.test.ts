import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { sha256 } from '../../shared/ids.ts';
import { tempHome } from '../support/redis.ts';

let home: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  ({ home, remove } = await tempHome());
});
afterAll(() => remove());

const pathOf = (hash: string): string => join(home, 'blobs', hash);

test('A blob is kept once by its hash, for the user alone, and read back whole', async () => {
  const blobs = openBlobs(home);
  const content = 'x'.repeat(100_000);
  const [one, two] = await Promise.all([blobs.put(content), blobs.put(Buffer.from(content))]);
  expect(one).toEqual({ sha256: sha256(content), bytes: 100_000 });
  expect(two).toEqual(one);
  expect((await blobs.get(one)).toString()).toBe(content);
  expect((await stat(pathOf(one.sha256))).mode & 0o777).toBe(0o600);
  expect((await stat(join(home, 'blobs'))).mode & 0o777).toBe(0o700);
  expect(await readdir(join(home, 'blobs'))).toEqual([one.sha256]);
});

test('Text up to 16 KB stays in the event, longer text goes by reference', async () => {
  const blobs = openBlobs(home);
  const short = 'a'.repeat(16 * 1024);
  expect(await blobs.putPayload(short)).toEqual({ inline: short });
  const long = `${short}é`;
  const payload = await blobs.putPayload(long);
  expect(payload).toEqual({ blob: { sha256: sha256(long), bytes: 16 * 1024 + 2 } });
  expect(await blobs.getPayload(payload)).toBe(long);
  expect(await blobs.getPayload({ inline: 'x' })).toBe('x');
});

test('A damaged or missing blob is said so, with its path; writing it again heals it', async () => {
  const blobs = openBlobs(home);
  const ref = await blobs.put('precious');
  await writeFile(pathOf(ref.sha256), 'PRECIOUS');
  await expect(blobs.get(ref)).rejects.toThrow(`damaged: ${pathOf(ref.sha256)}`);
  await blobs.put('precious');
  expect((await blobs.get(ref)).toString()).toBe('precious');
  await rm(pathOf(ref.sha256));
  await expect(blobs.get(ref)).rejects.toThrow(/missing: .*\(ENOENT\)\. Restore it/);
});

test('What another process or a crash left under the name of a blob is kept when it is whole and replaced when it is not', async () => {
  const content = 'y'.repeat(3_000_000);
  const path = pathOf(sha256(content));
  await writeFile(path, content.slice(0, 1_000));
  const ref = await openBlobs(home).put(content);
  expect((await openBlobs(home).get(ref)).toString()).toBe(content);
  const { ino } = await stat(path);
  await Promise.all([openBlobs(home), openBlobs(home)].map((blobs) => blobs.put(content)));
  expect((await stat(path)).ino).toBe(ino);
  expect((await readdir(join(home, 'blobs'))).filter((name) => name.includes('.'))).toEqual([]);
});

test('A folder that cannot be written is refused with what to do', async () => {
  await writeFile(join(home, 'file'), '');
  await expect(openBlobs(join(home, 'file')).put('x')).rejects.toThrow(/^Odin cannot write to .*ODIN_HOME/);
});
