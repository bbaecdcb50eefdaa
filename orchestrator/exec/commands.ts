// The commands of all sessions of this process: where their folders are, in which folder the next one starts, which run in the
// background. Running one is run-command.ts's, confining it sandbox.ts's, what a crash left behind resume-command.ts's.

import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type {
  BackgroundCommand,
  CommandHooks,
  CommandRequest,
  CommandResult,
  ExecPort,
  OutputPiece,
} from '../../shared/exec-port.ts';
import { cancelled, fail, type Outcome, ok } from '../../shared/outcome.ts';
import { type CommandIntent, commandIntent } from './command-intent.ts';
import { controlPlaces, realOr } from './control-places.ts';
import { gitIdentityFile } from './git-identity.ts';
import { releaseLeft } from './guard-control.ts';
import { type Launcher, openLauncher } from './launcher.ts';
import { findProcessLimit, MAX_PROCESSES } from './limits.ts';
import { outputPiece, readStart } from './output-file.ts';
import { type Resumed, resumeCommand } from './resume-command.ts';
import { commandResult, followCommand, MAX_CWD_BYTES, type Place, startCommand, warmNext } from './run-command.ts';
import { findSandbox } from './sandbox.ts';
import { attemptFolder, shimState } from './shim.ts';
import { WARM } from './warm-sandbox.ts';

export interface CommandsOptions {
  /** Real path of the project's root. */
  readonly root: string;
  /** Odin's own state. */
  readonly home: string;
  /** Where its Redis is, without secrets. */
  readonly redis?: string;
  /** The user's home. */
  readonly userHome: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when Odin leaves: what runs is stopped. */
  readonly closing: AbortSignal;
  readonly find?: typeof findSandbox;
  readonly maxProcesses?: number;
}

export interface Commands {
  portFor(sid: string): ExecPort;
  /** What became of a command that a crash left without a result. Aborting the signal kills one that runs still. */
  resume(sid: string, intent: CommandIntent, signal: AbortSignal): Promise<Resumed>;
  /** Resolves when nothing runs any more; `closing` must be aborted. */
  close(): Promise<void>;
}

interface Background {
  readonly id: string;
  readonly command: string;
  readonly dir: string;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
  over: boolean;
  readAt: number;
}

const MAX_BACKGROUND = 16;
const OLD_MS = 7 * 24 * 60 * 60 * 1000;
/** Of an Odin that was killed; none waits for that long. */
const OLD_WARM_MS = 10 * 60 * 1000;
const ID = /^\d+\.\d+\.\d+$/;

export function openCommands(options: CommandsOptions): Commands {
  const { root, closing } = options;
  const home = resolve(options.home);
  const find = options.find ?? findSandbox;
  const folder = join(home, 'commands');
  const control = controlPlaces(home, options.redis ?? '');
  const ports = new Map<string, ExecPort>();
  const running = new Set<Promise<unknown>>();
  let gitConfig: string | null | undefined;
  let launcher: Launcher | null = null;

  const place = async (): Promise<Place> => {
    const limit = findProcessLimit();
    const maxProcesses = options.maxProcesses ?? MAX_PROCESSES;
    // While the sandbox is looked for, or the intent written.
    if (process.platform === 'linux' && !closing.aborted) launcher ??= openLauncher(limit, maxProcesses);
    launcher?.prepare();
    const { sandbox } = await find();
    if (gitConfig === undefined) {
      gitConfig = gitIdentityFile(options.userHome, folder);
      releaseLeft(root, folder);
      void removeOld(folder);
    }
    // Mounts go by real paths.
    return {
      root,
      home: realOr(options.userHome),
      gitConfig,
      hidden: control.paths.map(realOr),
      env: options.env,
      sandbox,
      limit,
      maxProcesses,
      launcher,
    };
  };
  const abortReason = () => (closing.aborted ? 'closed' : 'cancelled');
  const track = <T>(work: Promise<T>): Promise<T> => {
    running.add(work);
    const done = () => running.delete(work);
    work.then(done, done);
    return work;
  };

  const openPort = (sid: string): ExecPort => {
    const session = join(folder, sid);
    const background = new Map<string, Background>();

    const begin = async (request: CommandRequest, hooks: CommandHooks, isBackground: boolean) => {
      const where = await place();
      const dir = join(session, request.opKey);
      await hooks.intend(commandIntent(dir, request, { sandboxed: where.sandbox !== null, background: isBackground }));
      if (hooks.signal.aborted || closing.aborted) return cancelled();
      try {
        return ok({ dir, where, started: await startCommand(where, dir, request, isBackground) });
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        return fail('failed', 'no_start', `The command could not be started in ${request.cwd} (${code}).`);
      }
    };

    const run = async (request: CommandRequest, hooks: CommandHooks): Promise<Outcome<CommandResult>> => {
      const at = performance.now();
      const begun = await begin(request, hooks, false);
      if (!begun.ok) return begun;
      const { dir, where, started } = begun.value;
      const { timeoutMs } = request;
      const follow = { signal: hooks.signal, onOutput: hooks.onOutput, timeoutMs, abortReason };
      const stopped = await followCommand(dir, started, follow);
      if (stopped === 'cancelled' || stopped === 'closed') return cancelled();
      const result = commandResult(dir, request.opKey, request, root, stopped, Math.round(performance.now() - at));
      if (result === null) {
        return fail('failed', 'outcome_unknown', 'The command was killed from outside; how far it came is unknown.');
      }
      keepCwd(session, result.cwdAfter);
      // Once the result is on its way.
      setImmediate(() => {
        if (!closing.aborted) void track(warmNext(where, folder, request).catch(() => {}));
      });
      return ok(result);
    };

    const start = async (request: CommandRequest, hooks: CommandHooks): Promise<Outcome<BackgroundCommand>> => {
      if (list().filter((known) => known.running).length >= MAX_BACKGROUND) {
        return fail('failed', 'too_many', `${MAX_BACKGROUND} background commands run already. Stop one first.`);
      }
      const begun = await begin(request, hooks, true);
      if (!begun.ok) return begun;
      const { dir, started } = begun.value;
      const abort = new AbortController();
      const signal = AbortSignal.any([abort.signal, closing]);
      const { timeoutMs } = request;
      const follow = { signal, onOutput: () => {}, timeoutMs, abortReason };
      const ended = track(followCommand(dir, started, follow)).then(() => {
        own.over = true;
      });
      const own: Background = {
        id: request.opKey,
        command: request.command,
        dir,
        abort,
        ended,
        over: false,
        readAt: 0,
      };
      background.set(own.id, own);
      return ok(describe(own));
    };

    const list = () => [...background.values()].map(describe);

    const folderOf = (id: string): string | null => {
      if (!ID.test(id)) return null;
      let dir = join(session, id);
      for (let n = 1; existsSync(attemptFolder(join(session, id), n)); n++) dir = attemptFolder(join(session, id), n);
      return existsSync(dir) ? dir : null;
    };

    const read = async (id: string, from?: number): Promise<Outcome<OutputPiece>> => {
      const dir = folderOf(id);
      if (dir === null) return unknownCommand(id, list());
      const own = background.get(id);
      const exitCode = exitCodeOf(dir);
      const running = own ? !own.over : shimState(dir).kind === 'running';
      const piece = outputPiece(join(dir, 'out'), from ?? own?.readAt ?? 0);
      if (own && from === undefined) own.readAt = piece.next;
      return ok({ id, ...piece, running, exitCode });
    };

    const stop = async (id: string): Promise<Outcome<OutputPiece>> => {
      const own = background.get(id);
      if (!own) return unknownCommand(id, list());
      own.abort.abort();
      await own.ended;
      return read(id);
    };

    return {
      control,
      sandbox: async () => (await find()).status,
      cwd: () => keptCwd(session, root),
      run: (request, hooks) => track(run(request, hooks)),
      start,
      read,
      stop,
      list,
    };
  };

  return {
    portFor(sid) {
      const port = ports.get(sid) ?? openPort(sid);
      ports.set(sid, port);
      return port;
    },
    async resume(sid, intent, signal) {
      const stop = { signal: AbortSignal.any([signal, closing]), reason: abortReason };
      const resumed = await track(resumeCommand(await place(), intent.request.opKey, intent, stop));
      if (resumed.kind === 'ended') keepCwd(join(folder, sid), resumed.result.cwdAfter);
      return resumed;
    },
    async close() {
      await Promise.allSettled(running);
      launcher?.close();
    },
  };
}

function describe({ id, command, dir, over }: Background): BackgroundCommand {
  return { id, command, running: !over, exitCode: exitCodeOf(dir), bytes: outputPiece(join(dir, 'out'), 0).bytes };
}

function exitCodeOf(dir: string): number | null {
  const state = shimState(dir);
  return state.kind === 'exited' ? state.exitCode : null;
}

function unknownCommand(id: string, known: readonly BackgroundCommand[]) {
  const ids = known.map((command) => command.id).join(', ');
  return fail(
    'failed',
    'unknown_command',
    `There is no command ${JSON.stringify(id)} to read or stop here. In the background: ${ids || 'none'}.`,
  );
}

/** The folder survives this process, so that a resumed session goes on where it was. */
function keepCwd(session: string, cwd: string): void {
  if (readStart(join(session, 'cwd'), MAX_CWD_BYTES) === cwd) return;
  mkdirSync(session, { recursive: true, mode: 0o700 });
  writeFileSync(join(session, 'cwd'), cwd, { mode: 0o600 });
}

function keptCwd(session: string, root: string): string {
  try {
    const real = realpathSync(readFileSync(join(session, 'cwd'), 'utf8'));
    return real === root || real.startsWith(root === '/' ? '/' : `${root}/`) ? real : root;
  } catch {
    return root;
  }
}

/** Outputs are kept for reading on, not for ever. What cannot be removed stays. */
async function removeOld(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const path = join(folder, name);
    const age = Date.now() - ((await stat(path).catch(() => null))?.mtimeMs ?? Date.now());
    if (age > (name.startsWith(WARM) ? OLD_WARM_MS : OLD_MS))
      await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
