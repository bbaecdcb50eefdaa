// `odin batch submit|watch|retry`: tasks of a file, each in its own session and working copy, and how they go on until all are done.

import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { BatchStatus } from '../../orchestrator/batch/store.ts';
import type { BatchProject } from '../../orchestrator/batch/submit.ts';
import type { JobRunner } from '../../orchestrator/jobs/job-host.ts';
import type { Mode } from '../../shared/modes.ts';
import { UserError } from '../../shared/outcome.ts';
import { batchExitCode, countsText, createProgress } from '../batch-progress.ts';
import { type Batches, tell, withBatches } from '../batches.ts';
import { EXIT } from '../exit-codes.ts';
import { onInterrupt } from '../interrupts.ts';
import { openModels } from '../open-models.ts';
import { permissionPolicy } from '../permission-options.ts';
import { jsonLine } from '../render-json.ts';
import { settingsOf } from '../settings.ts';

export interface RunTasksOptions {
  /** How many tasks at a time run in this process. */
  readonly run?: number;
  readonly model?: string;
  readonly smallModel?: string;
  readonly fallbackModel?: readonly string[];
  readonly permission?: 'deny' | 'accept-edits';
  readonly allow?: readonly string[];
  readonly json?: boolean;
}

export interface SubmitBatchOptions extends RunTasksOptions {
  readonly id?: string;
  readonly mode?: Mode;
  readonly detach?: boolean;
  readonly budgetUsd?: number;
  readonly budgetTokens?: number;
}

const RUN_HERE = 4;
const POLL_MS = 100;

export async function submitBatch(file: string, options: SubmitBatchOptions, version: string): Promise<number> {
  const [{ readTasks }, { checkBatchId, submitBatch: submit }] = await Promise.all([
    import('../../orchestrator/batch/read-tasks.ts'),
    import('../../orchestrator/batch/submit.ts'),
  ]);
  if (options.id !== undefined) checkBatchId(options.id);
  const name = file === '-' ? 'stdin' : basename(file);
  const tasks = await readTasks(file === '-' ? await text(process.stdin) : await readTaskFile(file), name);
  return await withBatches(async (batches) => {
    const { store, queueOf, place } = batches;
    const config = await settingsOf(place);
    const { bid, isNew, projects } = await submit(store, queueOf, {
      tasks,
      name,
      cwd: place.cwd,
      defaults: {
        mode: options.mode ?? config.defaultMode,
        ...(options.model === undefined ? {} : { model: options.model }),
      },
      caps: {
        ...(options.budgetUsd === undefined ? {} : { usd: options.budgetUsd }),
        ...(options.budgetTokens === undefined ? {} : { tokens: options.budgetTokens }),
      },
      ...(options.id === undefined ? {} : { id: options.id }),
    });
    const before = isNew ? null : await store.status(bid);
    if (before === null) tell(`Batch ${bid}: ${tasks.length} tasks.`);
    else if (before.endedAt === null) tell(`Batch ${bid} is there already; what is not done goes on.`);
    else {
      tell(`Batch ${bid} is done already. \`odin batch retry ${bid}\` begins anew what was not completed.`);
      report(before, options.json === true);
      return batchExitCode(before);
    }
    const run = options.detach === true ? 0 : (options.run ?? ((await areServed(batches, projects)) ? 0 : RUN_HERE));
    if (options.detach !== true) return await attend(batches, bid, projects, { ...options, run }, version);
    process.stdout.write(options.json === true ? jsonLine({ batch: bid, isNew }) : `${bid}\n`);
    if (!(await areServed(batches, projects))) tell(nobodyText(bid));
    return EXIT.completed;
  });
}

export async function watchBatch(wanted: string, options: RunTasksOptions, version: string): Promise<number> {
  return await withBatches(async (batches) => {
    const bid = await batches.store.find(wanted);
    return await attend(batches, bid, await projectsOf(batches, bid), options, version);
  });
}

export async function retryBatch(
  wanted: string,
  options: RunTasksOptions & { detach?: boolean },
  version: string,
): Promise<number> {
  return await withBatches(async (batches) => {
    const { store, queueOf } = batches;
    const bid = await store.find(wanted);
    const begun = await store.retry(bid);
    const { addJobs } = await import('../../orchestrator/batch/jobs.ts');
    await addJobs(store, queueOf, bid);
    tell(begun === 0 ? 'There is nothing to retry: what is done is completed.' : `${begun} tasks begin anew.`);
    if (options.detach === true) return EXIT.completed;
    const projects = await projectsOf(batches, bid);
    const run = options.run ?? ((await areServed(batches, projects)) ? 0 : RUN_HERE);
    return await attend(batches, bid, projects, { ...options, run }, version);
  });
}

async function readTaskFile(file: string): Promise<string> {
  try {
    return await readFile(resolve(file), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(code === 'ENOENT' ? `There is no file ${file}.` : `${file} cannot be read (${code}).`);
  }
}

const projectsOf = async ({ store }: Batches, bid: string): Promise<readonly BatchProject[]> =>
  (await import('../../orchestrator/batch/submit.ts')).projectsOf(store, bid);

/** Whether there is a worker for each of these projects that may do what the tasks in it do. */
async function areServed({ handle }: Batches, projects: readonly BatchProject[]): Promise<boolean> {
  const { beat, serves } = await import('../../orchestrator/jobs/workers.ts');
  const workers = await beat(handle.client, null);
  return projects.every((project) => workers.some((worker) => serves(worker, 'batch', project)));
}

const nobodyText = (bid: string): string =>
  `No worker is there for it: start \`odin worker\`, or run it from here with \`odin batch watch ${bid} --run ${RUN_HERE}\`.`;

/** Follows the batch to its end, and runs tasks of it if asked to. */
async function attend(
  batches: Batches,
  bid: string,
  projects: readonly BatchProject[],
  options: RunTasksOptions,
  version: string,
): Promise<number> {
  const { store } = batches;
  const runner = (options.run ?? 0) > 0 ? await runHere(batches, projects, options, version) : null;
  if (runner === null && !(await areServed(batches, projects))) tell(nobodyText(bid));
  const progress = createProgress(process.stderr);
  const detached = new AbortController();
  const offInterrupt = onInterrupt(() => detached.abort());
  let status = await store.status(bid);
  try {
    for (; status !== null && status.endedAt === null && !detached.signal.aborted; status = await store.status(bid)) {
      progress.show(status);
      await pause(detached.signal);
    }
    if (status !== null) progress.show(status);
  } finally {
    progress.end();
    const left = (await runner?.drain(0)) ?? 0;
    offInterrupt();
    if (left > 0) tell(`${left} tasks that ran here wait again.`);
  }
  if (status === null) throw new UserError(`Batch ${bid} is gone.`);
  if (status.endedAt === null) {
    tell(
      `Left batch ${bid}. \`odin batch watch ${bid}\` follows it again${runner === null ? '' : `, with --run ${options.run} it goes on from here`}.`,
    );
    return EXIT.cancelled;
  }
  report(status, options.json === true);
  return batchExitCode(status);
}

function report(status: BatchStatus, json: boolean): void {
  if (json) process.stdout.write(jsonLine(status));
  else process.stdout.write(`${status.bid}: ${countsText(status)}\n`);
  if (!json) tell(`\`odin batch results ${status.bid}\` has the answers, --apply takes the changes.`);
}

const pause = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, POLL_MS);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    if (signal.aborted) resolve();
  });

async function runHere(
  batches: Batches,
  projects: readonly BatchProject[],
  options: RunTasksOptions,
  version: string,
): Promise<JobRunner> {
  const config = await settingsOf(batches.place);
  const models = await openModels(options, config);
  const permission = await permissionPolicy(
    { permission: options.permission ?? 'accept-edits', ...(options.allow ? { allow: options.allow } : {}) },
    false,
  );
  return batches.run({
    projects: new Map(projects.map(({ root }) => [root, root])),
    access: 'edit',
    permission,
    models,
    concurrency: options.run ?? RUN_HERE,
    roles: ['here'],
    version,
  });
}
