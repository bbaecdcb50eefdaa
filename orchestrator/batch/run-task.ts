// One task of a batch from its working copy to its result: a session in a copy of the project, one message in it, and what that has
// changed as a patch. After a crash or a handing back it goes on where it stood, when the working copy is there; else it begins anew.

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from '../../shared/ids.ts';
import type { Limits } from '../../shared/limits.ts';
import { fail, type Outcome, ok, UserError } from '../../shared/outcome.ts';
import { Fenced } from '../../shared/ports.ts';
import { createScrub } from '../../shared/scrub.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import type { ModelPair, Odin, PermissionPolicy } from '../api.ts';
import { archiveSession } from '../archive-move.ts';
import type { Scope } from '../budget/ledger.ts';
import type { Log } from '../log.ts';
import { openOdin } from '../odin.ts';
import type { HeavyPool } from '../pool.ts';
import type { RedisHandle } from '../redis.ts';
import { removeTree } from './copy-tree.ts';
import { filesOf } from './git.ts';
import { accessOf } from './jobs.ts';
import type { PatchShell } from './patch-shell.ts';
import type { BatchStore, ItemClaim, ItemResult, ItemStatus } from './store.ts';
import type { Task } from './task.ts';
import type { WorkingCopies } from './working-copy.ts';

export interface TaskDeps {
  readonly home: string;
  readonly handle: RedisHandle;
  readonly pool: HeavyPool;
  readonly models: ModelPair;
  readonly permission: PermissionPolicy;
  readonly store: BatchStore;
  readonly copies: WorkingCopies;
  readonly patches: PatchShell;
  readonly worker: string;
  readonly log: Log;
  /** As in git.ts, remembered. */
  repositoryOf(root: string): Promise<string | null>;
  notice(line: string): void;
}

export interface TaskOrder {
  readonly bid: string;
  readonly gen: number;
  readonly task: Task;
  /** The folder that is the task's alone, also when it works in one that others share, and its workspace. */
  readonly folder: string;
  readonly ws: string;
  readonly claim: Extract<ItemClaim, { readonly status: 'ok' }>;
  /** The project's root on this machine. */
  readonly root: string;
  readonly scope: Scope | null;
  /** Aborted when the task is not ours any more, or the process leaves. */
  readonly signal: AbortSignal;
  /** Aborted when the batch is cancelled. */
  readonly cancelled: AbortSignal;
}

export interface TaskEnd {
  readonly result: ItemResult;
  readonly patch: string;
  /** When the result is kept: the session leaves Redis, the working copy goes. */
  cleanUp(): Promise<void>;
}

/** Rejects with the signal's reason when that aborts, and with Fenced when another process has the task; it is then as it was left. */
export async function runTask(deps: TaskDeps, order: TaskOrder): Promise<TaskEnd> {
  const { task, folder, ws, root, signal } = order;
  const startedAt = Date.now();
  const isOwn = accessOf(task) === 'edit';
  const failed = (reason: string, answer: string): TaskEnd => ({
    result: { ...resultOf(deps, task, startedAt), status: 'failed', reason, answer },
    patch: '',
    cleanUp: () => removeTree(folder),
  });
  const repository = await deps.repositoryOf(root);
  if (repository === null) return failed('no_repository', `${root} is not in a git repository.`);
  const made = await copyFor(deps, order, repository);
  if (!made.ok) return failed(made.failure.code, made.failure.message);
  const { copy, sid } = made.value;
  const inRepository = relative(repository, root);
  const copyRoot = join(copy, inRepository);
  if (!existsSync(copyRoot)) return failed('no_folder', `Commit ${task.base} has no folder ${inRepository}.`);
  signal.throwIfAborted();
  const odin = await openOdin({
    cwd: copyRoot,
    home: deps.home,
    models: deps.models,
    permission: deps.permission,
    task: {
      root: copyRoot,
      ws,
      trustedAs: root,
      sid,
      handle: deps.handle,
      pool: deps.pool,
      ...(order.scope ? { scope: order.scope } : {}),
    },
    log: deps.log,
    notice: deps.notice,
  });
  let done: Done;
  try {
    done = await runMessage(odin, deps, order, sid);
  } catch (error) {
    if (error instanceof UserError) return failed('refused', error.message);
    throw error;
  } finally {
    await odin.close();
  }
  const patch = isOwn
    ? await takePatch(deps.patches, folder, task.base)
    : ok({ patch: '', files: [] as readonly string[] });
  const result: ItemResult = {
    ...resultOf(deps, task, startedAt),
    ...{ status: statusOf(done), reason: done.status, answer: done.answer, steps: done.steps, session: sid },
    ...{ costUsd: done.costUsd, tokens: done.spending.reduce((sum, { usage }) => sum + usage.input + usage.output, 0) },
  };
  const archive = async () => {
    await archiveSession({ redis: deps.handle.client, home: deps.home }, sid).catch((error: unknown) =>
      deps.log('a task was not archived', { sid, error: String(error) }),
    );
  };
  if (!patch.ok) {
    const answer = `${result.answer}\n[${patch.failure.message} The working copy stays: ${folder} on ${hostname()}.]`;
    const kept: ItemResult = { ...result, status: 'failed', reason: patch.failure.code, answer, kept: folder };
    return { result: kept, patch: '', cleanUp: archive };
  }
  return {
    result: { ...result, files: [...patch.value.files] },
    patch: patch.value.patch,
    async cleanUp() {
      // In this order: while the folder is there, somebody sees to it that both are done.
      await archive();
      await removeTree(folder);
    },
  };
}

/** The copy that the task works in, as it was left when it has begun here, and its session. */
async function copyFor(
  { copies, store }: TaskDeps,
  { bid, gen, task, folder, ws, claim }: TaskOrder,
  repository: string,
): Promise<Outcome<{ readonly copy: string; readonly sid: string }>> {
  const { sid, isFresh } = claim;
  const isOwn = accessOf(task) === 'edit';
  if (isOwn && !isFresh && existsSync(folder)) return ok({ copy: folder, sid });
  const made = await copies[isOwn ? 'own' : 'shared'](folder, bid, repository, task.base);
  if (!made.ok) return made;
  // What it had changed in a copy that is gone is not in this one, so the task begins anew.
  const isLost = isOwn && !isFresh && (await store.hasMessages(sid));
  const session = isLost ? ulid() : sid;
  if (isLost) await store.renewSession(bid, task.id, gen, ws, session);
  return ok({ copy: made.value, sid: session });
}

type Done = Extract<StreamEvent, { readonly type: 'AgentDone' }>;

const POLL_MS = 50;

async function runMessage(
  odin: Odin,
  { models, store }: TaskDeps,
  { bid, gen, task, claim, signal, cancelled }: TaskOrder,
  sid: string,
): Promise<Done> {
  // Another process that has this copy still is on its way out, or silent: then it is ended, in time.
  while (!odin.owner) await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  // Somebody who has it since may even have ended it, and its session with it, which is not to be begun again.
  if (!(await store.isNewest(bid, task.id, claim.epoch))) throw new Fenced('The task has another claim.');
  const { seq } = await odin.submit(sid, {
    mode: task.mode,
    body: task.prompt,
    // Its optional keys are absent or have a value, never undefined: it was JSON.
    limits: task.limits as Partial<Limits>,
    model: task.model ?? models.model,
    smallModel: models.smallModel,
    ...(models.fallbackModels === undefined ? {} : { fallbackModels: models.fallbackModels }),
    // Submitted again after a crash it is the same message, which goes on.
    mid: `${bid}-${task.id}-${gen}`,
  });
  const cancel = () => void odin.cancel(sid, 'odin batch cancel').catch(() => {});
  if (cancelled.aborted) cancel();
  cancelled.addEventListener('abort', cancel, { once: true });
  try {
    for await (const event of odin.follow(sid, { from: '0', signal })) {
      if (event.seq === seq && event.type === 'AgentDone') return event;
      if (event.type === 'MessageStarted' && cancelled.aborted) cancel();
    }
  } finally {
    cancelled.removeEventListener('abort', cancel);
  }
  signal.throwIfAborted();
  throw new Error('The session can no longer be followed.');
}

const resultOf = (
  { worker }: TaskDeps,
  task: Task,
  startedAt: number,
): Omit<ItemResult, 'status' | 'reason' | 'answer'> => ({
  ...{ id: task.id, line: task.line, files: [], base: task.base, costUsd: 0, tokens: 0, steps: 0 },
  ...{ session: null, worker, startedAt, endedAt: Date.now() },
});

function statusOf({ status }: Done): ItemStatus {
  switch (status) {
    case 'completed':
    case 'cancelled':
      return status;
    case 'step_limit':
    case 'budget':
    case 'repeated_calls':
      return 'limit';
    case 'planner_failure':
    case 'refused':
      return 'failed';
  }
}

const MAX_PATCH_BYTES = 8 * 1024 * 1024;

/** What goes to Redis holds no secret and is not without end. */
async function takePatch(
  patches: PatchShell,
  folder: string,
  base: string,
): Promise<Outcome<{ readonly patch: string; readonly files: readonly string[] }>> {
  const taken = await patches.patchOf(folder, base);
  if (!taken.ok) return taken;
  const patch = taken.value;
  if (patch === '') return ok({ patch, files: [] });
  if (Buffer.byteLength(patch) > MAX_PATCH_BYTES) return fail('failed', 'patch_too_large', 'Its patch is over 8 MB.');
  if (createScrub(process.env)(patch) !== patch) {
    return fail(
      'failed',
      'patch_holds_secret',
      'Its patch holds what looks like a key or a password, so it was not taken.',
    );
  }
  return ok({ patch, files: filesOf(patch) });
}
