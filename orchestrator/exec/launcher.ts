// Starts commands without forking Odin, whose fork copies the page tables of all its memory (2 ms at 50 MB, 20 at 250): a small bash
// forks the shims (launcher-shell.ts). One shim is always prepared, and sits already in the cgroup of its limits, since joining one waits
// for the whole kernel (4 to 8 ms). A prepared shim knows nothing of any command, and ends with Odin, however that ends.
//
// Where this cannot start one (the launcher was killed, or hangs), shim.ts still can.

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';
import { type LauncherShell, openLauncherShell } from './launcher-shell.ts';
import { isFreeCgroup, openCgroup, type ProcessLimit, removeCgroup } from './limits.ts';
import type { ShimStart } from './shim.ts';
import type { Warm, Warming } from './warm-sandbox.ts';

export interface Launched {
  readonly pid: number;
  /** Where it is for certain. */
  readonly cgroup: string | null;
  /** Resolves when the shim has ended, or is found dead. */
  readonly gone: Promise<void>;
}

export interface LaunchOrder extends Omit<ShimStart, 'cgroup'> {
  /** What of it runs in a sandbox, where one that waits may be used. */
  readonly inside?: {
    readonly view: readonly string[];
    readonly argv: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
}

export interface Launcher {
  /** Begins to prepare a shim where none is. */
  prepare(): void;
  /** Makes a sandbox in the prepared shim, where none waits there; after what is being started. */
  warm(make: () => Warming): Promise<void>;
  /** Null: it was not started, and will not be. Throws where spawn would: no such folder, a word with a NUL. */
  start(order: LaunchOrder): Promise<Launched | null>;
  /** The cgroup of a shim that has ended, to be used again. */
  giveBack(cgroup: string): void;
  /** Ends what is prepared. */
  close(): void;
}

interface Prepared {
  readonly shell: LauncherShell;
  readonly n: number;
  readonly shim: ProcessIdentity;
  readonly cgroup: string | null;
  warm: Warm | null;
}

/** How long a command waits for the launcher before it is started without. */
const PATIENCE_MS = 5_000;
/** So often in a row a sandbox was made for nothing before no more are. */
const MAX_WASTED = 5;
/** More cgroups than that are left only by commands that ran at once. */
const MAX_KEPT = 8;

export function openLauncher(limit: ProcessLimit, maxProcesses: number, patienceMs = PATIENCE_MS): Launcher {
  const id = `${process.pid}-${Math.random().toString(36).slice(2, 10)}`;
  const all = new Set<string>();
  const kept = new Set<string>();
  let shell: LauncherShell | undefined;
  let next: Promise<Prepared | null> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  let shims = 0;
  let wasted = 0;
  let waiting: Warm | null = null;

  /** What a command has left in its cgroup is dying, and takes a moment. */
  const takeCgroup = (): string | null => {
    const free = [...kept].find(isFreeCgroup);
    if (free !== undefined) {
      kept.delete(free);
      return free;
    }
    const made = openCgroup(limit, `${id}-${all.size + 1}`, maxProcesses);
    if (made !== null) all.add(made);
    return made;
  };

  const giveBack = (cgroup: string) => {
    if (kept.size < MAX_KEPT) kept.add(cgroup);
    else removeCgroup(cgroup);
  };

  const prepareNow = async (mayTryAgain: boolean): Promise<Prepared | null> => {
    if (isClosed) return null;
    const at = shell?.isOpen() ? shell : openLauncherShell();
    shell = at;
    const n = ++shims;
    const cgroup = takeCgroup();
    const ready = at.answer('ready', n);
    at.fork(n, cgroup);
    const words = await ready;
    if (words === null) return null;
    const [pid, startTime = '', joined] = words;
    const shim = { pid: Number(pid), startTime };
    if (cgroup === null || joined === 'joined') return { shell: at, n, shim, cgroup, warm: null };
    // Another Odin that started has just swept it away; or the kernel does not let it in, as it would not let in any.
    removeCgroup(cgroup);
    if (!mayTryAgain) return { shell: at, n, shim, cgroup: null, warm: null };
    if (isAlive(shim)) process.kill(shim.pid, 'SIGKILL');
    return prepareNow(false);
  };
  const prepare = () => {
    // Whatever keeps a shell from starting, commands can do without.
    next ??= prepareNow(true).catch(() => null);
    return next;
  };

  const prepared = async (): Promise<Prepared | null> => {
    for (let tries = 2; tries > 0 && !isClosed; tries--) {
      const found = await within(patienceMs, prepare());
      if (found?.shell.isOpen() && isAlive(found.shim)) return found;
      next = undefined;
      shell?.retire();
      shell = undefined;
    }
    // Nor will the next one wait for it.
    isClosed = true;
    return null;
  };

  const warm = async (make: () => Warming) => {
    if (wasted >= MAX_WASTED) return;
    const found = await prepared();
    if (found === null || isClosed || found.warm?.isOver() === false) return;
    const { shell: at, n } = found;
    // One that was killed, or its shim.
    waiting?.end();
    const order = make();
    const said = at.answer('warm', n);
    at.send('warm', `dir=${quoted(order.dir)}\nargv=(${list(order.argv)})\n`);
    const words = await within(patienceMs, said);
    found.warm = order.made(words?.[1] === 'up' && !isClosed ? Number(words[0]) : null);
    waiting = found.warm;
    if (waiting === null) wasted += 1;
    if (words !== null) return;
    next = undefined;
    at.retire();
  };

  /** Whether the sandbox that waits there is used. */
  const useWarm = (found: Prepared, { dir, inside }: LaunchOrder): boolean => {
    const there = found.warm;
    if (waiting !== there) waiting?.end();
    waiting = null;
    if (!there) return false;
    if (inside && there.isAsNew(inside.view)) {
      mkdirSync(dirname(dir), { recursive: true, mode: 0o700 });
      if (there.take(dir)) {
        wasted = 0;
        return true;
      }
    }
    wasted += 1;
    there.end();
    return false;
  };

  const start: Launcher['start'] = async (order) => {
    const words = [wordsOf(order), order.inside && innerWords(order, order.inside)] as const;
    const found = await prepared();
    if (found === null) return null;
    const { shell: at, n, shim, cgroup } = found;
    const isWarm = useWarm(found, order);
    if (!isWarm) mkdirSync(order.dir, { recursive: true, mode: 0o700 });
    const gone = at.watch(n, shim);
    const taken = Promise.race([at.answer('taken', n), gone]);
    at.send(order.withOwner ? 'with-owner' : 'alone', words[isWarm ? 1 : 0] ?? words[0]);
    const answer = await within(patienceMs, taken);
    // Not before it has read all that is its own.
    next = undefined;
    if (answer) void prepare();
    // Nobody knows whether it has begun: its folder will tell. What was meant for it must not reach another.
    else at.retire();
    if (answer?.[0] !== 'refused') return { pid: shim.pid, cgroup, gone };
    if (cgroup !== null) void gone.then(() => giveBack(cgroup));
    throw Object.assign(new Error(`No folder ${order.cwd}`), { code: 'ENOENT' });
  };

  /** One after the other: two shims that read at once would each have a part of one line. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };

  return {
    prepare: () => void prepare(),
    warm: (make) => inTurn(() => warm(make)),
    start: (order) => inTurn(() => start(order)),
    giveBack,
    close() {
      isClosed = true;
      waiting?.end();
      shell?.retire();
      // The shell does it too, at its end: for an Odin that was killed. It may itself have been killed.
      for (const cgroup of all) removeCgroup(cgroup);
    },
  };
}

/** For bash, as nothing but words: what stands in single quotes is taken as it is. */
const wordsOf = ({ dir, argv, cwd, env }: LaunchOrder): string =>
  // Exports last: a new language is loaded at once.
  [`dir=${quoted(dir)}\n`, `cd -- ${quoted(cwd)} && argv=(${list(argv)})\n`, ...exportsOf(env)].join('');

/** The same for the sandbox that waits, as one word. What it runs with it gets itself. */
function innerWords({ dir, cwd, env: own }: LaunchOrder, { argv, env }: NonNullable<LaunchOrder['inside']>): string {
  const inner = [
    `argv=(${list(argv)})\ncd -- ${quoted(cwd)} || exit\n`,
    // Of a language that is not there the command's own shell complains.
    `{\n${exportsOf(env).join('')}} 2>/dev/null\n`,
    'exec "${argv[@]}" </dev/null\n',
  ].join('');
  return `${wordsOf({ dir, argv: ['-'], cwd, env: own, withOwner: false })}inner=${quoted(inner)}\n`;
}

const list = (argv: readonly string[]): string => argv.map(quoted).join(' ');

const exportsOf = (env: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}\n`);

function quoted(word: string): string {
  if (word.includes('\0')) throw Object.assign(new Error('A NUL in a command'), { code: 'ERR_INVALID_ARG_VALUE' });
  return `'${word.replaceAll("'", "'\\''")}'`;
}

async function within<T>(ms: number, work: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
