// What an Odin process opens and closes: Redis, the workspace, the files, the pools, the settings. It decides nothing and runs
// nothing; who owns the workspace is ownership.ts, the facade is odin.ts.

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { createModelTable, type ModelTable } from '../llm/model-info.ts';
import type { FilesPort } from '../shared/files-port.ts';
import { UserError } from '../shared/outcome.ts';
import type { SmallModelPort } from '../shared/ports.ts';
import { createScrub, type Scrub } from '../shared/scrub.ts';
import type { SearchPort } from '../shared/search-port.ts';
import { type AgentFile, readAgentFiles } from './agents/agent-files.ts';
import type { RemoteAgents } from './agents/remote/remote-agents.ts';
import type { ModelPair, OpenOptions } from './api.ts';
import { openArchive } from './archive.ts';
import { type Blobs, openBlobs } from './blobs.ts';
import { createRecount, type Recount } from './budget/recount.ts';
import { type CommandRulesSource, createCommandRules } from './command-rules.ts';
import { type Config, loadConfig } from './config.ts';
import { createEventBus, type EventBus } from './event-bus.ts';
import { type Commands, openCommands } from './exec/commands.ts';
import type { FileCacheConfig } from './files/file-cache.ts';
import { createFiles, type Files } from './files/files.ts';
import type { SeenFiles } from './files/seen-files.ts';
import { openCommandHooks } from './hooks/command-hooks.ts';
import type { Hook } from './hooks/hook.ts';
import { type Inbox, openInbox } from './inbox.ts';
import { type Instructions, readInstructions } from './instructions.ts';
import { jobKeyFile } from './jobs/job-key.ts';
import { workspaceId } from './keys.ts';
import { type Log, openLog } from './log.ts';
import { createToolbox, type Toolbox } from './middleware/toolbox.ts';
import { openRuleStore, type RuleStore } from './permissions-rules.ts';
import { type AgentThreads, openAgentThreads, openHeavyPool, openPagePool } from './pool.ts';
import { limitModels } from './provider-limits/limit-models.ts';
import { openTurnQueue, type TurnQueue } from './queue.ts';
import { connectRedis, type RedisHandle } from './redis.ts';
import { openSearch } from './search.ts';
import { openSmallModel } from './small-model.ts';
import { learnStoredKeys } from './stored-keys.ts';
import { isFolderTrusted } from './trust.ts';
import { openWeb, type Web } from './web/web.ts';
import { findRoot } from './workspace.ts';

export interface World {
  readonly options: OpenOptions;
  /** Real path of the project's root, and the workspace's id made of it. */
  readonly root: string;
  readonly ws: string;
  readonly handle: RedisHandle;
  readonly config: Config;
  /** Windows and prices, the user's word on them first. */
  readonly models: ModelTable;
  readonly blobs: Blobs;
  readonly files: Files;
  readonly inbox: Inbox;
  readonly bus: EventBus;
  readonly search: SearchPort;
  readonly recount: Recount;
  readonly web: Web;
  /** The models of this process, within the limits that all processes share. Absent: it runs no turns. */
  readonly pair: ModelPair | undefined;
  readonly smallModel: SmallModelPort;
  readonly commands: Commands;
  readonly ruleStore: RuleStore;
  readonly commandRules: CommandRulesSource;
  readonly toolbox: Toolbox;
  /** Threads for the loops of subagents. */
  readonly agentThreads: AgentThreads;
  /** Custom subagents, as they were when they were first asked for: the planner's prompt is to stay as it is. */
  agentFiles(): readonly AgentFile[];
  /** Subagents that work with workers; null when there can be none: no key of jobs, or it is a worker's own task. */
  remoteAgents(): Promise<RemoteAgents | null>;
  /** The caller's, then those of the settings. */
  readonly hooks: readonly Hook[];
  readonly scrub: Scrub;
  readonly log: Log;
  /** Aborts when the process begins to leave. */
  readonly closing: AbortSignal;
  /** The files as an agent sees them; `seen` is what it has seen in other processes, for the first that asks. */
  portOf(sid: string, seen?: () => SeenFiles): FilesPort;
  /** Nobody sees the files as this one any more. */
  forget(sid: string): void;
  /** The instructions as they are now, for a session that is opened. */
  instructions(): Instructions;
  openQueue(): Promise<TurnQueue>;
  /** Aborts `closing`; what runs on it is stopped by its owner before `close`. */
  leave(): void;
  close(): Promise<void>;
}

/** Throws UserError with one line when Redis or the settings cannot be used; then nothing stays open. */
export async function openWorld(options: OpenOptions): Promise<World> {
  learnStoredKeys(options.home);
  const { task } = options;
  const root = task?.root ?? findRoot(options.cwd);
  const notice = options.notice ?? (() => {});
  // Loads the SDK while Redis comes up; whoever needs the provider hears of a failure.
  if (options.models) options.models.provider(options.models.model).catch(() => {});
  const { redisUrl, home } = options;
  const [handle, config] = await Promise.all([
    task?.handle ?? connectRedis({ home, notice, ...(redisUrl === undefined ? {} : { redisUrl }) }),
    loadConfig({ projectRoot: root, home, ...(task ? { trustedAs: task.trustedAs } : {}) }),
  ]);
  if (config.ok) return worldOf(options, root, handle, config.value);
  if (!task) await handle.close();
  throw new UserError(config.failure.message);
}

function worldOf(options: OpenOptions, root: string, handle: RedisHandle, config: Config): World {
  const { home, notice = () => {} } = options;
  const ws = options.task?.ws ?? workspaceId(root, handle.scope);
  const blobs = openBlobs(home);
  const files = createFiles({ root, blobs, cache: cacheLimits(config) });
  const { task } = options;
  const pool = task?.pool ?? openHeavyPool();
  const share = { redis: handle.client, isInteractive: task === undefined };
  const pair = options.models && limitModels(options.models, config.providerLimits, share);
  const isTrusted = () => isFolderTrusted(home, task?.trustedAs ?? root);
  const { webRules } = options;
  const closing = new AbortController();
  const commands = openCommands({
    root,
    home,
    redis: handle.where,
    userHome: homedir(),
    env: process.env,
    closing: closing.signal,
  });
  const scrub = createScrub(process.env);
  const web = openWeb({
    openPool: openPagePool,
    holdsSecret: (text) => scrub(text) !== text,
    ...(webRules ? { rules: webRules } : {}),
  });
  const logFile = openLog(home, Boolean(process.env['ODIN_LOG']), scrub);
  const log = options.log ?? logFile.log;
  const ruleStore = openRuleStore(home, root);
  const ports = new Map<string, FilesPort>();
  const toolbox = createToolbox(config.tools, options.middleware ?? []);
  let agentFiles: readonly AgentFile[] | null = null;
  let remoteAgents: Promise<RemoteAgents | null> | null = null;
  const agentThreads = openAgentThreads(options.agentThreads);
  const ended = () => toolbox.filesMayHaveChanged();
  const commandHooks = openCommandHooks(config.hooks, { root, env: process.env, ended });

  return {
    options,
    root,
    ws,
    handle,
    config,
    models: createModelTable(config.models),
    blobs,
    files,
    inbox: openInbox(handle.client, blobs, ws, root, openArchive({ redis: handle.client, home })),
    bus: createEventBus(),
    search: openSearch(pool),
    recount: createRecount(pool, closing.signal),
    web,
    pair,
    smallModel: openSmallModel(pair),
    commands,
    ruleStore,
    commandRules: createCommandRules(config, ruleStore, options.permission?.allow ?? [], () => isTrusted()),
    toolbox,
    agentThreads,
    agentFiles() {
      agentFiles ??= readAgentFiles({ root, home, trusted: isFolderTrusted(home, root) }, notice);
      return agentFiles;
    },
    async remoteAgents() {
      if (task || !existsSync(jobKeyFile(home))) return null;
      const isPreferred = config.agents.remote === 'prefer';
      remoteAgents ??= import('./agents/remote/remote-agents.ts').then(({ openRemoteAgents }) =>
        openRemoteAgents({ home, root, handle, files, scrub, log, isPreferred }),
      );
      return remoteAgents;
    },
    hooks: [...(options.hooks ?? []), ...commandHooks.hooks],
    scrub,
    log,
    closing: closing.signal,
    portOf(sid, seen) {
      const port = ports.get(sid) ?? files.portFor(seen?.());
      ports.set(sid, port);
      return port;
    },
    forget: (sid) => void ports.delete(sid),
    instructions() {
      const read = readInstructions({ root, cwd: options.cwd, home, trusted: isTrusted() });
      return { ...read, text: scrub(read.text) };
    },
    openQueue: () => openTurnQueue(handle, ws, (error) => log('the queue reports', { error: error.message })),
    leave: () => closing.abort(),
    async close() {
      await Promise.all([agentThreads.close(), remoteAgents?.then((remote) => remote?.close())]);
      await commands.close();
      await commandHooks.close();
      await web.close();
      if (!task) {
        await pool.close();
        await handle.close();
      }
      await logFile.flushed();
    },
  };
}

function cacheLimits(config: Config): Partial<FileCacheConfig> {
  const { evictionPolicy, ...limits } = config.fileCache;
  const cache = { ...limits, ...(evictionPolicy === undefined ? {} : { eviction: evictionPolicy }) };
  // The schema's optional keys are absent or have a value, never undefined.
  return cache as Partial<FileCacheConfig>;
}
