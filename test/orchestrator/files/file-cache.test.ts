import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createFileCache, DEFAULT_FILE_CACHE, type FileCacheConfig } from '../../../orchestrator/files/file-cache.ts';
import { FAST_FOLDER, type FilesBench, must, openFilesBench } from '../../support/files-bench.ts';
import { printedSeed } from '../../support/seed.ts';

const RUNS = 2_000;
let bench: FilesBench | undefined;
afterEach(() => {
  bench?.close();
  bench = undefined;
});
const open = (cache: Partial<FileCacheConfig> = {}, folder?: string) => {
  bench = openFilesBench(cache, folder);
  return bench;
};

const numbered = (count: number, tag = '') => Array.from({ length: count }, (_, i) => `line ${i + 1}${tag}\n`).join('');

describe('O7: what is cached, and how', () => {
  test('a whole file is a full entry, a range is a segment, neighbours are merged, and what lies inside is a hit', async () => {
    const { port, put, files } = open();
    const path = put('a.txt', numbered(100));
    expect(must(await port.read(path, { start: 10, end: 20 })).fromCache).toBe(false);
    expect(must(await port.read(path, { start: 12, end: 14 }))).toMatchObject({
      fromCache: true,
      text: 'line 12\nline 13\nline 14\n',
    });
    must(await port.read(path, { start: 21, end: 30 }));
    must(await port.read(path, { start: 50, end: 60 }));
    expect(port.cached(path)).toMatchObject({
      ranges: ['10-30', '50-60'],
      truncated: true,
      totalLines: 100,
      isModified: false,
    });
    expect(must(await port.read(path, { start: 15, end: 25 })).fromCache).toBe(true);
    expect(must(await port.read(path, { start: 30, end: 31 })).fromCache).toBe(false);
    expect(must(await port.read(path)).fromCache).toBe(false);
    expect(port.cached(path)).toMatchObject({ ranges: ['1-100'], truncated: false });
    expect(must(await port.read(path, { start: 99, end: 200 }))).toMatchObject({ fromCache: true, endLine: 100 });
    expect(files.cache.stats()).toMatchObject({ entries: 1, hits: 1, segmentHits: 2, misses: 5 });
  });

  test('segments that come to cover the whole file become the full entry', async () => {
    const { port, put } = open();
    const path = put('a.txt', '\ufeffone\r\ntwo\nthree');
    must(await port.read(path, { start: 3, end: 3 }));
    must(await port.read(path, { start: 1, end: 2 }));
    expect(port.cached(path)?.truncated).toBe(false);
    expect(must(await port.read(path))).toMatchObject({ fromCache: true, text: 'one\r\ntwo\nthree' });
  });

  test('O13: what a search has shown is cached with its bounds, and a whole file as a full entry', async () => {
    const { port, put } = open();
    const path = put('a.txt', numbered(20));
    const line = (n: number) => ({ line: n, text: `line ${n}\n` });
    await port.remember(path, [line(3), line(4), line(5), line(9), { line: 10, text: 'not what is there' }]);
    expect(port.cached(path)?.ranges).toEqual(['3-5', '9-9']);
    await port.remember(
      path,
      Array.from({ length: 20 }, (_, i) => line(i + 1)),
    );
    expect(port.cached(path)).toMatchObject({ truncated: false, ranges: ['1-20'] });
  });

  test('at most 50 segments a file, the oldest go', async () => {
    const { port, put } = open();
    const path = put('a.txt', numbered(300));
    for (let i = 0; i < 60; i++) must(await port.read(path, { start: i * 4 + 1, end: i * 4 + 2 }));
    const { ranges = [] } = port.cached(path) ?? {};
    expect(ranges).toHaveLength(50);
    expect(ranges[0]).toBe('41-42');
  });

  test('a file over the limit is streamed and cached in segments only', async () => {
    const { port, put } = open({ maxFileBytes: 1_000 });
    const path = put('big.txt', numbered(100_000));
    expect(await port.read(path)).toMatchObject({ failure: { code: 'too_large' } });
    const range = { start: 99_990, end: 99_999 };
    expect(must(await port.read(path, range))).toMatchObject({
      totalLines: 100_000,
      text: expect.stringMatching(/^line 99990\n/),
    });
    // Within 20 ms of the change nothing is taken on trust, and such a file is not hashed again.
    utimesSync(path, 1, 1);
    expect(must(await port.read(path, { start: 1, end: 3 })).text).toBe('line 1\nline 2\nline 3\n');
    expect(port.cached(path)?.truncated ?? true).toBe(true);
    expect(await port.read(path, { start: 100_001, end: 100_002 })).toMatchObject({ failure: { code: 'bad_range' } });
    expect(await port.read(path, { start: 1, end: 5_000 })).toMatchObject({ failure: { code: 'too_large' } });
  });

  test.each([
    ['a\0b', 'binary', /binary/],
    ['\xff\xfea\0', 'utf16', /iconv/],
  ])('%j is refused with a reason', async (bytes, code, message) => {
    const { port, put } = open();
    const outcome = await port.read(put('x', Buffer.from(bytes, 'latin1')));
    expect(outcome).toMatchObject({ failure: { code, message: expect.stringMatching(message) } });
  });
});

describe('O7: limits and eviction', () => {
  const version = (hash: string, size: number) => ({
    ...{ hash, size, totalLines: 1, encoding: 'utf8' as const },
    stamp: { size: 0n, ino: 0n, dev: 0n, mtimeNs: 0n, ctimeNs: 0n, racy: false },
  });

  function filled(eviction: FileCacheConfig['eviction']) {
    const cache = createFileCache({ ...DEFAULT_FILE_CACHE, maxEntries: 3, eviction, enableAutoRefresh: false });
    const store = (path: string, written = false) =>
      cache.storeFull(path, version(path, 1), 'x', written ? { over: null } : undefined);
    const touch = (path: string) => cache.touch(path, cache.fresh(path));
    store('/a', true);
    store('/b');
    store('/c');
    touch('/b');
    touch('/b');
    touch('/a');
    touch('/a');
    touch('/c');
    store('/d');
    return cache
      .list()
      .map((info) => info.filePath)
      .sort();
  }

  test('lru drops the least recently used', () => expect(filled('lru')).toEqual(['/a', '/c', '/d']));
  test('lfu drops the least often used', () => expect(filled('lfu')).toEqual(['/a', '/b', '/d']));
  test('hybrid drops unmodified before modified, then the least recently used', () => {
    expect(filled('hybrid')).toEqual(['/a', '/c', '/d']);
    const cache = createFileCache({ ...DEFAULT_FILE_CACHE, maxEntries: 2, enableAutoRefresh: false });
    cache.storeFull('/written', version('w', 1), 'w', { over: null });
    cache.storeFull('/read', version('r', 1), 'r');
    cache.storeFull('/new', version('n', 1), 'n');
    expect(cache.list().map((info) => info.filePath)).toEqual(['/written', '/new']);
  });

  test('the bytes in all stay under the limit', () => {
    const cache = createFileCache({ ...DEFAULT_FILE_CACHE, maxBytes: 10_000, enableAutoRefresh: false });
    for (let i = 0; i < 100; i++) cache.storeFull(`/${i}`, version(`${i}`, 1_000), 'x'.repeat(1_000));
    expect(cache.stats().bytes).toBeLessThanOrEqual(10_000);
    expect(cache.stats().entries).toBe(7);
  });

  test('entries expire after their time to live', () => {
    let now = 0;
    const cache = createFileCache({ ...DEFAULT_FILE_CACHE, ttlMs: 100, enableAutoRefresh: false }, () => now);
    cache.storeFull('/a', version('a', 1), 'a');
    now = 60;
    cache.storeSegment('/b', { ...version('b', 1), totalLines: 9 }, { start: 1, end: 1 }, 'b\n');
    now = 101;
    expect([cache.fresh('/a'), cache.fresh('/b') !== undefined]).toEqual([undefined, true]);
    now = 161;
    expect(cache.fresh('/b')).toBeUndefined();
  });
});

test('O7: 2,000 changes of the same size right after a read, and not one stale answer', async () => {
  const { port, put } = open();
  const path = put('a.txt', 'start\n');
  let stale = 0;
  for (let i = 0; i < 2_000; i++) {
    must(await port.read(path));
    const text = `${String(i).padStart(5, '0')}\n`;
    writeFileSync(path, text);
    if (must(await port.read(path)).text !== text) stale++;
  }
  expect(stale).toBe(0);
});

test('O7: a touched file whose content is the same keeps its segments; a changed one loses them', async () => {
  const { port, put, files } = open();
  const path = put('a.txt', numbered(10));
  must(await port.read(path, { start: 2, end: 3 }));
  utimesSync(path, 5, 5);
  expect(must(await port.read(path, { start: 2, end: 3 })).fromCache).toBe(true);
  expect(files.cache.stats().rehashes).toBeGreaterThan(0);
  writeFileSync(path, numbered(10, '!'));
  expect(port.cached(path)).toBeUndefined();
  expect(must(await port.read(path, { start: 2, end: 3 })).text).toBe('line 2!\nline 3!\n');
  rmSync(path);
  expect(port.list()).toEqual([]);
});

test('O7: without enableAutoRefresh reads trust the cache, until a change meets the truth', async () => {
  const { port, put, intend } = open({ enableAutoRefresh: false });
  const path = put('a.txt', 'one\n');
  must(await port.read(path));
  writeFileSync(path, 'two\n');
  expect(must(await port.read(path)).text).toBe('one\n');
  expect(await port.edit(path, [{ oldText: 'one', newText: '1', replaceAll: false }], intend)).toMatchObject({
    failure: { code: 'conflict' },
  });
  expect(must(await port.read(path)).text).toBe('two\n');
});

/** Steps of a random life of a few files. */
const fileArb = fc.nat(3);
const stepArb = fc.oneof(
  fc.record({ do: fc.constant('read' as const), file: fileArb }),
  fc.record({
    do: fc.constant('range' as const),
    file: fileArb,
    start: fc.integer({ min: 1, max: 12 }),
    length: fc.nat(5),
  }),
  fc.record({
    do: fc.constant('remember' as const),
    file: fileArb,
    start: fc.integer({ min: 1, max: 12 }),
    length: fc.nat(3),
  }),
  fc.record({
    do: fc.constant('edit' as const),
    file: fileArb,
    line: fc.nat(11),
    text: fc.constantFrom('x', 'yy', ''),
  }),
  fc.record({
    do: fc.constant('outside' as const),
    file: fileArb,
    line: fc.nat(11),
    text: fc.constantFrom('x', 'z', 'new\nline'),
  }),
  fc.record({ do: fc.constant('delete' as const), file: fileArb }),
);

/** As `expect(got).toBe(expected)`, which takes more time than what it looks at here. */
const same = (got: unknown, expected: unknown): void => {
  if (got !== expected) expect(got).toBe(expected);
};

test('O7: under random reads, edits, outside changes and evictions the cache answers like the disk and keeps its limits', async () => {
  const seed = printedSeed('cache against a model');
  const limits = { maxEntries: 2, maxBytes: 1_200, maxFileBytes: 400, maxSegments: 3 };
  const { port, put, files, intend, root } = open(limits, FAST_FOLDER);
  const fresh = () => Array.from({ length: 10 }, (_, i) => `l${i}`);
  await fc.assert(
    fc.asyncProperty(fc.array(stepArb, { minLength: 1, maxLength: 12 }), async (steps) => {
      /** The plain model: the lines of each file as they are on disk. */
      const disk = new Map<number, string[]>();
      const save = (file: number, lines: string[]) => {
        disk.set(file, lines);
        put(`${file}.txt`, lines.map((line) => `${line}\n`).join(''));
      };
      for (let file = 0; file < 4; file++) save(file, fresh());
      for (const step of steps) {
        const path = `${root}/${step.file}.txt`;
        const lines = disk.get(step.file);
        const text = lines?.map((line) => `${line}\n`);
        if (step.do === 'read') {
          const got = await port.read(path);
          same(got.ok ? got.value.text : undefined, text?.join(''));
        } else if (step.do === 'range') {
          const got = await port.read(path, { start: step.start, end: step.start + step.length });
          const expected =
            text && (step.start <= text.length || text.length === 0)
              ? text.slice(step.start - 1, step.start + step.length)
              : undefined;
          same(got.ok ? got.value.text : undefined, expected?.join(''));
        } else if (step.do === 'remember') {
          const shown = (lines ?? []).slice(step.start - 1, step.start + step.length);
          await port.remember(
            path,
            shown.map((line, i) => ({ line: step.start + i, text: line })),
          );
        } else if (step.do === 'delete') {
          rmSync(path, { force: true });
          disk.delete(step.file);
        } else if (lines && lines.length > 0) {
          const at = step.line % lines.length;
          const after = lines.with(at, `${step.text}${at}`).flatMap((line) => line.split('\n'));
          if (step.do === 'outside') save(step.file, after);
          else {
            const [from, to] = [lines[at] ?? '', `${step.text}${at}`];
            const whole = (text ?? []).join('');
            const unique = from !== to && whole.indexOf(from) === whole.lastIndexOf(from);
            const got = await port.edit(path, [{ oldText: from, newText: to, replaceAll: false }], intend);
            if (got.ok) {
              same(unique, true);
              disk.set(step.file, whole.replace(from, to).split('\n').slice(0, -1));
            }
          }
        }
        const stats = files.cache.stats();
        const ranges = Math.max(0, ...port.list().map((info) => info.ranges.length));
        const isWithin =
          stats.entries <= limits.maxEntries && stats.bytes <= limits.maxBytes && ranges <= limits.maxSegments;
        if (!isWithin) expect({ ...stats, ranges }).toEqual('within the limits');
      }
    }),
    { seed, numRuns: RUNS },
  );
  expect(files.cache.stats().evictions).toBeGreaterThan(RUNS / 10);
  expect(files.cache.stats().hits + files.cache.stats().segmentHits).toBeGreaterThan(RUNS / 10);
});
