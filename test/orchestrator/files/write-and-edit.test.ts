import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tempNameFor } from '../../../orchestrator/files/atomic-write.ts';
import type { FileIntent } from '../../../shared/files-port.ts';
import { sha256 } from '../../../shared/ids.ts';
import { codeOf, type FilesBench, messageOf, must, openFilesBench } from '../../support/files-bench.ts';

let bench: FilesBench;
beforeEach(() => {
  bench = openFilesBench();
});
afterEach(() => {
  const left = readdirSync(bench.root, { recursive: true }).filter((name) => String(name).includes('.odin-tmp'));
  bench.close();
  expect(left).toEqual([]);
});

const edit = (path: string, oldText: string, newText: string, replaceAll = false) =>
  bench.port.edit(path, [{ oldText, newText, replaceAll }], bench.intend);

async function edited(bytes: string | Buffer, oldText: string, newText: string): Promise<Buffer> {
  const path = bench.put('f.txt', bytes);
  must(await bench.port.read(path));
  must(await edit(path, oldText, newText));
  return readFileSync(path);
}

describe('O15, O16: an edit keeps what it does not change, byte for byte', () => {
  const long = 'x'.repeat(300_000);
  test.each([
    ['CRLF', 'a\r\nb\r\nc\r\n', 'a\nb', 'a\nB\nb2', 'a\r\nB\r\nb2\r\nc\r\n'],
    ['a byte-order mark', '\ufeffa\nb\n', 'a', 'A', '\ufeffA\nb\n'],
    ['no final newline', 'a\nb', 'b', 'c', 'a\nc'],
    ['tabs and trailing spaces', '\ta  \n\t\tb\n', 'b', 'c', '\ta  \n\t\tc\n'],
    ['Unicode', 'é猫🙂\u0301\n', '猫', '犬', 'é犬🙂\u0301\n'],
    ['very long lines', `${long}needle${long}`, 'needle', 'pin', `${long}pin${long}`],
    ['mixed endings', 'a\r\nb\nc\r\n', 'b', 'B', 'a\r\nB\nc\r\n'],
    ['control characters', 'a\u001b[0m\u0007\f\nb\n', 'b', 'c', 'a\u001b[0m\u0007\f\nc\n'],
  ])('%s', async (_, before, from, to, after) => {
    expect((await edited(before, from, to)).toString()).toBe(after);
  });

  test('bytes that are not UTF-8, and what they cannot hold is refused', async () => {
    const before = Buffer.from('caf\xe9 na\xefve\n', 'latin1');
    expect((await edited(before, 'na\xefve', 'th\xe9')).toString('latin1')).toBe('caf\xe9 th\xe9\n');
    expect(codeOf(await edit(join(bench.root, 'f.txt'), 'caf', '猫'))).toBe('encoding');
    expect(codeOf(await edit(join(bench.root, 'f.txt'), 'caf', 'half \ud83d'))).toBe('encoding');
  });

  test('mode bits and owner', async () => {
    const path = bench.put('run.sh', '#!/bin/sh\necho 1\n');
    chmodSync(path, 0o754);
    const { uid, gid } = statSync(path);
    must(await bench.port.read(path));
    must(await edit(path, '1', '2'));
    expect(statSync(path)).toMatchObject({ mode: 0o100754, uid, gid });
  });

  test('O15: a whole-file write keeps mode, mark and line endings, and makes folders', async () => {
    const path = bench.put('a.txt', '\ufeffa\r\nb\r\n');
    chmodSync(path, 0o600);
    must(await bench.port.read(path));
    must(await bench.port.write(path, 'x\ny\nz', bench.intend));
    expect(readFileSync(path, 'utf8')).toBe('\ufeffx\r\ny\r\nz');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const made = join(bench.root, 'new/folder/b.txt');
    expect(must(await bench.port.write(made, 'x\ny\n', bench.intend))).toMatchObject({ beforeHash: null, added: 2 });
    expect(readFileSync(made, 'utf8')).toBe('x\ny\n');
    expect(statSync(made).mode & 0o777).toBe(0o666 & ~process.umask());
  });
});

describe('O16, E14: the intent and the cache', () => {
  test('the intent names both versions and their blobs, before anything is written', async () => {
    const path = bench.put('a.txt', 'one\n');
    must(await bench.port.read(path));
    let seen = '';
    const change = await bench.port.edit(
      path,
      [{ oldText: 'one', newText: 'two', replaceAll: false }],
      async (intent) => {
        seen = readFileSync(path, 'utf8');
        bench.intents.push(intent);
      },
    );
    expect(seen).toBe('one\n');
    const intent = bench.intents[0] as unknown as FileIntent;
    expect(intent).toMatchObject({ kind: 'file', path, beforeHash: sha256('one\n'), afterHash: sha256('two\n') });
    expect(intent.beforeBlob && (await bench.files.blobs.get(intent.beforeBlob)).toString()).toBe('one\n');
    expect(intent.afterBlob && (await bench.files.blobs.get(intent.afterBlob)).toString()).toBe('two\n');
    expect(must(change)).toMatchObject({ ...intent, added: 1, removed: 1, rebased: false });
    expect(must(change).diff).toBe(`--- ${path}\n+++ ${path}\n@@ -1,1 +1,1 @@\n-one\n+two`);
  });

  test('an intent that cannot be journaled stops the write', async () => {
    const path = bench.put('a.txt', 'one\n');
    must(await bench.port.read(path));
    const fenced = async () => {
      throw new Error('fenced');
    };
    await expect(
      bench.port.edit(path, [{ oldText: 'one', newText: 'two', replaceAll: false }], fenced),
    ).rejects.toThrow('fenced');
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect(bench.files.locks.size).toBe(0);
  });

  test('after an edit the cache holds the whole file, modified, and forgets that when it is back to what it was', async () => {
    const path = bench.put('a.txt', 'one\ntwo\nthree\n');
    must(await bench.port.read(path, { start: 2, end: 2 }));
    must(await edit(path, 'two', '2'));
    expect(bench.port.cached(path)).toMatchObject({ truncated: false, isModified: true });
    expect(must(await bench.port.read(path))).toMatchObject({ fromCache: true, text: 'one\n2\nthree\n' });
    must(await edit(path, '2', 'two'));
    expect(bench.port.cached(path)).toMatchObject({ isModified: false });
  });

  test('a write of the same content writes nothing and journals nothing', async () => {
    const path = bench.put('a.txt', 'one\n');
    must(await bench.port.read(path));
    const { ino } = statSync(path);
    expect(must(await bench.port.write(path, 'one\n', bench.intend))).toMatchObject({ added: 0, removed: 0 });
    expect(statSync(path).ino).toBe(ino);
    expect(bench.intents).toEqual([]);
  });
});

describe('O15, O16: who has not read, or has read something else', () => {
  test('is told what to read', async () => {
    const path = bench.put('a.txt', 'one\ntwo\n');
    expect(messageOf(await edit(path, 'one', '1'))).toMatch(/has not been read.*Read it \(lines 1-2\) first/);
    expect(codeOf(await bench.port.write(path, 'x', bench.intend))).toBe('not_read');
    const big = bench.put('big.txt', 'x\n'.repeat(5_000));
    expect(messageOf(await edit(big, 'one', '1'))).toMatch(/lines around the change \(it has 5000 lines/);
  });

  test('DURABILITY 12: an edit goes on what is there now when its text occurs once, and says so', async () => {
    const path = bench.put('a.txt', 'one\ntwo\nthree\n');
    must(await bench.port.read(path));
    writeFileSync(path, 'zero\none\ntwo\nthree\n');
    expect(must(await edit(path, 'two', '2'))).toMatchObject({ rebased: true });
    expect(readFileSync(path, 'utf8')).toBe('zero\none\n2\nthree\n');
    // What others changed has still not been seen.
    expect(codeOf(await bench.port.write(path, 'mine', bench.intend))).toBe('conflict');
    must(await bench.port.read(path));
    must(await bench.port.write(path, 'mine', bench.intend));
  });

  test('DURABILITY 12: else it is a conflict that names the lines', async () => {
    const path = bench.put('a.txt', 'one\ntwo\n');
    must(await bench.port.read(path));
    writeFileSync(path, 'two\none\ntwo\n');
    const outcome = await edit(path, 'two', '2');
    expect(outcome).toMatchObject({
      failure: {
        code: 'conflict',
        details: {
          lines: [
            { start: 1, end: 1 },
            { start: 3, end: 3 },
          ],
        },
      },
    });
    expect(messageOf(outcome)).toMatch(/changed by somebody else.*lines 1, 3/);
  });

  test('a part read anew does not make the old rest new: the whole-file write is refused', async () => {
    const path = bench.put('a.txt', 'one\ntwo\nthree\n');
    must(await bench.port.read(path));
    writeFileSync(path, 'one\ntwo\n3\n');
    must(await bench.port.read(path, { start: 1, end: 1 }));
    expect(codeOf(await bench.port.write(path, 'x', bench.intend))).toBe('conflict');
  });

  test('what one agent read, another has not', async () => {
    const path = bench.put('a.txt', 'one\n');
    must(await bench.port.read(path));
    const other = bench.files.portFor();
    expect(codeOf(await other.write(path, 'x', bench.intend))).toBe('not_read');
    must(await other.read(path));
    must(await edit(path, 'one', '1'));
    expect(codeOf(await other.write(path, 'x', bench.intend))).toBe('conflict');
  });

  test('a change from outside between the look and the rename is not overwritten', async () => {
    const path = bench.put('a.txt', 'one\ntwo\n');
    must(await bench.port.read(path));
    let once = true;
    const change = await bench.port.edit(path, [{ oldText: 'one', newText: '1', replaceAll: false }], async () => {
      if (once) writeFileSync(path, 'one\nTWO\n');
      once = false;
    });
    expect(must(change).beforeHash).toBe(sha256('one\nTWO\n'));
    expect(readFileSync(path, 'utf8')).toBe('1\nTWO\n');
  });

  test('nor is a file that appeared where one is to be created', async () => {
    const path = join(bench.root, 'new.txt');
    const outcome = await bench.port.write(path, 'mine', async () => writeFileSync(path, 'theirs'));
    expect(codeOf(outcome)).toBe('not_read');
    expect(readFileSync(path, 'utf8')).toBe('theirs');
  });
});

describe('SAFETY 2.5: links, and what is in the way', () => {
  test('a link is followed once, its target is written, and it stays a link', async () => {
    const target = bench.put('real.txt', 'one\n');
    const link = join(bench.root, 'link.txt');
    symlinkSync('real.txt', link);
    must(await bench.port.read(link));
    expect(must(await edit(link, 'one', '1')).path).toBe(target);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toBe('1\n');
  });

  test('a file that becomes a link right before the write is not written through', async () => {
    const outside = bench.put('../outside.txt', 'secret\n');
    const path = bench.put('a.txt', 'one\n');
    must(await bench.port.read(path));
    const outcome = await bench.port.edit(path, [{ oldText: 'one', newText: '1', replaceAll: false }], async () => {
      rmSync(path, { force: true });
      if (!existsSync(path)) symlinkSync(outside, path);
    });
    expect(codeOf(outcome)).toBe('loop');
    expect(readFileSync(outside, 'utf8')).toBe('secret\n');
  });

  test('nor is a folder that becomes a link', async () => {
    const path = bench.put('folder/a.txt', 'one\n');
    mkdirSync(join(bench.root, '../elsewhere'));
    must(await bench.port.read(path));
    const outcome = await bench.port.edit(path, [{ oldText: 'one', newText: '1', replaceAll: false }], async () => {
      execFileSync('sh', ['-c', 'mv folder moved && cp -al moved/. ../elsewhere && ln -s ../elsewhere folder'], {
        cwd: bench.root,
      });
    });
    expect(outcome.ok).toBe(false);
    expect(readFileSync(join(bench.root, 'moved/a.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(bench.root, '../elsewhere/a.txt'), 'utf8')).toBe('one\n');
    // The temporary file went away with the folder it was in.
    rmSync(join(bench.root, 'moved'), { recursive: true });
  });

  test('a hard link is broken: the other name keeps the old content', async () => {
    const path = bench.put('a.txt', 'one\n');
    const other = join(bench.root, '../other.txt');
    linkSync(path, other);
    must(await bench.port.read(path));
    must(await edit(path, 'one', '1'));
    expect([readFileSync(path, 'utf8'), readFileSync(other, 'utf8')]).toEqual(['1\n', 'one\n']);
  });

  test('a read-only file, a folder in the way, a file as folder, a vanished file: clear errors, nothing changed', async () => {
    const path = bench.put('a.txt', 'one\n');
    chmodSync(path, 0o444);
    must(await bench.port.read(path));
    expect(messageOf(await edit(path, 'one', '1'))).toMatch(/is read-only.*chmod u\+w/);
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect(messageOf(await bench.port.write(bench.root, 'x', bench.intend))).toMatch(/is a folder/);
    expect(codeOf(await bench.port.write(join(path, 'x'), 'x', bench.intend))).toBe('not_found');
    rmSync(path);
    expect(messageOf(await edit(path, 'one', '1'))).toMatch(/was read but does not exist any more/);
    expect(codeOf(await edit(join(bench.root, 'never.txt'), 'one', '1'))).toBe('not_found');
    expect(codeOf(await bench.port.write('/dev/null', 'x', bench.intend))).toBe('not_a_file');
  });

  test('a name too long is refused with a reason', async () => {
    expect(codeOf(await bench.port.write(join(bench.root, 'n'.repeat(256)), 'x', bench.intend))).toBe('bad_path');
    const longest = join(bench.root, 'n'.repeat(255));
    must(await bench.port.write(longest, 'x', bench.intend));
    expect(readFileSync(longest, 'utf8')).toBe('x');
  });

  test('what a crash left of a temporary file is cleared away by the next write', async () => {
    const path = bench.put('a.txt', 'one\n');
    writeFileSync(tempNameFor(path), 'half');
    must(await bench.port.read(path));
    must(await edit(path, 'one', '1'));
    expect(readFileSync(path, 'utf8')).toBe('1\n');
  });

  test('when the disk takes no more, the original is intact, nothing is left behind and the message says why', () => {
    const path = bench.put('a.txt', 'one\n');
    const child = join(import.meta.dirname, '../../support/files-full-disk-child.ts');
    // A limit on the size of files fails a write halfway, as a full disk does.
    const script = `ulimit -f 64; exec "$0" "$@"`;
    const out = execFileSync('bash', ['-c', script, process.execPath, child, bench.root, path], { encoding: 'utf8' });
    expect(JSON.parse(out)).toMatchObject({ ok: false, failure: { code: 'disk_full' } });
    expect(readFileSync(path, 'utf8')).toBe('one\n');
  });
});
