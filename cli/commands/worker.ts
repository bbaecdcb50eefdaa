// `odin worker`: takes tasks of batches, subagents of other Odins, or both, until it is told to stop. What they may do comes from the settings
// and options of this process (SAFETY 6). The first signal drains it: nothing new, and what runs has a while to end; the second puts it back.

import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { PermissionPolicy } from '../../orchestrator/api.ts';
import type { Config } from '../../orchestrator/config.ts';
import { findRoot } from '../../orchestrator/workspace.ts';
import { UserError } from '../../shared/outcome.ts';
import { tell, withBatches } from '../batches.ts';
import { EXIT } from '../exit-codes.ts';
import { beginLean } from '../lean-process.ts';
import { openModels } from '../open-models.ts';
import { permissionPolicy } from '../permission-options.ts';
import { placeHere } from '../place.ts';
import { settingsOf } from '../settings.ts';

export type WorkerRole = 'agents' | 'batch';

export interface WorkerOptions {
  readonly roles?: readonly WorkerRole[];
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
  beginLean({ manyTasks: true });
  const place = placeHere();
  const config = await settingsOf(place);
  const models = await openModels(options, config);
  const { worker } = config;
  const projects = projectsOf(options.repo ?? worker.repos ?? ['.'], place.cwd);
  const roles = options.roles ?? worker.roles ?? ['batch'];
  const concurrency = options.concurrency ?? worker.concurrency ?? CONCURRENCY;
  const policyOf = (permission: PermissionPolicy['mode']) =>
    permissionPolicy({ permission, allow: worker.allow ?? [] }, false);
  // A subagent's questions have a user, that of its Odin; a task's have none.
  const ofAgents = await policyOf(worker.permission ?? 'ask');
  const ofTasks = await policyOf(worker.permission === 'ask' ? 'deny' : (worker.permission ?? 'accept-edits'));
  return await withBatches(async (batches) => {
    const access = (worker.maxMode ?? 'edit') === 'edit' ? 'edit' : 'read';
    const order = { projects, models, concurrency, version, access } as const;
    const runners: Runner[] = [];
    const start = (role: WorkerRole): Promise<Runner> =>
      role === 'agents'
        ? batches.runAgents({ ...order, permission: ofAgents })
        : batches.run({ ...order, permission: ofTasks, roles: [role] });
    try {
      for (const role of new Set(roles)) runners.push(await start(role));
    } catch (error) {
      // Without the one the other is not what was asked for; what it has taken meanwhile is put back.
      await Promise.allSettled(runners.map((runner) => runner.drain(0)));
      throw error;
    }
    const what = roles.map((role) => (role === 'agents' ? 'agents' : 'tasks')).join(' and ');
    const names = runners.map(({ id }) => id).join(', ');
    tell(
      `Worker ${names} takes ${concurrency} ${what} at a time of ${[...projects.keys()].join(', ')}. Ctrl-C drains it.`,
    );
    const left = await untilTold(runners, concurrency * runners.length, (options.drain ?? DRAIN_S) * 1000);
    tell(left === 0 ? 'Nothing was left running.' : `${left} ${what} were put back; another worker goes on with them.`);
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

interface Runner {
  readonly id: string;
  load(): { readonly running: number; readonly done: number };
  drain(graceMs: number): Promise<number>;
  hurry(): void;
}

/** Shows what it does until it is told to stop and has drained. Returns how much was put back. */
async function untilTold(runners: readonly Runner[], concurrency: number, drainMs: number): Promise<number> {
  const isTerminal = process.stderr.isTTY === true;
  let shown = '';
  let draining = false;
  const show = () => {
    const [running, done] = [sumOf(runners, 'running'), sumOf(runners, 'done')];
    const line = `${draining ? 'draining · ' : ''}${running} of ${concurrency} running · ${done} done`;
    if (isTerminal) process.stderr.write(`\r\u001b[K${line}`);
    else if (line !== shown && (running === 0 || shown === '')) tell(line);
    shown = line;
  };
  const timer = setInterval(show, STATUS_MS);
  const { promise: told, resolve: stop } = Promise.withResolvers<void>();
  const onSignal = () => {
    if (draining) for (const runner of runners) runner.hurry();
    stop();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  await told;
  draining = true;
  tell(
    `${isTerminal ? '\n' : ''}Draining: what runs has ${drainMs / 1000} s to end. The same signal again puts it back at once.`,
  );
  try {
    const left = await Promise.all(runners.map((runner) => runner.drain(drainMs)));
    return left.reduce((sum, one) => sum + one, 0);
  } finally {
    clearInterval(timer);
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    if (isTerminal) process.stderr.write('\n');
  }
}

const sumOf = (runners: readonly Runner[], what: 'running' | 'done'): number =>
  runners.reduce((sum, runner) => sum + runner.load()[what], 0);
