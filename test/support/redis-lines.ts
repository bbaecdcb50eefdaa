// A child process that talks in lines, for tests that need real processes.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { crashChild } from './crash-bundle.ts';

export interface LineChild {
  readonly process: ChildProcess;
  /** The next line it prints; rejects when it ends instead. */
  line(): Promise<string>;
  send(line: string): void;
  readonly exited: Promise<void>;
}

/** Runs a child of this folder, from the bundle. */
export function startLineChild(name: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): LineChild {
  const { args: script, env } = crashChild(name);
  const child = spawn(process.execPath, [...script, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...env, ...more },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    async line() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${name} ended without a word.`);
      return value;
    },
    send: (line) => void child.stdin.write(`${line}\n`),
    exited: once(child, 'exit').then(() => {}),
  };
}
