// Starts owner-child.ts and waits for what it prints.

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { crashChild } from './crash-bundle.ts';
import type { OwnerOrder, OwnerSubmit } from './owner-child.ts';

export interface OwnerChild {
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
  /** Everything it has printed. */
  readonly lines: readonly string[];
  /** The first line that matches, as soon as it is there; rejects when the process ends without. */
  line(pattern: RegExp): Promise<string>;
  /** Resolves with its session when the message is accepted. */
  submit(message: OwnerSubmit): Promise<string>;
  /** Closes it, politely if it can still hear. */
  end(): Promise<void>;
}

type StartProcess = (argv: readonly string[], options: { readonly env: NodeJS.ProcessEnv }) => ChildProcess;

const startHere: StartProcess = ([program = '', ...args], options) =>
  spawn(program, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] });

/** `start`: how and where its process is started; it must have pipes for stdin and stdout. */
export function startOwner(order: OwnerOrder, start: StartProcess = startHere): OwnerChild {
  const { args, env } = crashChild('owner-child');
  const child = start([process.execPath, ...args, JSON.stringify(order)], { env }) as ChildProcessWithoutNullStreams;
  child.stdin.on('error', () => {});
  const lines: string[] = [];
  const looks = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const look of looks) look();
  });
  const exited = once(child, 'close').then(() => {});
  let submitted = 0;

  const line = async (pattern: RegExp, skip = 0): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const look = () => {
      const found = lines.filter((one) => pattern.test(one))[skip];
      if (found !== undefined) resolve(found);
    };
    looks.add(look);
    look();
    const failed = exited.then(() => {
      look();
      return Promise.reject(new Error(`It ended without ${pattern}:\n${lines.join('\n')}`));
    });
    failed.catch(() => {});
    return Promise.race([promise, failed]).finally(() => looks.delete(look));
  };

  return {
    process: child,
    exited,
    lines,
    line,
    async submit(message) {
      child.stdin.write(`${JSON.stringify(message)}\n`);
      submitted += 1;
      const said = await line(/^submitted/, submitted - 1);
      return said.split(' ')[1] ?? '';
    },
    async end() {
      if (child.exitCode === null && child.signalCode === null) child.stdin.end();
      await exited;
    },
  };
}
