// An Odin whose subagents go to workers, for tests: its project is a repository, its home has the key of the jobs; workers run in this process
// or as a user starts them, all real.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chooseModel } from '../../llm/choose-model.ts';
import type { Script } from '../../llm/scripted/script.ts';
import { startAgentRunner } from '../../orchestrator/agents/remote/runner.ts';
import type { JobHostOptions, JobRunner } from '../../orchestrator/jobs/job-host.ts';
import { ensureJobKey } from '../../orchestrator/jobs/job-key.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import { makeRepository } from './batch-world.ts';
import { type World, withWorld } from './odin-world.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/odin.js', import.meta.url));

export interface RemoteWorld extends World {
  readonly handle: RedisHandle;
  readonly key: Buffer;
  /** Why jobs were not taken by the workers of this process. */
  readonly refused: string[];
  runner(more?: Partial<JobHostOptions>): Promise<JobRunner>;
  /** `odin worker` in a process of its own; it is ended with the world. */
  worker(...args: readonly string[]): ChildProcess;
}

export async function withRemoteWorld<T>(
  {
    script,
    files = {},
    userConfig = { agents: { remote: 'prefer' } },
  }: { readonly script: Script; readonly files?: Readonly<Record<string, string>>; readonly userConfig?: object },
  use: (world: RemoteWorld) => Promise<T>,
): Promise<T> {
  return withWorld({ script, userConfig }, async (world) => {
    const project = realpathSync(world.project);
    makeRepository(project, { 'ODIN.md': '# Test project\n', 'a.txt': 'one\ntwo\nthree\n', ...files });
    const { home } = world;
    const key = ensureJobKey(home);
    const handle = await connectRedis({ home, notice: () => {} });
    const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: world.server.url };
    const flags = { flagModel: 'anthropic/scripted', flagSmallModel: 'anthropic/small' };
    const models = await chooseModel({ ...flags, userConfig: {}, env });
    if (!models.ok) throw new Error(models.failure.message);
    const refused: string[] = [];
    const errors: string[] = [];
    const log: JobHostOptions['log'] = (message, detail) => {
      if (message === 'a job was refused') refused.push(`${String(detail['id'])}: ${String(detail['why'])}`);
      else errors.push(`${message} ${JSON.stringify(detail)}`);
    };
    const runners: JobRunner[] = [];
    const workers: ChildProcess[] = [];
    const remote: RemoteWorld = {
      ...world,
      ...{ project, handle, key, refused },
      async runner(more = {}) {
        const runner = await startAgentRunner({
          ...{ home, handle, key, models: models.value, log, notice: () => {}, access: 'edit', concurrency: 4 },
          ...{ projects: new Map([[project, project]]), permission: { mode: 'accept-edits', timeoutMs: null } },
          ...{ version: 'test', ...more },
        });
        runners.push(runner);
        return runner;
      },
      worker(...args) {
        const { ODIN_HOME: _home, REDIS_URL: _redis, ...own } = process.env;
        const child = spawn(
          process.execPath,
          [LAUNCHER, 'worker', '--roles', 'agents', '--drain', '0', '--model', 'anthropic/scripted', ...args],
          {
            cwd: project,
            env: { ...own, ODIN_HOME: home, ...env },
            stdio: ['ignore', 'ignore', process.env['ODIN_TEST_SHOW'] ? 'inherit' : 'ignore'],
          },
        );
        workers.push(child);
        return child;
      },
    };
    try {
      return await use(remote);
    } catch (error) {
      for (const line of [...errors, ...world.logged]) process.stderr.write(`${line}\n`);
      throw error;
    } finally {
      await Promise.all(runners.map((runner) => runner.drain(0)));
      await Promise.all(
        workers.map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const exited = once(child, 'exit');
          child.kill('SIGTERM');
          await exited;
        }),
      );
      await handle.close();
    }
  });
}

/** Somebody else changes a file of the project. */
export const change = ({ project }: RemoteWorld, name: string, text: string): void =>
  writeFileSync(join(project, name), text);
