// The composition root: opens Redis, the workspace, the files and the pools, and hands out the facade of api.ts. It decides
// nothing: what a message does is the machines', when it runs is the dispatcher's.

import { homedir } from 'node:os';
import { modelInfo } from '../llm/model-info.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { CommandRules, ToolContext, ToolResponse } from '../shared/define-tool.ts';
import type { Question } from '../shared/events.ts';
import type { FileIntent, FilesPort } from '../shared/files-port.ts';
import { opId, ulid } from '../shared/ids.ts';
import type { Json } from '../shared/json.ts';
import { type Outcome, ok, UserError } from '../shared/outcome.ts';
import type { PermissionAnswer } from '../shared/ports.ts';
import { createScrub } from '../shared/scrub.ts';
import type { State } from '../shared/state.ts';
import { getModeTools } from '../tools/registry.ts';
import type { FileDiff, ModelPair, Odin, OpenOptions, OpenQuestion } from './api.ts';
import { type Blobs, openBlobs } from './blobs.ts';
import { type Config, loadConfig } from './config.ts';
import { type Control, type ControlEntry, openControl, sendControl } from './control.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { createEventBus } from './event-bus.ts';
import { commandIntentOf } from './exec/command-intent.ts';
import { openCommands } from './exec/commands.ts';
import { finishCommand } from './exec/finish-command.ts';
import { textFor } from './files/change-file.ts';
import type { FileCacheConfig } from './files/file-cache.ts';
import { EMPTY_FILE_HISTORY, foldFileHistory, netChanges } from './files/file-history.ts';
import { createFiles, type Files } from './files/files.ts';
import { lineDiff } from './files/line-diff.ts';
import { fileIntentOf, resumeEdit } from './files/resume-edit.ts';
import { followFromRedis, followOwn } from './follow-session.ts';
import { type Inbox, openInbox } from './inbox.ts';
import type { InboxMessage } from './inbox-message.ts';
import { readLog } from './journal-read.ts';
import { workspaceId } from './keys.ts';
import { type Log, openLog } from './log.ts';
import { withInlinePayload } from './payloads.ts';
import { askNobody, createPermissions, type Permissions } from './permissions.ts';
import { grantedRules, NO_PERMISSIONS, type PermissionMemory, readOpenQuestions } from './permissions-memory.ts';
import { openRuleStore } from './permissions-rules.ts';
import { openHeavyPool } from './pool.ts';
import { lock, tryLock } from './process-lock.ts';
import { openTurnQueue, type TurnQueue } from './queue.ts';
import { connectRedis, type RedisHandle } from './redis.ts';
import { openSearch } from './search.ts';
import { createSessionRunner, type SessionRunner } from './session-runner.ts';
import { openSmallModel } from './small-model.ts';
import { emptyState, foldState } from './state.ts';
import { runToolAlone } from './tool-alone.ts';
import { findRoot, readInstructions } from './workspace.ts';

/** A process that is up for this long takes part in the queue; a shorter run need not load it. */
const QUEUE_AFTER_MS = 1_000;

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
  try {
    if (!config.ok) throw new UserError(config.failure.message);
    const ws = workspaceId(root, handle.scope);
    const blobs = openBlobs(options.home);
    const { evictionPolicy, ...limits } = config.value.fileCache;
    const cache = { ...limits, ...(evictionPolicy === undefined ? {} : { eviction: evictionPolicy }) };
    const files = createFiles({ root, blobs, cache: cache as Partial<FileCacheConfig> });
    const world = openWorld(options, root, handle, ws, blobs, files, config.value);
    if (options.models) await world.seekOwnership();
    else if (options.commandsOnly) await world.ownForCommands();
    return world.odin;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function openWorld(
  options: OpenOptions,
  root: string,
  handle: RedisHandle,
  ws: string,
  blobs: Blobs,
  files: Files,
  config: Config,
) {
  const { maxSteps } = config;
  const editValidation = config.edit.validation ?? 'auto';
  const redis = handle.client;
  const inbox: Inbox = openInbox(redis, blobs, ws, root);
  const bus = createEventBus();
  const pool = openHeavyPool();
  const search = openSearch(pool);
  const scrub = createScrub(process.env);
  const smallModel = openSmallModel(options.models);
  const ruleStore = openRuleStore(options.home, root);
  const permissions: Permissions = createPermissions({
    policy: options.permission ?? { mode: 'deny', timeoutMs: null },
    early: (sid, questionId) => earlyAnswer(sid, questionId),
    watch: (seen) => options.onQuestion?.(seen),
    storeRule: (rule) => ruleStore.add(rule, Date.now()),
  });
  const ports = new Map<string, FilesPort>();
  const born = new Set<string>();
  const closing = new AbortController();
  const commands = openCommands({
    root,
    home: options.home,
    userHome: homedir(),
    env: process.env,
    closing: closing.signal,
  });
  const lockName = `ws:${options.home}:${ws}`;
  const logFile = openLog(options.home, Boolean(process.env['ODIN_LOG']), scrub);
  const log: Log = options.log ?? logFile.log;
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
      files,
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
      turnDeps: (sid, mode, todos, memory) => ({
        permissions: permissions.forSession(sid),
        toolRule: (tool) => config.toolRules[tool],
        scrub,
        clean: cleanText,
        tools: (mode) => getModeTools(mode, false),
        provider: (model) => models.provider(model),
        maxOutputTokens: (model) => modelInfo(model).maxOutputTokens,
        cachedFiles: () => portOf(sid).list(),
        context: (call, more): ToolContext => ({
          editValidation,
          root,
          mode,
          op: call.op,
          files: portOf(sid),
          search,
          model: smallModel,
          exec: commands.portFor(sid),
          commandRules: commandRules(memory()),
          todos,
          ...more,
        }),
        finishIntent: ({ intent }) => {
          const command = commandIntentOf(intent);
          return command ? finishCommand(commands, sid, command, scrub) : finishFileIntent(files, intent);
        },
        now: Date.now,
        log,
      }),
    });

  /** Makes this process the one that runs the workspace's turns, now or when the present one leaves. */
  const seekOwnership = async (): Promise<void> => {
    const held = await tryLock(lockName);
    if (held) return own(held);
    lock(lockName, closing.signal).then(
      (later) => {
        if (closing.signal.aborted) later.release();
        else own(later, true);
      },
      (error: unknown) => {
        if (!closing.signal.aborted) log('ownership was not gained', { error: String(error) });
      },
    );
  };

  const own = (held: { release(): void }, isLate = false): void => {
    const runner = createRunner(options.models as ModelPair);
    const dispatcher = createDispatcher({ runner, chain: true, openQueue, log });
    owned = { dispatcher, runner, release: () => held.release() };
    // In this order: cancels and answers that wait are known before what they are about goes on.
    const begin = () => {
      listen(runner)
        .then(() => (closing.signal.aborted ? undefined : dispatcher.start()))
        .catch((error: unknown) => log('the queue did not open', { error: String(error) }));
    };
    if (isLate) return begin();
    const timer = setTimeout(begin, QUEUE_AFTER_MS);
    closing.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  };

  /** Runs what this process itself submits; everything else waits for a process with models. */
  const ownForCommands = async (): Promise<void> => {
    const held = await tryLock(lockName);
    if (!held) return;
    const runner = createRunner(NO_MODELS);
    const dispatcher = createDispatcher({ runner, chain: false, openQueue, log });
    owned = { dispatcher, runner, release: () => held.release() };
  };

  /** Takes requests of other processes. */
  const listen = async (runner: SessionRunner): Promise<void> => {
    control = await openControl(handle, ws, (entry) => {
      const { id, sid, message } = entry;
      if (message.type === 'answer') {
        takeAnswer(entry, message).catch((error: unknown) => log('an answer stays', { error: String(error) }));
      } else if (runner.cancel(sid, message.seq, message.by)) void control?.acknowledge(id);
    });
    if (closing.signal.aborted) control.close();
  };

  /** An answer from another process. One that comes before its question is asked again stays until then. */
  const takeAnswer = async (entry: ControlEntry, message: AnswerMessage): Promise<void> => {
    const { sid } = entry;
    if (permissions.answer(sid, message.questionId, answerOf(message))) return acknowledgeAnswer(entry, message);
    const open = await readOpenQuestions(redis, sid);
    if (!open.some(({ question }) => question.id === message.questionId)) await control?.acknowledge(entry.id);
  };

  const earlyAnswer = (sid: string, questionId: string): PermissionAnswer | null => {
    for (const entry of control?.pending(sid) ?? []) {
      const { message } = entry;
      if (message.type !== 'answer' || message.questionId !== questionId) continue;
      acknowledgeAnswer(entry, message).catch((error: unknown) => log('an answer stays', { error: String(error) }));
      return answerOf(message);
    }
    return null;
  };

  /** Once it is in the journal. */
  const acknowledgeAnswer = async (entry: ControlEntry, { questionId }: AnswerMessage): Promise<void> => {
    for await (const event of bus.subscribe(entry.sid, closing.signal)) {
      if (event.type !== 'PermissionAnswered' || event.questionId !== questionId) continue;
      await control?.acknowledge(entry.id);
      return;
    }
  };

  const readQuestions = async (): Promise<readonly OpenQuestion[]> => {
    const busy = (await inbox.sessions()).filter(({ status }) => status === 'running' || status === 'interrupted');
    const lists = await Promise.all(
      busy.map(async ({ sid }) =>
        (await readOpenQuestions(redis, sid)).map(({ op, question, at }) => ({ ...question, sid, op, askedAt: at })),
      ),
    );
    return lists.flat().toSorted((a, b) => a.askedAt - b.askedAt);
  };

  let ruleLists: readonly (readonly string[])[] = [];
  let allRules: readonly string[] = [];
  /** Entries of AllowedCommands that hold now. The same array while nothing changes: decisions are compiled once for each. */
  const allowedRules = (memory: PermissionMemory): readonly string[] => {
    const lists = [config.allowedCommands, ruleStore.rules(), options.permission?.allow ?? [], grantedRules(memory)];
    const same = lists.every(
      (list, at) => list.length === ruleLists[at]?.length && list.every((rule, n) => rule === ruleLists[at]?.[n]),
    );
    if (!same) allRules = lists.flat();
    ruleLists = lists;
    return allRules;
  };

  /** The rules of this moment: a call keeps those it began with, also when its own answer makes a new one. */
  const commandRules = (memory: PermissionMemory): (() => CommandRules) => {
    const rules = { allowed: allowedRules(memory), forbidden: config.forbiddenCommands };
    return () => rules;
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
    served: async () => {
      if (owned) return true;
      const free = await tryLock(lockName);
      free?.release();
      return free === null;
    },
    async diff(sid) {
      await inbox.head(sid);
      let history = EMPTY_FILE_HISTORY;
      for (const { event } of await readLog(redis, sid, '0')) history = foldFileHistory(history, event);
      return Promise.all(netChanges(history).map((change) => fileDiff(blobs, root, change)));
    },
    async submit(sid, { mode, body, limits, mid, ...options }) {
      const submitted = await inbox.submit({
        sid,
        mid: mid ?? ulid(),
        mode,
        body: scrub(body),
        limits: limits ?? {},
        options,
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
    questions: readQuestions,
    async answer(questionId, decision, { by, word }) {
      const isMeant = ({ id }: Question) => questionId !== '' && id.startsWith(questionId);
      const here = permissions.waiting().filter(isMeant);
      const found = here.length > 0 ? here : (await readQuestions()).filter(isMeant);
      const question = found[0];
      if (!question) throw noQuestion(questionId);
      if (found.length > 1)
        throw new UserError(`"${questionId}" is the beginning of ${found.length} questions. Give more of it.`);
      if (decision === 'allow_always' && question.rule === undefined) throw NO_RULE;
      const answer = { decision, by, ...(word === undefined ? {} : { word: scrub(word) }) };
      if (!permissions.answer(question.sid, question.id, answer)) {
        await sendControl(redis, ws, question.sid, { type: 'answer', questionId: question.id, ...answer });
      }
      return question;
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
        permissions: askNobody(),
        rule: config.toolRules[name],
        signal,
        context: {
          root,
          mode,
          editValidation,
          op: opId(0, 0, 1),
          files: files.portFor(),
          search,
          model: smallModel,
          exec: commands.portFor(`alone-${ulid()}`),
          commandRules: commandRules(NO_PERMISSIONS),
          todos: () => [],
        },
      }),
    async close() {
      closing.abort();
      await owned?.dispatcher.close();
      await commands.close();
      control?.close();
      const queue = await clientQueue?.catch(() => null);
      await queue?.close();
      await pool.close();
      await handle.close();
      owned?.release();
      await logFile.flushed();
    },
  };
  return { odin, seekOwnership, ownForCommands };
}

type AnswerMessage = Extract<ControlEntry['message'], { readonly type: 'answer' }>;

const answerOf = ({ decision, by, word }: AnswerMessage): PermissionAnswer => ({
  decision,
  by,
  ...(word === undefined ? {} : { word }),
});

const noQuestion = (id: string): UserError =>
  new UserError(
    `There is no open question ${id}: it was answered, or its time is over. \`odin questions\` lists what is open.`,
  );

const NO_RULE = new UserError(
  'No rule is narrow enough to be kept for always. Answer `allow` for this time, or `session` for this session.',
);

const NO_MODELS: ModelPair = {
  model: 'none/none',
  smallModel: 'none/none',
  provider: () => Promise.reject(new UserError('No model is set up; `odin doctor` says how to set one up.')),
};

/** A file change that a crash interrupted is finished; of anything else the outcome is unknown. */
async function finishFileIntent(files: Files, json: Json): Promise<Outcome<ToolResponse> | null> {
  const intent = fileIntentOf(json);
  if (!intent) return null;
  const resumed = await resumeEdit(files, intent);
  if (!resumed.ok) return resumed;
  const { change } = resumed.value;
  const text = `Odin was interrupted while it changed ${change.path}; the change is made now, exactly once.`;
  return ok({ text, description: text, affectedFiles: [change.path], data: { ...change } as unknown as Json });
}

async function fileDiff(blobs: Blobs, root: string, change: FileIntent): Promise<FileDiff> {
  const textOf = async (ref: FileIntent['beforeBlob']) => textFor(ref && (await blobs.get(ref)));
  const path = change.path.startsWith(`${root}/`) ? change.path.slice(root.length + 1) : change.path;
  const diff = await lineDiff(path, await textOf(change.beforeBlob), await textOf(change.afterBlob));
  const status = change.beforeHash === null ? 'created' : change.afterHash === null ? 'deleted' : 'changed';
  return { path, status, ...diff };
}

async function queuedMessage(blobs: Blobs, message: InboxMessage) {
  const body = await blobs.getPayload(message.body);
  return { seq: message.seq, mid: message.mid, mode: message.mode, body, timestamp: message.at };
}
