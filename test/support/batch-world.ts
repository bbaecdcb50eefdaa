// A batch for tests: a scripted model server, a git repository, a home with its own Redis, and runners in this process, all real.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { chooseModel } from '../../llm/choose-model.ts';
import type { Script } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import { openBatchQueues, type QueueOf } from '../../orchestrator/batch/jobs.ts';
import { readTasks } from '../../orchestrator/batch/read-tasks.ts';
import { type RunnerOptions, startBatchRunner } from '../../orchestrator/batch/runner.ts';
import { type BatchStatus, type BatchStore, openBatchStore } from '../../orchestrator/batch/store.ts';
import { type Submission, type Submitted, submitBatch } from '../../orchestrator/batch/submit.ts';
import type { JobRunner } from '../../orchestrator/jobs/job-host.ts';
import { ensureJobKey } from '../../orchestrator/jobs/job-key.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';

export interface BatchWorld {
  readonly folder: string;
  readonly home: string;
  /** The repository, with one commit. */
  readonly project: string;
  readonly server: ScriptedServer;
  readonly handle: RedisHandle;
  readonly store: BatchStore;
  readonly queueOf: QueueOf;
  readonly key: Buffer;
  /** Why jobs were not taken. */
  readonly refused: string[];
  submit(tasks: readonly object[], more?: Partial<Submission>): Promise<Submitted>;
  run(more?: Partial<RunnerOptions>): Promise<JobRunner>;
  /** Resolves when every task has its result. */
  ended(bid: string): Promise<BatchStatus>;
}

export function git(cwd: string, ...args: readonly string[]): string {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', '-c', 'init.defaultBranch=main'];
  return execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8', stdio: 'pipe' });
}

/** A repository with one commit. */
export function makeRepository(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  git(folder, 'init', '--quiet');
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '-m', 'first');
}

export async function withBatchWorld<T>(
  script: Script,
  use: (world: BatchWorld) => Promise<T>,
  files: Readonly<Record<string, string>> = { 'ODIN.md': '# Test project\n', 'a.txt': 'one\n' },
): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-batch-')));
  const project = join(folder, 'project');
  const home = join(folder, 'home');
  makeRepository(project, files);
  const server = await startScriptedServer({ script, keepBodies: false });
  const handle = await connectRedis({ home, notice: () => {} });
  const key = ensureJobKey(home);
  const refused: string[] = [];
  const errors: string[] = [];
  const log: RunnerOptions['log'] = (message, detail) => {
    if (message === 'a job was refused') refused.push(`${String(detail['id'])}: ${String(detail['why'])}`);
    else errors.push(`${message} ${JSON.stringify(detail)}`);
  };
  const store = openBatchStore(handle.client);
  const queues = openBatchQueues(handle, { key, log });
  const runners: JobRunner[] = [];
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: server.url };
  const flags = { flagModel: 'anthropic/scripted', flagSmallModel: 'anthropic/small' };
  const models = await chooseModel({ ...flags, userConfig: {}, env });
  if (!models.ok) throw new Error(models.failure.message);
  const world: BatchWorld = {
    ...{ folder, home, project, server, handle, store, key, refused, queueOf: queues.queueOf },
    async submit(tasks, more = {}) {
      const written = await readTasks(tasks.map((task) => JSON.stringify(task)).join('\n'), 'tasks.jsonl');
      const defaults = { mode: 'ask' } as const;
      return submitBatch(store, queues.queueOf, {
        ...{ tasks: written, name: 'tasks.jsonl', cwd: project, defaults, caps: {} },
        ...more,
      });
    },
    async run(more = {}) {
      const runner = await startBatchRunner({
        ...{ home, handle, key, models: models.value, log, notice: () => {}, access: 'edit', concurrency: 4 },
        ...{ projects: new Map([[project, project]]), permission: { mode: 'accept-edits', timeoutMs: null } },
        ...{ version: 'test', roles: ['batch'] },
        ...more,
      });
      runners.push(runner);
      return runner;
    },
    async ended(bid) {
      for (;;) {
        const status = await store.status(bid);
        if (status === null) throw new Error(`There is no batch ${bid}.`);
        if (status.endedAt !== null) return status;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
  try {
    return await use(world);
  } catch (error) {
    for (const line of errors) process.stderr.write(`${line}\n`);
    throw error;
  } finally {
    await Promise.all(runners.map((runner) => runner.drain(0)));
    await queues.close();
    await handle.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
