// The exec shim (DURABILITY 7): a small program between Odin and a command that makes its start exclusive and its result
// durable, whatever dies. This file owns the script and the folder it writes; what a folder means after a crash is
// resume-command.ts's to say.
//
// It also puts itself, and so the command, where the command's limits hold (limits.ts).
//
// In the folder: `started` (O_EXCL, identity of the shim), `out` (all output), `cwd` (where the shell ended), `exit` (a line
// with the exit code; without its newline it does not count). Exits 97 when `started` exists.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';

/** A node program would cost 40 ms a start, this one costs 2. The traps keep it alive when its group is told to end. */
const SCRIPT = `
dir=$1 keep=$2 cgroup=$3
shift 3
begin=
if [ -r /proc/$$/stat ]; then
  read -r p c s a b d e f g h i j k l m n o q r t u begin rest </proc/$$/stat
  read -r boot </proc/sys/kernel/random/boot_id
  begin=$begin@\${boot%%-*}
elif [ "$(uname)" != Linux ]; then
  begin=$(ps -o lstart= -p $$)
fi
set -C
{ echo "$$ $begin" >"$dir/started"; } 2>/dev/null || exit 97
set +C
trap : TERM INT HUP
{ echo 800 >/proc/self/oom_score_adj; } 2>/dev/null
if [ -n "$cgroup" ]; then { echo "$$" >"$cgroup/cgroup.procs"; } 2>/dev/null; fi
if [ "$keep" = with-owner ]; then
  { trap : TERM INT HUP; read -r never <&3; kill -TERM 0; sleep 1; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
fi
"$@" </dev/null >"$dir/out" 2>&1 3<&- 9>"$dir/cwd"
code=$?
echo "$code" >"$dir/exit"
if [ "$keep" = with-owner ]; then kill -KILL 0; fi
`;

export interface ShimStart {
  readonly dir: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The command and its group die when this process does. */
  readonly withOwner: boolean;
  /** Joined before the command begins. */
  readonly cgroup?: string | null;
}

/** Starts the shim in a process group of its own, which outlives this process unless `withOwner`. */
export function startShim({ dir, argv, cwd, env, withOwner, cgroup }: ShimStart): ChildProcess {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keep = withOwner ? 'with-owner' : 'alone';
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'odin-exec', dir, keep, cgroup ?? '', ...argv], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', withOwner ? 'pipe' : 'ignore'],
  });
  child.unref();
  return child;
}

export type ShimState =
  /** Nobody has started it. */
  | { readonly kind: 'absent' }
  /** `claimNever` won: it never ran here and never will. */
  | { readonly kind: 'never' }
  | { readonly kind: 'running'; readonly shim: ProcessIdentity; readonly startedAt: number }
  | { readonly kind: 'exited'; readonly exitCode: number }
  /** The shim died in the middle. */
  | { readonly kind: 'lost' };

const NEVER = 'never';

/** Where a command runs whose first `attempt` starts are proven never to have happened. */
export const attemptFolder = (dir: string, attempt: number): string => (attempt === 0 ? dir : `${dir}.${attempt}`);

/** What the folder says now. */
export function shimState(dir: string): ShimState {
  // In this order: a shim that ends in between has written its exit by the time it is found dead.
  const started = readOr(join(dir, 'started'));
  if (started === null) return { kind: 'absent' };
  if (started.trim() === NEVER) return { kind: 'never' };
  const [pid, ...rest] = started.trim().split(' ');
  const shim = { pid: Number(pid), startTime: rest.join(' ') };
  const alive = shim.pid > 0 && isAlive(shim);
  const exit = readOr(join(dir, 'exit'));
  if (exit?.endsWith('\n')) return { kind: 'exited', exitCode: Number(exit) };
  if (!alive) return { kind: 'lost' };
  return { kind: 'running', shim, startedAt: statSync(join(dir, 'started')).mtimeMs };
}

/** Takes the shim's place. True proves that the command never ran in this folder and never will. */
export function claimNever(dir: string): boolean {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  try {
    const fd = openSync(join(dir, 'started'), 'wx', 0o600);
    writeSync(fd, `${NEVER}\n`);
    closeSync(fd);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** For a shim that was killed with its command: the exit code it would have written. */
export function writeExit(dir: string, exitCode: number): void {
  if (!readOr(join(dir, 'exit'))?.endsWith('\n')) writeFileSync(join(dir, 'exit'), `${exitCode}\n`, { mode: 0o600 });
}

function readOr(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
