// `odin batch list|status|results|cancel`: what batches there are, how they stand, what came of their tasks.

import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { applyPatch, branchOf, repositoryOf } from '../../orchestrator/batch/git.ts';
import type { BatchStatus, BatchStore, ItemResult } from '../../orchestrator/batch/store.ts';
import type { Task } from '../../orchestrator/batch/task.ts';
import { workingCopies } from '../../orchestrator/batch/working-copy.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { batchExitCode, countsText, doneOf, progressLine } from '../batch-progress.ts';
import { tell, withBatches } from '../batches.ts';
import { EXIT } from '../exit-codes.ts';
import { jsonLine } from '../render-json.ts';
import { table } from '../table.ts';

export interface ResultsOptions {
  readonly out?: string;
  readonly apply?: boolean;
  readonly branch?: string;
}

export async function listBatches({ json }: { readonly json?: boolean }): Promise<number> {
  const all = await withBatches(({ store }) => store.list());
  if (json === true) for (const status of all) process.stdout.write(jsonLine(status));
  else if (all.length === 0) tell('There is no batch. `odin batch submit tasks.jsonl` makes one.');
  else {
    const rows = all.map((status) => [
      status.bid,
      new Date(status.createdAt).toISOString().slice(0, 16).replace('T', ' '),
      stateOf(status),
      `${doneOf(status)}/${status.total}`,
      cleanLine(status.name, 40),
    ]);
    process.stdout.write(table([['BATCH', 'SUBMITTED (UTC)', 'STATE', 'DONE', 'FILE'], ...rows]));
  }
  return EXIT.completed;
}

const stateOf = ({ endedAt, cancelled, running }: BatchStatus): string =>
  endedAt !== null ? 'done' : cancelled ? 'cancelling' : running > 0 ? 'running' : 'waiting';

const SHOWN = 20;
const AT_ONCE = 500;
const WHY_CANCELLED = 'The batch was cancelled before it began.';

/** The exit code says how the batch has ended; while it goes on it is 0. */
export async function batchStatus(wanted: string, { json }: { readonly json?: boolean }): Promise<number> {
  return await withBatches(async ({ store }) => {
    const bid = await store.find(wanted);
    const status = await store.status(bid);
    if (status === null) return EXIT.failed;
    if (json === true) process.stdout.write(jsonLine(status));
    else {
      process.stdout.write(`${progressLine(status, null, false)}\n${countsText(status)}\n`);
      const isBad = doneOf(status) > status.counts.completed;
      const ended = isBad ? await sortedResults(store, bid) : [];
      const bad = ended.filter(({ result }) => result.status !== 'completed');
      for (const { result } of bad.slice(0, SHOWN)) {
        process.stdout.write(`  ${result.id}  ${result.status}  ${cleanLine(result.answer, 100)}\n`);
      }
      if (bad.length > SHOWN) process.stdout.write(`  … and ${bad.length - SHOWN} more\n`);
    }
    return status.endedAt === null ? EXIT.completed : batchExitCode(status);
  });
}

export async function cancelBatch(wanted: string): Promise<number> {
  return await withBatches(async ({ store }) => {
    const bid = await store.find(wanted);
    const before = await store.status(bid);
    if (before?.endedAt !== null) {
      tell(`Batch ${bid} is over: nothing is left to cancel.`);
      return EXIT.completed;
    }
    await store.markCancelled(bid);
    const items = await store.todo(bid);
    for (let at = 0; at < items.length; at += AT_ONCE) {
      const tasks = await store.tasksOf(bid, items.slice(at, at + AT_ONCE));
      const skip = (task: Task) => store.skip(bid, task, 'cancelled', 'cancelled', WHY_CANCELLED);
      await Promise.all(tasks.filter((task) => task !== null).map(skip));
    }
    const after = await store.status(bid);
    const running = after?.running ?? 0;
    tell(`Batch ${bid} is cancelled${running > 0 ? `; ${running} tasks that run stop within seconds` : ''}.`);
    return EXIT.completed;
  });
}

interface Ended {
  readonly task: Task;
  readonly result: ItemResult;
}

/** As JSON lines in the order of the file; with --out, in a folder with the patches; with --apply or --branch, into the repositories. */
export async function batchResults(wanted: string, { out, apply, branch }: ResultsOptions): Promise<number> {
  return await withBatches(async ({ store, place }) => {
    const bid = await store.find(wanted);
    const ended = await sortedResults(store, bid);
    const lines = ended.map(({ result }) => jsonLine(result)).join('');
    if (out !== undefined) await writeResults(store, bid, ended, resolve(out), lines);
    else if (apply !== true && branch === undefined) process.stdout.write(lines);
    if (apply !== true && branch === undefined) return EXIT.completed;
    const scratch = join(workingCopies(place.home), `branch-${process.pid}`);
    return await intoRepositories(store, bid, ended, async (repository, { result }, patch) => {
      if (branch === undefined) return applyPatch(repository, patch);
      const subject = cleanLine(`${result.id}: ${result.answer}`, 72);
      const made = await branchOf(
        repository,
        { name: `${branch}${result.id}`, base: result.base, patch, subject },
        scratch,
      );
      return made.ok ? `branch ${made.value}` : made.failure;
    });
  });
}

async function sortedResults(store: BatchStore, bid: string): Promise<readonly Ended[]> {
  const items = await store.items(bid);
  const [tasks, results] = await Promise.all([store.tasksOf(bid, items), store.results(bid, items)]);
  const ended = tasks.flatMap((task, i): readonly Ended[] => {
    const result = results[i];
    return task && result ? [{ task, result }] : [];
  });
  return ended.toSorted((a, b) => a.task.line - b.task.line);
}

async function writeResults(store: BatchStore, bid: string, ended: readonly Ended[], folder: string, lines: string) {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'results.jsonl'), lines);
  let patches = 0;
  for (const { result } of ended) {
    const patch = result.files.length > 0 ? await store.patch(bid, result.id) : null;
    if (patch === null) continue;
    await writeFile(join(folder, `${result.id}.patch`), patch);
    patches += 1;
  }
  tell(`${ended.length} results and ${patches} patches are in ${folder}.`);
}

/** Each patch of a completed task, in the order of the file. Ends with 1 when one did not go in. */
async function intoRepositories(
  store: BatchStore,
  bid: string,
  ended: readonly Ended[],
  take: (repository: string, one: Ended, patch: string) => Promise<string | { readonly message: string }>,
): Promise<number> {
  let bad = 0;
  for (const one of ended) {
    const { task, result } = one;
    const patch = result.status === 'completed' && result.files.length > 0 ? await store.patch(bid, task.id) : null;
    if (patch === null) continue;
    const repository = await repositoryOf(task.root);
    const came =
      repository === null
        ? { message: `${task.root} is not in a git repository.` }
        : await take(repository, one, patch);
    const isBad = typeof came !== 'string' || came === 'conflict';
    const files = result.files.length === 1 ? '1 file' : `${result.files.length} files`;
    const text = typeof came === 'string' ? (CAME[came] ?? came) : came.message;
    process.stdout.write(`${task.id}  ${cleanLine(text)}  (${files})\n`);
    if (isBad) bad += 1;
  }
  if (bad > 0) tell(`${bad} patches did not go in; \`odin batch results ${bid} --out DIR\` writes them as files.`);
  return bad > 0 ? EXIT.failed : EXIT.completed;
}

const CAME: Readonly<Record<string, string>> = {
  applied: 'applied',
  already: 'was applied before',
  conflict: 'conflict: the files have changed since in the same places; nothing of it was applied',
};
