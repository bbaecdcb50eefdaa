import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readAgentFiles } from '../../../orchestrator/agents/agent-files.ts';

test('O19, SAFETY T2: what a repository has in the place of an agent is read when it is a file, and told and left out otherwise', () => {
  const base = mkdtempSync(join(tmpdir(), 'odin-agent-files-'));
  const [root, home] = [join(base, 'project'), join(base, 'home')];
  const folder = join(root, '.odin', 'agents');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tester.md'), '---\ndescription: tests\nmodel: a/b\n---\nYou test.\n');
  writeFileSync(join(folder, 'long.md'), '-'.repeat(40_000));
  writeFileSync(join(folder, 'plain.md'), 'You are everything.\n');
  mkdirSync(join(folder, 'folder.md'));
  symlinkSync('/dev/zero', join(folder, 'endless.md'));
  const told: string[] = [];
  const found = readAgentFiles({ root, home, trusted: false }, (line) => told.push(line));
  expect(found).toMatchObject([{ name: 'tester', description: 'tests', model: null, isTrusted: false }]);
  const why = (name: string) => told.find((line) => line.startsWith(join(folder, `${name}.md`)));
  expect(why('endless')).toContain('is left out: it is no file');
  expect(why('folder')).toContain('is left out: it is no file');
  expect(why('long')).toContain('may have 32768 bytes');
  expect(why('plain')).toContain('front matter');
  expect(told).toHaveLength(4);
  rmSync(base, { recursive: true });
});
