// The composition root: opens Redis, the workspace, the files and the pools, and hands out the facade of api.ts. It decides
// nothing: what a message does is the machines', when it runs is the dispatcher's.

import { modelInfo } from '../llm/model-info.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { ToolContext } from '../shared/define-tool.ts';
import type { FilesPort } from '../shared/files-port.ts';
import { opId, ulid } from '../shared/ids.ts';
import { UserError } from '../shared/outcome.ts';
import { createScrub } from '../shared/scrub.ts';
import type { State } from '../shared/state.ts';
import { getModeTools } from '../tools/registry.ts';
import type { ModelPair, Odin, OpenOptions } from './api.ts';
import { type Blobs, openBlobs } from './blobs.ts';
import { loadConfig } from './config.ts';
import { type Control, openControl, sendControl } from './control.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { createEventBus } from './event-bus.ts';
import type { FileCacheConfig } from './files/file-cache.ts';
import { createFiles, type Files } from './files/files.ts';
import { followFromRedis, followOwn } from './follow-session.ts';
import { type Inbox, openInbox } from './inbox.ts';
import type { InboxMessage } from './inbox-message.ts';
import { readLog } from './journal-read.ts';
import { workspaceId } from './keys.ts';
import { createPermissions } from './permissions.ts';
import { openHeavyPool } from './pool.ts';
import { lock, tryLock } from './process-lock.ts';
import { openTurnQueue, type TurnQueue } from './queue.ts';
import { withInlinePayload } from './recorder.ts';
import { connectRedis, type RedisHandle } from './redis.ts';
import { openSearch } from './search.ts';
import { createSessionRunner, type SessionRunner } from './session-runner.ts';
import { openSmallModel } from './small-model.ts';
import { emptyState, foldState } from './state.ts';
import { runToolAlone } from './tool-alone.ts';
import { findRoot, readInstructions } from './workspace.ts';

/** A process that is up for this long takes part in the queue; a shorter run need not load it. */
const QUEUE_AFTER_MS = 250;

/** Opens Odin for a folder. Throws UserError with one line when Redis or the settings cannot be used. */
export async function openOdin(options: OpenOptions): Promise<Odin> {
  const root = findRoot(options.cwd);
  const notice = options.notice ?? (() => {});
  // Loads the SDK while Redis comes up; whoever needs the provider hears of a failure.
  if (options.models) options.models.provider(options.models.model).catch(() => {});
  const [handle, config] = await Promise.all([
    connectRedis({
      home: options.home,
      notice,
      ...(options.redisUrl === undefined ? {} : { redisUrl: options.redisUrl }),
    }),
    loadConfig({ projectRoot: root, home: options.home }),
  ]);
  if (!config.ok) {
    await handle.close();
    throw new UserError(config.failure.message);
  }
  const ws = workspaceId(root, handle.scope);
  const blobs = openBlobs(options.home);
  const { evictionPolicy, ...limits } = config.value.fileCache;
  const cache = { ...limits, ...(evictionPolicy === undefined ? {} : { eviction: evictionPolicy }) };
  const files = createFiles({ root, blobs, cache: cache as Partial<FileCacheConfig> });
  const world = openWorld(options, root, handle, ws, blobs, files, config.value.maxSteps);
  if (options.models) await world.seekOwnership();
  return world.odin;
}

function openWorld(
  options: OpenOptions,
  root: string,
  handle: RedisHandle,
  ws: string,
  blobs: Blobs,
  files: Files,
  maxSteps: number,
) {
  const redis = handle.client;
  const inbox: Inbox = openInbox(redis, blobs, ws, root);
  const bus = createEventBus();
  const pool = openHeavyPool();
  const search = openSearch(pool);
  const scrub = createScrub(process.env);
  const smallModel = openSmallModel(options.models);
  const permissions = createPermissions(null);
  const ports = new Map<string, FilesPort>();
  const born = new Set<string>();
  const closing = new AbortController();
  const log = (message: string, detail: Record<string, unknown>) => options.log?.(message, detail);
  let owned: { readonly dispatcher: Dispatcher; readonly runner: SessionRunner; release(): void } | null = null;
  let control: Control | null = null;
  let clientQueue: Promise<TurnQueue> | null = null;
  let instructions: Promise<string> | null = null;

  const portOf = (sid: string): FilesPort => {
    const port = ports.get(sid) ?? files.portFor();
    ports.set(sid, port);
    return port;
  };
  const openQueue = () => openTurnQueue(handle, ws, (error) => log('the queue reports', { error: error.message }));

  const createRunner = (models: ModelPair): SessionRunner =>
    createSessionRunner({
      redis,
      ws,
      root,
      cwd: options.cwd,
      blobs,
      bus,
      models,
      maxSteps,
      instructions: () => {
        instructions ??= readInstructions(root);
        return instructions;
      },
      cancelledBy: (sid, seq) => {
        const entry = control?.pending(sid).find(({ message }) => message.type === 'cancel' && message.seq === seq);
        return entry ? `ctl:${entry.id}` : null;
      },
      now: Date.now,
      turnDeps: (sid, mode, todos) => ({
        permissions,
        scrub,
        clean: cleanText,
        tools: (mode) => getModeTools(mode, false),
        provider: (model) => models.provider(model),
        maxOutputTokens: (model) => modelInfo(model).maxOutputTokens,
        cachedFiles: () => portOf(sid).list(),
        context: (call, more): ToolContext => ({
          root,
          mode,
          op: call.op,
          files: portOf(sid),
          search,
          model: smallModel,
          todos,
          ...more,
        }),
        finishIntent: async () => null,
        now: Date.now,
        log,
      }),
    });

  /** Makes this process the one that runs the workspace's turns, now or when the present one leaves. */
  const seekOwnership = async (): Promise<void> => {
    const name = `ws:${options.home}:${ws}`;
    const held = await tryLock(name);
    if (held) return own(held);
    lock(name, closing.signal).then(
      async (later) => {
        if (closing.signal.aborted) return later.release();
        own(later);
        await owned?.dispatcher.start();
      },
      (error: unknown) => {
        if (!closing.signal.aborted) log('ownership was not gained', { error: String(error) });
      },
    );
  };

  const own = (held: { release(): void }): void => {
    const runner = createRunner(options.models as ModelPair);
    const dispatcher = createDispatcher({ runner, openQueue, log });
    owned = { dispatcher, runner, release: () => held.release() };
    const timer = setTimeout(() => {
      Promise.all([dispatcher.start(), listen(runner)]).catch((error: unknown) =>
        log('the queue did not open', { error: String(error) }),
      );
    }, QUEUE_AFTER_MS);
    closing.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  };

  /** Takes requests of other processes. */
  const listen = async (runner: SessionRunner): Promise<void> => {
    control = await openControl(handle, ws, ({ id, sid, message }) => {
      if (message.type === 'cancel' && runner.cancel(sid, message.seq, message.by)) void control?.acknowledge(id);
    });
    if (closing.signal.aborted) control.close();
  };

  const readState = async (sid: string): Promise<State> => {
    const [, waiting, events] = await Promise.all([inbox.head(sid), inbox.waiting(sid), readLog(redis, sid, '0')]);
    let state = emptyState(sid);
    for (const { id, event } of events) {
      state = foldState(state, { id, event: await withInlinePayload(event, (blob) => blobs.getPayload({ blob })) });
    }
    return { ...state, root, messageQueue: await Promise.all(waiting.map((message) => queuedMessage(blobs, message))) };
  };

  const odin: Odin = {
    root,
    get owner() {
      return owned !== null;
    },
    newSession() {
      const sid = ulid();
      born.add(sid);
      return sid;
    },
    async submit(sid, { mode, body, limits, mid }) {
      const submitted = await inbox.submit({
        sid,
        mid: mid ?? ulid(),
        mode,
        body: scrub(body),
        limits: limits ?? {},
        create: born.has(sid),
      });
      if (submitted.wake) {
        if (owned) owned.dispatcher.wake(submitted.wake);
        else {
          clientQueue ??= openQueue();
          await (await clientQueue).add(submitted.wake);
        }
      }
      return { sid, seq: submitted.seq, position: submitted.position };
    },
    follow: (sid, { from = '0', signal }) =>
      owned
        ? followOwn(handle, blobs, bus, sid, { from, signal })
        : followFromRedis(handle, blobs, sid, { from, signal }),
    async cancel(sid, by) {
      const { claimed, cursor } = await inbox.head(sid);
      if (claimed <= cursor) return false;
      if (!owned?.runner.cancel(sid, claimed, by)) {
        await sendControl(redis, ws, sid, { type: 'cancel', seq: claimed, by });
      }
      return true;
    },
    sessions: () => inbox.sessions(),
    lastSession: () => inbox.last(),
    state: readState,
    async *export(sid) {
      await inbox.head(sid);
      for (const { id, event } of await readLog(redis, sid, '0')) {
        yield { id, event: await withInlinePayload(event, (blob) => blobs.getPayload({ blob })) } as never;
      }
    },
    async queued(sid) {
      await inbox.head(sid);
      return Promise.all((await inbox.waiting(sid)).map((message) => queuedMessage(blobs, message)));
    },
    removeQueued: (sid, seq) => inbox.removeWaiting(sid, seq),
    editQueued: (sid, seq, change) =>
      inbox.editWaiting(sid, seq, { ...change, ...(change.body === undefined ? {} : { body: scrub(change.body) }) }),
    runTool: (name, args, mode, signal) =>
      runToolAlone({
        name,
        args,
        tools: getModeTools(mode, false),
        permissions,
        signal,
        context: { root, mode, op: opId(0, 0, 1), files: files.portFor(), search, model: smallModel, todos: () => [] },
      }),
    async close() {
      closing.abort();
      await owned?.dispatcher.close();
      control?.close();
      const queue = await clientQueue?.catch(() => null);
      await queue?.close();
      await pool.close();
      await handle.close();
      owned?.release();
    },
  };
  return { odin, seekOwnership };
}

async function queuedMessage(blobs: Blobs, message: InboxMessage) {
  const body = await blobs.getPayload(message.body);
  return { seq: message.seq, mid: message.mid, mode: message.mode, body, timestamp: message.at };
}

