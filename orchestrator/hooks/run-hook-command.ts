// Runs one shell command of a hook: JSON on stdin, bounded output, a clean environment, and nothing of it left over afterwards. It runs
// outside of the sandbox, because it is the user's own. What its output means is hook-answer.ts's.

import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { ulid } from '../../shared/ids.ts';
import { commandEnv, MARK } from '../exec/command-env.ts';
import { killRest, killTree, type Tree } from '../exec/kill-tree.ts';

export interface HookCommand {
  readonly command: string;
  readonly cwd: string;
  /** Of this process: a few names are taken over. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Set besides them. */
  readonly more: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly signal: AbortSignal;
}

export interface HookRun {
  /** As a shell counts; null when it could not be started, and `stderr` says why. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** More came than is kept. */
  readonly cut: boolean;
}

/** For what a program says to Odin; a result's note and a reason are far below. */
const MAX_BYTES = 1024 * 1024;

const PIPES_MS = 500;

/** A watcher in the command's group ends the group when Odin is gone: its pipe (fd 3) closes then, however Odin ends. */
const SCRIPT = `{ read -r never <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
exec 3<&- /bin/bash --norc --noprofile -c "$1"`;

/** Resolves when the command and everything it started is over; never rejects. */
export async function runHookCommand(run: HookCommand): Promise<HookRun> {
  const mark = ulid();
  const env = { ...commandEnv(run.env, 'read-write', mark), ...run.more, [MARK]: mark };
  const child = spawn('/bin/bash', ['--norc', '--noprofile', '-c', SCRIPT, 'odin-hook', run.command], {
    cwd: run.cwd,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const ended = Promise.withResolvers<number | null>();
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  let failure = '';
  let killed: Promise<void> | undefined;
  child.once('error', (error: NodeJS.ErrnoException) => {
    failure = `bash could not be started in ${run.cwd} (${error.code})`;
    ended.resolve(null);
  });
  child.once('exit', (code, signal) => ended.resolve(code ?? (signal === 'SIGKILL' ? 137 : 143)));
  const tree: Tree | null =
    child.pid === undefined ? null : { group: child.pid, mark, cgroup: null, joined: false, confined: false };
  const kill = () => {
    if (tree) killed ??= killTree(tree);
  };
  run.signal.addEventListener('abort', kill, { once: true });
  if (run.signal.aborted) kill();
  // A command that does not read its input is no error.
  child.stdin.on('error', () => {});
  child.stdin.end(run.stdin);
  const exitCode = await ended.promise;
  run.signal.removeEventListener('abort', kill);
  await killed;
  if (!tree) return { exitCode: null, stdout: '', stderr: failure, cut: false };
  killRest(tree);
  // Who cannot be found may hold the pipes open for ever.
  const timer = setTimeout(() => [child.stdout, child.stderr].forEach((pipe) => pipe.destroy()), PIPES_MS);
  await closed;
  clearTimeout(timer);
  return { exitCode, stdout: stdout.text(), stderr: stderr.text(), cut: stdout.isCut() || stderr.isCut() };
}

function collect(pipe: Readable): { text(): string; isCut(): boolean } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  pipe.on('error', () => {});
  pipe.on('data', (chunk: Buffer) => {
    if (bytes < MAX_BYTES) chunks.push(chunk.subarray(0, MAX_BYTES - bytes));
    bytes += chunk.byteLength;
  });
  return { text: () => Buffer.concat(chunks).toString('utf8'), isCut: () => bytes > MAX_BYTES };
}
