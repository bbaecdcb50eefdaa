// Runs the real command line in a process of its own and says what came of it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FEWER_COLLECTIONS } from '../support/crash-bundle.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/odin.js', import.meta.url));

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  /** Leave stdin open: the test writes to it. */
  readonly holdInput?: boolean;
}

/** A running command line; `ended` has all that it wrote. */
export function startCli(args: readonly string[], options: CliOptions = {}) {
  const { ODIN_HOME: _home, REDIS_URL: _redis, ...env } = process.env;
  for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'OPENAI_API_KEY', 'OPENAI_BASE_URL']) delete env[name];
  const child: ChildProcess = spawn(process.execPath, [...FEWER_COLLECTIONS, LAUNCHER, ...args], {
    cwd: options.cwd,
    env: { ...env, NO_COLOR: '1', ...options.env },
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  const waiting = new Set<() => void>();
  const arrived = () => waiting.forEach((look) => look());
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    arrived();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    arrived();
  });
  if (options.holdInput !== true) child.stdin?.end(options.input ?? '');
  const ended: Promise<CliRun> = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout,
    stderr,
  }));
  return {
    child,
    ended,
    /** Resolves when what was written so far matches; rejects when it ended without. */
    async until(pattern: RegExp): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => pattern.test(stdout + stderr) && resolve();
      waiting.add(look);
      look();
      const failed = ended.then(() => {
        if (!pattern.test(stdout + stderr)) throw new Error(`It ended without ${pattern}:\n${stdout}\n${stderr}`);
      });
      await Promise.race([promise, failed]);
      waiting.delete(look);
    },
  };
}

export const runCli = (args: readonly string[], options: CliOptions = {}): Promise<CliRun> =>
  startCli(args, options).ended;
