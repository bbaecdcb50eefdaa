// From tasks as they were written to a batch that can run (SPEC O19): where each works is looked up, and only when all is right is anything
// stored. The batch's id is that of its tasks, so the same file is the same batch.

import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { sha256 } from '../../shared/ids.ts';
import type { Mode } from '../../shared/modes.ts';
import { UserError } from '../../shared/outcome.ts';
import { createScrub } from '../../shared/scrub.ts';
import { canonical } from '../jobs/sign-job.ts';
import type { Access } from '../jobs/workers.ts';
import { findRoot } from '../workspace.ts';
import { commitOf, repositoryOf } from './git.ts';
import { accessOf, addJobs, type QueueOf } from './jobs.ts';
import { refuse, type WrittenTask } from './read-tasks.ts';
import type { BatchStore } from './store.ts';
import { type Task, timeoutMsOf } from './task.ts';

export interface Submission {
  readonly tasks: readonly WrittenTask[];
  /** The file's name, for mistakes and lists. */
  readonly name: string;
  /** Where relative repositories begin, and the project of tasks that name none. */
  readonly cwd: string;
  /** What holds for tasks that say nothing else. */
  readonly defaults: { readonly mode: Mode; readonly model?: string };
  readonly caps: { readonly usd?: number; readonly tokens?: number };
  readonly id?: string;
}

export interface Submitted {
  readonly bid: string;
  /** False: it was there already, and what is not done goes on. */
  readonly isNew: boolean;
  readonly projects: readonly BatchProject[];
}

/** Throws UserError with a line for each mistake; then nothing is stored. */
export async function submitBatch(store: BatchStore, queueOf: QueueOf, submission: Submission): Promise<Submitted> {
  const { tasks, name, cwd, defaults, caps, id } = submission;
  const here = findRoot(cwd);
  const hash = sha256(canonical({ here, defaults, caps, tasks }));
  const bid = id ?? `b${hash.slice(0, 12)}`;
  const known = await store.status(bid);
  const placed = known === null ? await placeTasks(submission) : [];
  const isNew = await store.create({ bid, hash, name, root: here, caps, tasks: placed });
  await addJobs(store, queueOf, bid, { fresh: isNew });
  return { bid, isNew, projects: await projectsOf(store, bid) };
}

/** A project of a batch's tasks; edit: one of them writes. */
export interface BatchProject {
  readonly root: string;
  readonly access: Access;
}

export async function projectsOf(store: BatchStore, bid: string): Promise<readonly BatchProject[]> {
  const tasks = (await store.tasksOf(bid, await store.items(bid))).filter((task) => task !== null);
  const written = new Set(tasks.filter((task) => accessOf(task) === 'edit').map(({ root }) => root));
  const roots = new Set(tasks.map(({ root }) => root));
  return [...roots].map((root) => ({ root, access: written.has(root) ? 'edit' : 'read' }));
}

async function placeTasks({ tasks, name, cwd, defaults }: Submission): Promise<readonly Task[]> {
  const scrub = createScrub(process.env);
  const mistakes: string[] = [];
  const places = new Map<string, Promise<{ readonly root: string; readonly base: string } | string>>();
  const placed: Task[] = [];
  for (const task of tasks) {
    const wanted = JSON.stringify([task.repo ?? '', task.base ?? '']);
    const place = places.get(wanted) ?? placeOf(cwd, task);
    places.set(wanted, place);
    const found = await place;
    if (typeof found === 'string') mistakes.push(`${name}:${task.line}: ${found}`);
    else placed.push(taskOf({ ...task, prompt: scrub(task.prompt) }, found, defaults));
  }
  refuse(mistakes);
  return placed;
}

/** Where a task works, or what is wrong about it. */
async function placeOf(
  cwd: string,
  { repo = '.', base = 'HEAD' }: Pick<WrittenTask, 'repo' | 'base'>,
): Promise<{ readonly root: string; readonly base: string } | string> {
  const folder = resolve(cwd, repo);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return `"repo": there is no folder ${folder}.`;
  const root = findRoot(realpathSync(folder));
  const repository = await repositoryOf(root);
  if (repository === null) {
    return `"repo": ${root} is not in a git repository, and each task works in a clone. Run git init and commit there.`;
  }
  const commit = await commitOf(repository, base);
  if (commit !== null) return { root, base: commit };
  return base === 'HEAD'
    ? `"repo": ${repository} has no commit yet. Make one: tasks begin from it.`
    : `"base": ${repository} has no branch, tag or commit "${base}".`;
}

function taskOf(
  { id, line, prompt, mode, model, budget, maxSteps, timeout, priority, needs }: WrittenTask,
  { root, base }: { readonly root: string; readonly base: string },
  defaults: Submission['defaults'],
): Task {
  const planner = model ?? defaults.model;
  return {
    ...{ id, line, prompt, root, base, needs: [...new Set(needs)] },
    mode: mode ?? defaults.mode,
    priority: priority ?? 0,
    ...(planner === undefined ? {} : { model: planner }),
    limits: {
      ...(maxSteps === undefined ? {} : { maxSteps }),
      ...(budget?.usd === undefined ? {} : { usd: budget.usd }),
      ...(budget?.tokens === undefined ? {} : { tokens: budget.tokens }),
      ...(timeout === undefined ? {} : { timeoutMs: timeoutMsOf(timeout) }),
    },
  };
}

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Throws UserError for an id that no batch can have. */
export function checkBatchId(id: string): string {
  if (ID.test(id)) return id;
  throw new UserError('A batch id has 1 to 64 letters, digits, ".", "_" or "-".');
}
