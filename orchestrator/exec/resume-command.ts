// A command whose intent is in the journal without a result (DURABILITY 7): learn how it ended, wait for it, or prove that it
// never ran and run it now. What it cannot know it says.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandResult, StopReason } from '../../shared/exec-port.ts';
import { isAlive } from '../process-identity.ts';
import { markOf } from './command-env.ts';
import { bootId, type CommandIntent } from './command-intent.ts';
import { releaseControl } from './guard-control.ts';
import { cgroupOf } from './limits.ts';
import { commandResult, followCommand, type Place, type Started, startCommand, stopReasonOf } from './run-command.ts';
import { attemptFolder, claimNever, type ShimState, shimState } from './shim.ts';

type How = 'before' | 'attached' | 'ran now';

export type Resumed =
  | { readonly kind: 'ended'; readonly how: How; readonly result: CommandResult }
  /** It did not run, and is not started now: a background command, or one that was to run in a sandbox that is gone. */
  | { readonly kind: 'never ran' }
  | { readonly kind: 'unknown' };

const POLL_MS = 25;
/** How long a shim that has taken its place may need to write down who it is. */
const SETTLE_MS = 500;
/** Each is a crash between claiming one folder and starting in the next. */
const MAX_ATTEMPTS = 20;

/** `place.sandbox` is that of now; a command that was allowed for a sandbox never runs without one. */
export async function resumeCommand(
  place: Place,
  id: string,
  intent: CommandIntent,
  { signal, reason }: { readonly signal: AbortSignal; readonly reason: () => StopReason },
): Promise<Resumed> {
  const { request, background, sandboxed } = intent;
  const ended = (how: How, dir: string): Resumed => {
    const result = commandResult(dir, id, request, place.root, stopReasonOf(dir), ranMs(dir));
    return result === null ? { kind: 'unknown' } : { kind: 'ended', how, result };
  };
  const follow = (dir: string, started: Started, timeoutMs: number | null) =>
    followCommand(dir, started, { signal, timeoutMs, onOutput: () => {}, abortReason: reason });

  for (let attempt = 0; attempt < MAX_ATTEMPTS; ) {
    const dir = attemptFolder(intent.dir, attempt);
    const state = await settledState(dir);
    if (state.kind !== 'running') releaseControl(dir);
    if (state.kind === 'exited') return ended('before', dir);
    if (state.kind === 'lost') return { kind: 'unknown' };
    if (state.kind === 'running') {
      const mark = markOf(dir);
      const cgroup = cgroupOf(place.limit, state.shim.pid);
      const tree = { group: state.shim.pid, mark, cgroup, joined: cgroup !== null, confined: sandboxed };
      const left = request.timeoutMs === null ? null : request.timeoutMs - (Date.now() - state.startedAt);
      await follow(dir, { tree, gone: whenGone(() => isAlive(state.shim)) }, left);
      return ended('attached', dir);
    }
    if (state.kind === 'absent') {
      // What was written right before a reboot may be lost, so its absence proves nothing.
      if (intent.boot !== bootId()) return { kind: 'unknown' };
      claimNever(dir);
      continue;
    }
    if (background || sandboxed !== (place.sandbox !== null) || signal.aborted) return { kind: 'never ran' };
    const next = attemptFolder(intent.dir, ++attempt);
    if (shimState(next).kind !== 'absent') continue;
    await follow(next, await startCommand(place, next, request, false), request.timeoutMs);
    // Running still: another process was faster, and this one's shim gave way.
    if (shimState(next).kind !== 'running') return ended('ran now', next);
  }
  return { kind: 'unknown' };
}

/** A shim that has just taken its place has not yet written who it is, and looks lost. */
async function settledState(dir: string): Promise<ShimState> {
  let state = shimState(dir);
  for (let waited = 0; state.kind === 'lost' && waited < SETTLE_MS; waited += POLL_MS) {
    await delay(POLL_MS);
    state = shimState(dir);
  }
  return state;
}

/** From its start to its end, as the folder's files tell it. */
function ranMs(dir: string): number {
  const [start, end] = ['started', 'exit'].map((name) => statSync(join(dir, name), { throwIfNoEntry: false })?.mtimeMs);
  return start === undefined || end === undefined ? 0 : Math.max(0, Math.round(end - start));
}

async function whenGone(runs: () => boolean): Promise<void> {
  while (runs()) await delay(POLL_MS);
}
