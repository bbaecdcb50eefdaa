import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { makeFolders } from '../../orchestrator/make-folders.ts';

const folder = mkdtempSync(join(tmpdir(), 'odin-folders-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('all that is missing is made, with its mode, and the first of it is told', () => {
  expect(makeFolders(join(folder, 'a', 'b', 'c'), 0o700)).toBe(join(folder, 'a'));
  expect(statSync(join(folder, 'a', 'b', 'c')).mode & 0o777).toBe(0o700);
  expect(makeFolders(join(folder, 'a', 'b', 'c'))).toBeUndefined();
  expect(makeFolders(join(folder, 'a', 'd'))).toBe(join(folder, 'a', 'd'));
});

test('where no folder can be made it ends with what the system says: below /proc, a file, a link that leads nowhere', () => {
  writeFileSync(join(folder, 'file'), '');
  symlinkSync('nowhere/at/all', join(folder, 'link'));
  expect(() => makeFolders(join(folder, 'file', 'x'))).toThrow(/ENOTDIR/);
  expect(() => makeFolders(join(folder, 'link', 'x'))).toThrow(/ENOENT/);
  if (process.platform === 'linux') expect(() => makeFolders('/proc/odin-test/x')).toThrow(/ENOENT/);
});
