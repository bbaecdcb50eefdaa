// Commands that decide() calls reads, run for real as edit mode does without a sandbox, in a small repository that holds what
// they name: nothing in it may change, and nothing in the home, but for what a program's manager keeps when it is asked for a
// version. A program that this machine lacks is named and skipped.

import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sha256 } from '../../../shared/ids.ts';
import { decide } from '../../../tools/safety/decide.ts';
import { decisionsByMode } from '../../../tools/safety/modes.ts';
import { type ExecBench, openExecBench, UNCONFINED } from '../../support/exec-bench.ts';
import { allCases, type Case } from './cases.ts';

let bench: ExecBench;
let userHome: string;
beforeEach(() => {
  userHome = realpathSync(mkdtempSync(join(tmpdir(), 'odin-read-home-')));
  bench = openExecBench(UNCONFINED, userHome);
});
afterEach(async () => {
  await bench.close();
  rmSync(userHome, { recursive: true, force: true });
});

const FILES = [
  ...['src/index.ts', 'src/a.ts', 'src/b.ts', 'src/a', 'src/math.ts', 'src/menu.ts', 'src/env.ts', 'test/a.test.ts'],
  ...['package.json', 'tsconfig.json', 'odinconfig.json', 'README.md', 'ODIN.md', 'docs/readme.md', 'data/list.txt'],
  ...['names.txt', 'a', 'a.txt', 'b.txt', 'file1.txt', 'file2.txt', 'logo.png', 'id_rsa.pub', '~/x'],
  ...['.env', '.env.example', '.env.sample', '.env.template', 'packages/core/index.ts', 'node_modules/x/index.js'],
];

/** Three commits, so that HEAD~2 is there, and a change and a new file that are not committed. */
function makeProject(): void {
  for (const name of FILES) bench.put(name, name.endsWith('.json') ? '{"scripts": {}}\n' : 'foo a|b TODO x\ncafé\n');
  for (let n = 0; n < 3; n++) {
    bench.put('src/a.ts', `export const n = ${n};\n`);
    git('add', '-A');
    git('commit', '-q', '-m', `foo ${n}`);
  }
  git('tag', 'v1');
  bench.put('src/a.ts', 'changed\n');
  bench.put('new.txt', 'new\n');
}

function git(...args: readonly string[]): void {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.test', '-c', 'init.defaultBranch=main'];
  const env = { PATH: process.env['PATH'], HOME: userHome, GIT_CONFIG_NOSYSTEM: '1' };
  execFileSync('git', [...who, ...args], { cwd: bench.root, env, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Kind, mode, times, size and content of all that is below; a folder's own times tell of what came and went. */
function treeHash(folder: string): ReadonlyMap<string, string> {
  const names = ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()];
  return new Map(
    names.map((name) => {
      const path = join(folder, name);
      const { mode, size, mtimeNs, ctimeNs, ino } = lstatSync(path, { bigint: true });
      const stat = lstatSync(path);
      const content = stat.isSymbolicLink() ? readlinkSync(path) : stat.isFile() ? sha256(readFileSync(path)) : '';
      return [name, [mode, size, mtimeNs, ctimeNs, ino, content].join(' ')];
    }),
  );
}

const VERSION_QUERY = /^\S+ (--version|--help|-v|-V)$/;

const changes = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));

/** The tables speak of /project and its links. */
const here = (path: string): string => path.replaceAll('/project', bench.root);

async function runCase(one: Case) {
  const links = Object.entries(one.links).filter(([link]) => link.startsWith('/project/'));
  for (const [link, target] of links) symlinkSync(here(target), here(link));
  const before = [treeHash(bench.root), treeHash(userHome)] as const;
  const result = await bench.run(here(one.command), { cwd: here(one.facts.cwd), timeoutMs: 5_000 });
  const changed = changes(before[0], treeHash(bench.root));
  const inHome = changes(before[1], treeHash(userHome));
  for (const [link] of links) rmSync(here(link));
  const { head, tail } = result.output;
  return {
    changed,
    inHome,
    stopped: result.stopped,
    exitCode: result.exitCode,
    absent: [...`${head}${tail}`.matchAll(/(\S+): command not found/g)].map(([, program = '']) => program),
  };
}

test('SAFETY 2.2: no command of the tables that is classed as a read changes a file when it runs without a sandbox', async () => {
  git('init', '-q');
  makeProject();
  const reads = allCases().filter(({ command, facts }) => decide(command, facts).class === 'allow-readonly');
  const wrong: object[] = [];
  const absent = new Map<string, string[]>();
  let succeeded = 0;
  for (const one of reads) {
    const decision = decide(one.command, one.facts);
    const { edit } = decisionsByMode(decision, { sandbox: false, canAsk: false });
    const ran = await runCase(one);
    const harmless = ran.changed.length === 0 && (ran.inHome.length === 0 || VERSION_QUERY.test(one.command));
    if (edit !== 'run' || !harmless || ran.stopped) wrong.push({ id: one.id, edit, ...ran });
    if (ran.inHome.length > 0) process.stderr.write(`${one.command} made in the home: ${ran.inHome.join(', ')}\n`);
    for (const program of ran.absent) absent.set(program, [...(absent.get(program) ?? []), one.id]);
    if (ran.exitCode === 0) succeeded += 1;
  }
  const skipped = [...absent].map(([program, ids]) => `${program} (${ids.join(', ')})`).join(', ');
  process.stderr.write(
    `${reads.length} reads, ${succeeded} of them with exit code 0; programs that are not here: ${skipped || 'none'}\n`,
  );
  expect(wrong).toEqual([]);
  expect(reads.length).toBeGreaterThan(100);
  expect(succeeded).toBeGreaterThan(reads.length / 2);
});
