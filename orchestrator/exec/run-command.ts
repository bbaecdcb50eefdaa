// Starts a command behind the shim and follows it to its end: output as it comes, time limit, cancel, output limit. What it
// needs to know of a command that an earlier process started is the same, so resume-command.ts follows with it too.

import { realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CappedOutput, CommandRequest, CommandResult, StopReason } from '../../shared/exec-port.ts';
import { killPoint } from '../../shared/kill-point.ts';
import { commandEnv, MARK, markOf } from './command-env.ts';
import { guardControl, releaseControl } from './guard-control.ts';
import { killRest, killTree, type Tree } from './kill-tree.ts';
import type { Launched, Launcher } from './launcher.ts';
import { openCgroup, type ProcessLimit, removeCgroup, shellLimits } from './limits.ts';
import { cappedOutput, OutputFollower, readStart } from './output-file.ts';
import { type Confinement, type Sandbox, viewOf } from './sandbox.ts';
import { type ShimStart, shimState, startShim, writeExit } from './shim.ts';
import { warming } from './warm-sandbox.ts';

/** What of the world a command is started with. */
export interface Place {
  readonly root: string;
  readonly home: string;
  /** The user's name and address for git, for a sandbox. */
  readonly gitConfig: string | null;
  /** Folders of Odin itself that no command sees. */
  readonly hidden: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandbox: Sandbox | null;
  readonly limit: ProcessLimit;
  readonly maxProcesses: number;
  /** Null where there is none. */
  readonly launcher: Launcher | null;
}

export interface Started {
  readonly tree: Tree;
  /** Resolves when the shim is gone; never rejects. */
  readonly gone: Promise<void>;
  /** Takes back the cgroup of a command that has ended by itself. */
  giveBack?(cgroup: string): void;
}

const FOLLOW_MS = 100;
/** A command that writes more than this is stopped: the disk is not its own. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
export const MAX_CWD_BYTES = 4_096;

/** Starts the command in the shim's folder `dir`. Throws when there is no shell or no such cwd. */
export async function startCommand(
  place: Place,
  dir: string,
  request: CommandRequest,
  withOwner: boolean,
): Promise<Started> {
  const { root, home, sandbox, limit, maxProcesses: max, launcher } = place;
  const { cwd, profile, timeoutMs } = request;
  const mark = markOf(dir);
  const env = commandEnv({ ...place.env, HOME: home }, profile, mark);
  const limits = shellLimits(limit, { confined: sandbox !== null, timeoutMs, max });
  // Before the sandbox looks at what is there.
  if (profile === 'read-write' || sandbox === null) {
    guardControl(root, dir, { confined: sandbox !== null, background: withOwner });
  }
  const shell = ['/bin/bash', '--norc', '--noprofile', '-c', `${limits}${reporting(request.command)}`];
  const argv = sandbox?.(shell, confinementOf(place, request, env)) ?? shell;
  const confined = sandbox !== null;
  const order = { dir, argv, cwd, env, withOwner };
  try {
    // Its command's environment the sandbox is told by word; of bubblewrap itself only the mark is needed.
    const inside = { view: viewOf(argv), argv: shell, env };
    const launched = await launcher?.start(confined ? { ...order, env: { [MARK]: mark }, inside } : order);
    const started =
      launcher && launched ? launchedBy(launcher, launched, mark, confined) : await startHere(order, place, mark);
    killPoint('command:started');
    return started;
  } catch (error) {
    releaseControl(dir);
    throw error;
  }
}

function confinementOf(place: Place, request: Seen, env: Readonly<Record<string, string>>): Confinement {
  const { root, home, gitConfig, hidden } = place;
  const { cwd, profile, network, extraPaths } = request;
  return { root, cwd, profile, network, extraPaths, hidden, home, gitConfig, env };
}

type Seen = Pick<CommandRequest, 'cwd' | 'profile' | 'network' | 'extraPaths'>;

/** The sandbox of the next command is made ahead, for one that sees what this one saw. `folder` is that of all commands. */
export async function warmNext(place: Place, folder: string, request: CommandRequest): Promise<void> {
  const { launcher, sandbox, root } = place;
  const { profile, network, extraPaths } = request;
  // What was allowed once may be for once.
  if (launcher === null || sandbox === null || network || extraPaths.length > 0) return;
  const like: Seen = { cwd: root, profile, network, extraPaths };
  const view = () => viewOf(sandbox([], confinementOf(place, like, {})));
  await launcher.warm(() => warming({ root, folder, profile, view }));
}

const launchedBy = (launcher: Launcher, { pid, cgroup, gone }: Launched, mark: string, confined: boolean): Started => ({
  tree: { group: pid, mark, cgroup, joined: true, confined },
  gone,
  giveBack: launcher.giveBack,
});

/** As a child of this process. */
async function startHere(order: ShimStart, { limit, maxProcesses, sandbox }: Place, mark: string): Promise<Started> {
  const cgroup = openCgroup(limit, mark, maxProcesses);
  const child = startShim({ ...order, cgroup });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  }).catch((error: unknown) => {
    if (cgroup !== null) removeCgroup(cgroup);
    throw error;
  });
  return { tree: { group: child.pid as number, mark, cgroup, joined: false, confined: sandbox !== null }, gone };
}

/** The shell tells at its end where it is. A trap keeps the exit code; the folder is told to nobody but Odin (fd 9). */
const reporting = (command: string): string => `trap 'pwd -P >&9 2>/dev/null' EXIT\n${command}`;

export interface Follow {
  readonly signal: AbortSignal;
  onOutput(chunk: string): void;
  /** Milliseconds from now; null: no limit. */
  readonly timeoutMs: number | null;
  /** Why an abort of the signal stops it. */
  abortReason(): StopReason;
}

/** Waits for the end, whatever brings it about, and makes sure that nothing is left running. */
export async function followCommand(dir: string, started: Started, follow: Follow): Promise<StopReason | null> {
  const output = new OutputFollower(join(dir, 'out'));
  let stopped: StopReason | null = null;
  let killed: Promise<void> | undefined;
  const stop = (reason: StopReason) => {
    if (killed) return;
    stopped = reason;
    noteStop(dir, reason);
    killed = killTree(started.tree);
  };
  const onAbort = () => stop(follow.abortReason());
  const look = () => {
    const { text, bytes } = output.next();
    if (text !== '') follow.onOutput(text);
    if (bytes > MAX_OUTPUT_BYTES) stop('flood');
  };
  const timer =
    follow.timeoutMs === null ? undefined : setTimeout(() => stop('timeout'), Math.max(0, follow.timeoutMs));
  const ticker = setInterval(look, FOLLOW_MS);
  follow.signal.addEventListener('abort', onAbort, { once: true });
  if (follow.signal.aborted) onAbort();
  try {
    await started.gone;
    await killed;
  } finally {
    clearTimeout(timer);
    clearInterval(ticker);
    follow.signal.removeEventListener('abort', onAbort);
  }
  // Our shim gave way to another process's: what runs is that one's, by the same mark.
  if (stopped === null && shimState(dir).kind === 'running') return null;
  killRest(started.tree);
  releaseControl(dir);
  const { cgroup } = started.tree;
  // One that was stopped may be frozen.
  if (cgroup !== null && stopped === null && started.giveBack) started.giveBack(cgroup);
  else if (cgroup !== null) removeCgroup(cgroup);
  if (stopped !== null) writeExit(dir, 137);
  look();
  return stopped;
}

/** The result of a command that has ended; null when its shim died and its end is not known. */
export function commandResult(
  dir: string,
  id: string,
  request: Pick<CommandRequest, 'cwd'>,
  root: string,
  stopped: StopReason | null,
  durationMs: number,
): CommandResult | null {
  const state = shimState(dir);
  if (state.kind !== 'exited') return null;
  const outputPath = join(dir, 'out');
  const output: CappedOutput = cappedOutput(outputPath);
  const { cwdAfter, leftProject } = cwdOf(dir, request.cwd, root);
  return { id, exitCode: state.exitCode, stopped, output, outputPath, cwdAfter, leftProject, durationMs };
}

/** Only a folder that is really there and inside the project is where the next command starts. */
function cwdOf(dir: string, before: string, root: string): { cwdAfter: string; leftProject: string | null } {
  const told = readStart(join(dir, 'cwd'), MAX_CWD_BYTES);
  const end = told.indexOf('\n');
  if (end < 1 || !told.startsWith('/')) return { cwdAfter: before, leftProject: null };
  const folder = told.slice(0, end);
  try {
    const real = realpathSync(folder);
    if (!statSync(real).isDirectory()) return { cwdAfter: before, leftProject: null };
    if (real === root || real.startsWith(root === '/' ? '/' : `${root}/`)) return { cwdAfter: real, leftProject: null };
    return { cwdAfter: before, leftProject: real };
  } catch {
    return { cwdAfter: before, leftProject: folder };
  }
}

/** For the process that comes after a crash: it was ended on purpose, and why. */
function noteStop(dir: string, reason: StopReason): void {
  writeFileSync(join(dir, 'stopped'), reason, { mode: 0o600 });
}

const REASONS: ReadonlySet<string> = new Set<StopReason>(['timeout', 'cancelled', 'flood', 'closed']);

export function stopReasonOf(dir: string): StopReason | null {
  const text = readStart(join(dir, 'stopped'), 32);
  return REASONS.has(text) ? (text as StopReason) : null;
}
