// `odin worker`: takes tasks of batches until it is told to stop. What they may do comes from the settings and options of this process
// (SAFETY 6). The first signal drains it: no new tasks, and those that run have a while to end; the second puts them back at once.

import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { BatchRunner } from '../../orchestrator/batch/runner.ts';
import type { Config } from '../../orchestrator/config.ts';
import { findRoot } from '../../orchestrator/workspace.ts';
import { UserError } from '../../shared/outcome.ts';
import { tell, withBatches } from '../batches.ts';
import { EXIT } from '../exit-codes.ts';
import { openModels } from '../open-models.ts';
import { permissionPolicy } from '../permission-options.ts';
import { placeHere } from '../place.ts';
import { settingsOf } from '../settings.ts';

export interface WorkerOptions {
  readonly concurrency?: number;
  readonly repo?: readonly string[];
  readonly keyFile?: string;
  /** Seconds. */
  readonly drain?: number;
  readonly model?: string;
  readonly smallModel?: string;
}

const CONCURRENCY = 4;
const DRAIN_S = 30;

export async function work(options: WorkerOptions, version: string): Promise<number> {
  const place = placeHere();
  const config = await settingsOf(place);
  const models = await openModels(options, config);
  const { worker } = config;
  const projects = projectsOf(options.repo ?? worker.repos ?? ['.'], place.cwd);
  const concurrency = options.concurrency ?? worker.concurrency ?? CONCURRENCY;
  const permission = await permissionPolicy(
    { permission: worker.permission ?? 'accept-edits', allow: worker.allow ?? [] },
    false,
  );
  return await withBatches(async (batches) => {
    const runner = await batches.run({
      ...{ projects, permission, models, concurrency, version },
      access: (worker.maxMode ?? 'edit') === 'edit' ? 'edit' : 'read',
      roles: ['batch'],
    });
    tell(
      `Worker ${runner.id} takes ${concurrency} tasks at a time of ${[...projects.keys()].join(', ')}. Ctrl-C drains it.`,
    );
    const left = await untilTold(runner, concurrency, (options.drain ?? DRAIN_S) * 1000);
    tell(left === 0 ? 'Nothing was left running.' : `${left} tasks were put back; another worker goes on with them.`);
    return EXIT.completed;
  }, options.keyFile);
}

/** As jobs name them -> here. */
function projectsOf(
  repos: readonly NonNullable<Config['worker']['repos']>[number][],
  cwd: string,
): ReadonlyMap<string, string> {
  return new Map(
    repos.map((repo) => {
      const { path, as } = typeof repo === 'string' ? { path: repo, as: undefined } : repo;
      const folder = resolve(cwd, path);
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
        throw new UserError(
          `The worker is to take tasks of ${folder}, which is no folder. Correct worker.repos or --repo.`,
        );
      }
      const root = findRoot(realpathSync(folder));
      return [as ?? root, root] as const;
    }),
  );
}

const STATUS_MS = 1_000;

/** Shows what it does until it is told to stop and has drained. Returns how many tasks were put back. */
async function untilTold(runner: BatchRunner, concurrency: number, drainMs: number): Promise<number> {
  const isTerminal = process.stderr.isTTY === true;
  let shown = '';
  let draining = false;
  const show = () => {
    const { running, done } = runner.load();
    const line = `${draining ? 'draining · ' : ''}${running} of ${concurrency} running · ${done} done`;
    if (isTerminal) process.stderr.write(`\r\u001b[K${line}`);
    else if (line !== shown && (running === 0 || shown === '')) tell(line);
    shown = line;
  };
  const timer = setInterval(show, STATUS_MS);
  const { promise: told, resolve: stop } = Promise.withResolvers<void>();
  const onSignal = () => {
    if (draining) runner.hurry();
    stop();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  await told;
  draining = true;
  tell(
    `${isTerminal ? '\n' : ''}Draining: what runs has ${drainMs / 1000} s to end. The same signal again puts it back at once.`,
  );
  try {
    return await runner.drain(drainMs);
  } finally {
    clearInterval(timer);
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    if (isTerminal) process.stderr.write('\n');
  }
}
