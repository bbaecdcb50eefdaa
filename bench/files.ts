// bench files: the file cache, edits, Grep and Glob, each beside its floor in the same run: fs.promises.readFile of the same
// 8 KB file, a bare temp + fsync + rename of the same bytes, raw ripgrep on the same tree of 50,000 files. Measured in turns.
// The tree is like a large repository's: 10 to 15 files a folder, 3 to 6 folders deep.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBlobs } from '../orchestrator/blobs.ts';
import { createFiles, type Files } from '../orchestrator/files/files.ts';
import { openHeavyPool } from '../orchestrator/pool.ts';
import { openSearch } from '../orchestrator/search.ts';
import type { Outcome } from '../shared/outcome.ts';
import { atMost, type BenchReport, median, report } from './report.ts';

const FILES = 50_000;
const FILE_BYTES = 8 * 1024;
/** Calls of one kind in a row, so that a round is long beside the clock's grain. */
const READS = 400;
const EDITS = 25;
const RANGE = { start: 20, end: 60 };

type Action = () => Promise<unknown>;

export async function benchFiles(options: { readonly rounds: number }): Promise<BenchReport> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-bench-files-')));
  const pool = openHeavyPool();
  try {
    const { cache, edit } = await benchCache(folder, options.rounds);
    const { grep, glob } = await benchSearch(folder, options.rounds, openSearch(pool));
    const figures = [...cache, edit, grep, glob];
    const ratio = (name: string): number | null => {
      const figure = figures.find((one) => one.name === name);
      return figure && figure.odin !== null && figure.floor ? figure.odin / figure.floor : null;
    };
    return report('files', figures, [
      atMost('a cache hit beside fs.promises.readFile', ratio('cache hit, 8 KB'), 0.25, 'x'),
      atMost('an edit beside temp + fsync + rename', ratio('edit, 8 KB'), 2, 'x'),
      atMost('Grep of the whole tree beside rg', ratio('Grep, 50,000 files'), 1.3, 'x'),
      atMost('Glob of the whole tree beside rg --files', ratio('Glob, 50,000 files'), 1.3, 'x'),
    ]);
  } finally {
    await pool.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchCache(folder: string, rounds: number) {
  const root = join(folder, 'project');
  mkdirSync(root);
  const path = join(root, 'file.ts');
  const line = 'const something = await another(thing, 42);\n';
  const text = `value: 0;\n${line.repeat(FILE_BYTES)}`.slice(0, FILE_BYTES);
  writeFileSync(path, text);
  const files = createFiles({ root, blobs: openBlobs(join(folder, 'home')) });
  const port = files.portFor();
  const readFloor: Action = () => readFile(path);
  const hit: Action = async () => must(await port.read(path));
  const miss: Action = async () => {
    files.cache.drop(path);
    must(await port.read(path));
  };
  await hit();
  const hits = await inTurns(rounds, READS, hit, readFloor);
  const misses = await inTurns(rounds, READS, miss, readFloor);
  files.cache.drop(path);
  must(await port.read(path, RANGE));
  const segments = await inTurns(rounds, READS, async () => must(await port.read(path, RANGE)), readFloor);

  const edits = await benchEdits(folder, root, text, files, rounds);
  const unit = 'µs';
  return {
    cache: [
      { name: 'cache hit, 8 KB', unit, ...hits },
      { name: 'segment hit, 41 lines', unit, ...segments },
      { name: 'cache miss, 8 KB', unit, ...misses },
    ],
    edit: { name: 'edit, 8 KB', unit, ...edits },
  };
}

/**
 * As many files in turn as there are calls: a file that changed a moment ago is read twice, and agents do not edit one file a
 * thousand times a second.
 */
async function benchEdits(folder: string, root: string, text: string, files: Files, rounds: number) {
  const port = files.portFor();
  const paths = Array.from({ length: EDITS }, (_, i) => join(root, `edited${i}.ts`));
  for (const path of paths) {
    writeFileSync(path, `${path}\n${text}`);
    must(await port.read(path));
  }
  let [n, m] = [0, 0];
  const odin: Action = async () => {
    const round = Math.floor(n / EDITS);
    const edit = { oldText: `value: ${round};`, newText: `value: ${round + 1};`, replaceAll: false };
    must(await port.edit(paths[n++ % EDITS] as string, [edit], async () => {}));
    // The folder's sync runs beside; what is left of it after the last edit of a round counts too.
    if (n % EDITS === 0) await files.syncs.underWay();
  };
  const floor: Action = () => replaceBare(join(folder, `floor${m++ % EDITS}.ts`), text);
  return inTurns(rounds, EDITS, odin, floor);
}

async function replaceBare(path: string, text: string): Promise<void> {
  const temp = `${path}.tmp`;
  const file = await open(temp, 'wx');
  await file.writeFile(text);
  await file.sync();
  await file.close();
  await rename(temp, path);
}

async function benchSearch(folder: string, rounds: number, search: ReturnType<typeof openSearch>) {
  const tree = join(folder, 'tree');
  makeTree(tree);
  const { rgPath } = await import('@vscode/ripgrep');
  const { signal } = new AbortController();
  const grep: Action = async () =>
    must(await search.grep({ pattern: 'needle\\d+', path: tree, output: 'content', limit: 1_000 }, signal));
  const glob: Action = async () => must(await search.glob({ pattern: '**/*', path: tree, limit: 100 }, signal));
  const greps = await inTurns(rounds, 1, grep, () => raw(rgPath, ['-n', 'needle\\d+', '.'], tree));
  const globs = await inTurns(rounds, 1, glob, () => raw(rgPath, ['--files', '.'], tree));
  const milliseconds = ({ odin, floor }: { odin: number | null; floor: number | null }) => ({
    odin: odin === null ? null : odin / 1_000,
    floor: floor === null ? null : floor / 1_000,
  });
  return {
    grep: { name: 'Grep, 50,000 files', unit: 'ms', ...milliseconds(greps) },
    glob: { name: 'Glob, 50,000 files', unit: 'ms', ...milliseconds(globs) },
  };
}

/** One file in 250 holds a match. */
function makeTree(tree: string): void {
  const filler = 'export const value = compute(first, second);\n'.repeat(12);
  for (let module = 0, made = 0; made < FILES; module++) {
    const parts = Array.from({ length: 1 + (module % 4) }, (_, depth) => `part${Math.floor(module / 7 ** depth) % 7}`);
    const folder = join(tree, `area${module % 8}`, ...parts, `module${module}`);
    mkdirSync(folder, { recursive: true });
    const end = Math.min(FILES, made + 10 + (module % 6));
    for (; made < end; made++) {
      writeFileSync(join(folder, `file${made}.ts`), made % 250 === 0 ? `${filler}needle${made}\n` : filler);
    }
  }
}

/** Runs a program and reads its output to the end, as anybody who wants it must. */
function raw(program: string, args: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.resume();
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}`))));
  });
}

/** Both in alternating rounds, so that a busy machine slows both; medians in microseconds a call. The first round warms up. */
async function inTurns(rounds: number, calls: number, odin: Action, floor: Action) {
  const times: { odin: number[]; floor: number[] } = { odin: [], floor: [] };
  for (let round = 0; round <= rounds; round++) {
    const [a, b] = [await timed(calls, floor), await timed(calls, odin)];
    if (round === 0) continue;
    times.floor.push(a);
    times.odin.push(b);
  }
  return { odin: median(times.odin), floor: median(times.floor) };
}

async function timed(calls: number, action: Action): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < calls; i++) await action();
  return ((performance.now() - start) * 1_000) / calls;
}

function must(outcome: Outcome<unknown>): void {
  if (!outcome.ok) throw new Error(`${outcome.failure.code}: ${outcome.failure.message}`);
}
