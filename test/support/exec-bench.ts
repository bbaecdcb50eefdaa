// A project folder with real commands in it: the sandbox of this machine or none, a home for Odin's state, and everything that
// runs stopped at the end.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Commands, openCommands } from '../../orchestrator/exec/commands.ts';
import { type FoundSandbox, findSandbox } from '../../orchestrator/exec/sandbox.ts';
import type { CommandHooks, CommandRequest, CommandResult, ExecPort } from '../../shared/exec-port.ts';
import type { Json } from '../../shared/json.ts';
import { must } from './files-bench.ts';

export const UNCONFINED: FoundSandbox = {
  status: { kind: 'none', reason: 'This test runs commands without a sandbox.' },
  sandbox: null,
};

export interface ExecBench {
  readonly base: string;
  readonly root: string;
  readonly home: string;
  readonly commands: Commands;
  readonly port: ExecPort;
  readonly intents: Json[];
  /** What was streamed. */
  readonly chunks: string[];
  request(command: string, more?: Partial<CommandRequest>): CommandRequest;
  hooks(signal?: AbortSignal): CommandHooks;
  /** Runs to the end; throws when there is no result. */
  run(command: string, more?: Partial<CommandRequest>): Promise<CommandResult>;
  put(name: string, content: string): string;
  close(): Promise<void>;
}

export function openExecBench(found?: FoundSandbox, userHome = homedir(), maxProcesses?: number): ExecBench {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'odin-exec-')));
  const root = join(base, 'project');
  const home = join(base, 'home');
  mkdirSync(root);
  mkdirSync(home);
  const closing = new AbortController();
  const commands = openCommands({
    root,
    home,
    userHome,
    env: { ...process.env, SECRET_API_KEY: 'sk-not-for-commands' },
    closing: closing.signal,
    ...(found === undefined ? {} : { find: () => Promise.resolve(found) }),
    ...(maxProcesses === undefined ? {} : { maxProcesses }),
  });
  const port = commands.portFor('session');
  const intents: Json[] = [];
  const chunks: string[] = [];
  let count = 0;
  const request: ExecBench['request'] = (command, more) => ({
    command,
    cwd: port.cwd(),
    timeoutMs: 20_000,
    profile: 'read-write',
    network: false,
    extraPaths: [],
    opKey: `1.1.${++count}`,
    ...more,
  });
  const hooks: ExecBench['hooks'] = (signal = new AbortController().signal) => ({
    signal,
    onOutput: (chunk) => chunks.push(chunk),
    intend: async (intent) => void intents.push(intent),
  });
  return {
    base,
    root,
    home,
    commands,
    port,
    intents,
    chunks,
    request,
    hooks,
    run: async (command, more) => must(await port.run(request(command, more), hooks())),
    put(name, content) {
      const path = join(root, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    async close() {
      closing.abort();
      await commands.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** The sandbox of this machine, or null after saying in one line why there is none. */
export async function sandboxHere(): Promise<FoundSandbox | null> {
  const found = await findSandbox();
  if (found.status.kind !== 'none') return found;
  process.stderr.write(`${found.status.reason} What needs one is not tried here.\n`);
  return null;
}

/** Processes whose command line holds the word, this one and its own kind apart. */
export function processesWith(word: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(word) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
