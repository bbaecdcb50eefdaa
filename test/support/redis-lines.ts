// A child process that talks in lines, for tests that need real processes.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface LineChild {
  readonly process: ChildProcess;
  /** The next line it prints; rejects when it ends instead. */
  line(): Promise<string>;
  send(line: string): void;
  readonly exited: Promise<void>;
}

/** Runs a fixture of this folder with Node. */
export function startLineChild(fixture: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): LineChild {
  const script = fileURLToPath(new URL(`./${fixture}`, import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    async line() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${fixture} ended without a word.`);
      return value;
    },
    send: (line) => void child.stdin.write(`${line}\n`),
    exited: once(child, 'exit').then(() => {}),
  };
}
