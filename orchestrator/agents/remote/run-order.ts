// One subagent of another Odin, from its working copy to its end (SPEC O19, C5): a session in a clone that is what the parent's working copy
// was, one message in it, and what that changed as a patch. What it may do comes from this process' own settings, never from the order.

import { rename } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventOf } from '../../../shared/events.ts';
import { MAIN_AGENT } from '../../../shared/events.ts';
import { sha256 } from '../../../shared/ids.ts';
import type { Limits } from '../../../shared/limits.ts';
import { type Outcome, ok, UserError } from '../../../shared/outcome.ts';
import { Fenced } from '../../../shared/ports.ts';
import { createScrub } from '../../../shared/scrub.ts';
import type { ModelPair, Odin, PermissionPolicy } from '../../api.ts';
import { archiveSession } from '../../archive-move.ts';
import { repositoryOf } from '../../batch/git.ts';
import { openBlobs } from '../../blobs.ts';
import { workspaceId } from '../../keys.ts';
import type { Log } from '../../log.ts';
import { openOdin } from '../../odin.ts';
import type { HeavyPool } from '../../pool.ts';
import type { RedisHandle } from '../../redis.ts';
import { endOfLoop } from '../agent-end.ts';
import { askParent, type ParentsWord } from './ask-parent.ts';
import { mirror } from './mirror.ts';
import { AFTER_ALL, type RemoteEnd, type RemoteOrder, type RemoteWord } from './order.ts';
import type { RemoteStore } from './store.ts';
import { keptCopy, makeCopy, removeCopy, takePatch, treeOfCopy } from './working-copy.ts';

export interface OrderDeps {
  readonly home: string;
  readonly handle: RedisHandle;
  readonly pool: HeavyPool;
  readonly models: ModelPair;
  readonly permission: PermissionPolicy;
  readonly store: RemoteStore;
  /** As people know it. */
  readonly worker: string;
  readonly log: Log;
  notice(line: string): void;
}

export interface ClaimedOrder {
  readonly order: RemoteOrder;
  /** The project's root on this machine. */
  readonly root: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly session: string;
  /** Aborted when the agent is not ours any more, or the process leaves. */
  readonly signal: AbortSignal;
}

/** Where the copies of agents from one Redis are: beside the state folder, which no command may look into. */
export const copiesOf = (home: string, handle: RedisHandle): string =>
  join(`${home}-worktrees`, '_agents', sha256(handle.where).slice(0, 12));

const POLL_MS = 50;

/** Resolves when the end is said. Rejects with the signal's reason, or with Fenced, when it is not ours to say. */
export async function runOrder(deps: OrderDeps, claimed: ClaimedOrder): Promise<void> {
  const { store, handle, home } = deps;
  const { order, root, epoch, attempt, session: sid, signal } = claimed;
  const { rid } = order;
  const say = async (n: number, end: RemoteEnd): Promise<void> => {
    if (!(await store.say(rid, { epoch, attempt, n }, end))) throw new Fenced('Somebody else has the agent.');
  };
  const folder = join(copiesOf(home, handle), `${rid}.${attempt}`);
  const prepared = await prepare(deps, order, root, folder);
  signal.throwIfAborted();
  if (!prepared.ok) return say(AFTER_ALL, unableBecause(prepared.failure.message));
  const { tree, copyRoot } = prepared.value;
  if (!(await store.say(rid, { epoch, attempt, n: 0 }, { k: 'placed', worker: deps.worker }))) {
    throw new Fenced('Somebody else has the agent.');
  }
  const parent = askParent(() => store.isListening(rid));
  const opened = await openOdin({
    cwd: copyRoot,
    home,
    models: deps.models,
    permission: deps.permission,
    task: {
      root: copyRoot,
      ws: workspaceId(copyRoot, handle.scope),
      trustedAs: root,
      sid,
      handle,
      pool: deps.pool,
      agent: {
        ...{ role: order.role, tools: order.tools },
        // What this worker says no to by its own settings is not asked.
        ...(deps.permission.mode === 'ask' ? { permissions: parent.permissions } : {}),
        ...(order.metered ? { leave: parent.leave } : {}),
      },
    },
    log: deps.log,
    notice: deps.notice,
  }).catch((error: unknown) => {
    if (error instanceof UserError) return error;
    throw error;
  });
  if (opened instanceof UserError) return say(AFTER_ALL, unableBecause(opened.message));
  const odin: Odin = opened;
  // The mirror's connection must not outlive the session's owner.
  const over = new AbortController();
  let ended: Awaited<ReturnType<typeof mirror>>;
  try {
    const running = mirror({
      ...{ handle, store, rid, sid, epoch, attempt, blobs: openBlobs(home), roots: [copyRoot, order.root] },
      signal: AbortSignal.any([signal, over.signal]),
      obey: (word) => obey({ odin, parent, sid, attempt }, word),
      refused: (id, why) => deps.log('a job was refused', { id: `${rid} ${id}`, why }),
    });
    running.catch(() => {});
    await begin(odin, deps.models, claimed);
    ended = await running;
  } catch (error) {
    if (error instanceof UserError) return await say(AFTER_ALL, unableBecause(error.message));
    throw error;
  } finally {
    over.abort();
    await odin.close();
  }
  signal.throwIfAborted();
  const { done, n } = ended;
  const end = endOf(done, [copyRoot, order.root]);
  const scrub = createScrub(process.env);
  const patch: Outcome<string> = order.mode === 'edit' ? await takePatch(folder, tree, scrub) : ok('');
  if (!patch.ok) {
    const { message } = patch.failure;
    const answer = `${end.answer}\n[${message} The working copy stays: ${keptCopy(folder)} on ${hostname()}.]`;
    const failure = { kind: 'failed', code: patch.failure.code, message };
    await say(n + 1, { ...end, end: end.end === 'completed' ? 'failed' : end.end, answer, failure });
    await rename(folder, keptCopy(folder));
  } else {
    const text = patch.value;
    if (text !== '' && !(await store.keepPatch(rid, epoch, text))) throw new Fenced('Somebody else has the agent.');
    await say(n + 1, { ...end, patch: text === '' ? null : sha256(text) });
    await removeCopy(folder);
  }
  await archiveSession({ redis: handle.client, home }, sid).catch((error: unknown) =>
    deps.log('an agent was not archived', { sid, error: String(error) }),
  );
}

async function prepare(
  { models, store }: OrderDeps,
  order: RemoteOrder,
  root: string,
  folder: string,
): Promise<Outcome<{ readonly tree: string; readonly copyRoot: string }>> {
  const unable = (message: string): Outcome<never> => ({
    ok: false,
    failure: { kind: 'failed', code: 'unable', message },
  });
  for (const model of [order.model, ...order.fallbackModels]) {
    if (!canReach(models, model)) return unable(`the worker cannot ask ${model}`);
  }
  const repository = await repositoryOf(root);
  if (repository === null) return unable(`${root} of the worker is not in a git repository`);
  const copyRoot = join(folder, relative(repository, root));
  const known = await treeOfCopy(folder);
  if (known !== null) return ok({ tree: known, copyRoot });
  const patch = order.patch === null ? '' : await store.patch(order.rid, order.patch);
  if (patch === null) return unable('what its parent had changed is not in Redis any more');
  const made = await makeCopy(repository, { base: order.base, patch }, folder, { shares: order.mode !== 'edit' });
  return made.ok ? ok({ tree: made.value, copyRoot }) : made;
}

function canReach(models: ModelPair, model: string): boolean {
  try {
    return (models.access?.(model) ?? null) !== null;
  } catch {
    return false;
  }
}

async function begin(odin: Odin, models: ModelPair, { order, session, signal }: ClaimedOrder): Promise<void> {
  // Another process that has this copy still is on its way out, or silent: then it is ended, in time.
  while (!odin.owner) await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  const { mode, prompt, limits, model, fallbackModels, rid } = order;
  await odin.submit(session, {
    ...{ mode, body: prompt, model, fallbackModels, smallModel: models.smallModel },
    // Its optional keys are absent or have a value, never undefined: it was JSON.
    limits: limits as Limits,
    // Submitted again after a crash it is the same message, which goes on.
    mid: rid,
  });
}

/** False when its message has not begun here. */
async function obey(
  {
    odin,
    parent,
    sid,
    attempt,
  }: { readonly odin: Odin; readonly parent: ParentsWord; readonly sid: string; readonly attempt: number },
  word: RemoteWord,
): Promise<boolean> {
  if (word.k === 'answer' || word.k === 'go') {
    if (word.k === 'answer' || word.placed === attempt) parent.hear(word);
    return true;
  }
  try {
    if (word.k === 'cancel') return await odin.cancel(sid, word.by);
    await odin.agent(sid, MAIN_AGENT, { type: 'say', text: word.text, by: word.by });
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

const unableBecause = (why: string): RemoteEnd => ({
  ...{ k: 'end', end: 'failed', limit: null, answer: why, failure: null, steps: 0, patch: null, unable: true },
});

function endOf(done: EventOf<'msg.done'>, [copy, parents]: readonly [string, string]): RemoteEnd {
  const { status, steps } = done;
  const answer = 'inline' in done.answer ? done.answer.inline.replaceAll(copy, parents) : '';
  const { failure, ...ended } = endOfLoop({ status, answer, failure: done.failure ?? null, steps });
  const { kind = 'failed', code = '', message = '' } = failure ?? {};
  return { k: 'end', ...ended, failure: failure && { kind, code, message }, patch: null, unable: false };
}
