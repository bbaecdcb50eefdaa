// Which process runs the workspace's turns: the one that holds its kernel lock (DURABILITY 1). It runs them through the
// dispatcher, and takes the requests of other processes from the control stream: cancels, and answers to questions. How a process
// comes to hold the workspace is workspace-hold.ts.

import { grantedHosts } from '../agent/permissions-memory.ts';
import { retryDelayMs } from '../agent/retry-delay.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { ToolContext } from '../shared/define-tool.ts';
import { UserError } from '../shared/outcome.ts';
import type { PermissionAnswer } from '../shared/ports.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import { createStreamView } from '../shared/stream-view.ts';
import { asAgent } from './agents/as-agent.ts';
import { withAgentFiles } from './agents/with-agent-files.ts';
import type { AloneOrder } from './alone-order.ts';
import type { ModelPair } from './api.ts';
import { type ArchivePolicy, type Archiver, createArchiver, DEFAULT_POLICY } from './archive-policy.ts';
import { openScope } from './budget/ledger.ts';
import { messageLimits, sessionCaps } from './budget/settings.ts';
import { type Control, type ControlEntry, openControl } from './control.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { followFromRedis } from './follow-session.ts';
import { takeUpChange } from './hooks/take-up-change.ts';
import { nameJob } from './journal.ts';
import { openMarks } from './journal-marks.ts';
import { openSnapshots } from './journal-snapshot.ts';
import { createPauses } from './pauses.ts';
import { withInlinePayload } from './payloads.ts';
import { createPermissions, type Permissions } from './permissions.ts';
import { createQuarantine, type Quarantine } from './quarantine.ts';
import { readOpenQuestions } from './read-open-questions.ts';
import { resumeEffect } from './resume-effect.ts';
import { sourceOf } from './session-reads.ts';
import { createSessionRunner, type RunnerDeps, type SessionRunner } from './session-runner.ts';
import type { Turn } from './turn-ticket.ts';
import { waitingTurns } from './waiting-turns.ts';
import { type FiguresPublisher, publishFigures } from './watch/figures.ts';
import { createHold } from './workspace-hold.ts';
import type { LeaseEvents } from './workspace-lease.ts';
import type { World } from './world.ts';

export interface Owned {
  readonly dispatcher: Dispatcher;
  readonly runner: SessionRunner;
  readonly archiver: Archiver;
}

export interface Ownership {
  /** Null while another process, or none, owns the workspace. */
  owned(): Owned | null;
  readonly permissions: Permissions;
  /** Makes this process the owner, now or when the present one leaves. */
  seek(models: ModelPair): Promise<void>;
  /** Owns the workspace if it is free, for commands that this process itself submits; everything else waits. */
  ownForCommands(models?: ModelPair): Promise<void>;
  /** Runs one message under the eyes of the owner, which is another process. Rejects with Fenced when the signal ends it. */
  runAlone(models: ModelPair, turn: Turn, signal: AbortSignal): Promise<void>;
  /** Whether some process owns the workspace now. */
  isTaken(): Promise<boolean>;
  /** Puts back what runs, so that another process can go on with it. */
  stop(): Promise<void>;
  /** The very last step of leaving: the next owner may begin. */
  release(): void;
}

/** A process that is up for this long takes part in the queue; a shorter run need not load it. */
const QUEUE_AFTER_MS = 1_000;

export function createOwnership(world: World): Ownership {
  const { handle, ws, log, closing, options } = world;
  const notice = options.notice ?? (() => {});
  let owned: (Owned & { readonly quarantine: Quarantine | null }) | null = null;
  let control: Control | null = null;
  let figures: FiguresPublisher | null = null;
  let lastSteer: Promise<void> = Promise.resolve();

  const permissions = createPermissions({
    policy: options.permission ?? { mode: 'deny', timeoutMs: null },
    early: (sid, questionId) => earlyAnswer(sid, questionId),
    watch: (seen) => options.onQuestion?.(seen),
    storeRule: (rule) => world.ruleStore.add(rule, Date.now()),
  });

  const cancelledBy = (sid: string, seq: number): string | null => {
    const entry = control?.pending(sid).find(({ message }) => message.type === 'cancel' && message.seq === seq);
    if (!entry) return null;
    acknowledge(entry, isCancelOf(seq));
    return entry.message.by;
  };

  /** What is to be told to a message can only be taken once that runs here; looked at again when it does. */
  const begun = (runner: () => SessionRunner) => (sid: string) => {
    for (const entry of control?.pending(sid) ?? []) {
      const { message } = entry;
      if (message.type !== 'steer') continue;
      takeSteer(runner(), entry, message).catch((error: unknown) =>
        log('a request stays', { id: entry.id, error: String(error) }),
      );
    }
  };

  const quarantineOf = (command: readonly string[], models: ModelPair): Quarantine => {
    const { model, smallModel, fallbackModels = [] } = models;
    const { permission = { mode: 'deny', timeoutMs: null } } = options;
    const order = (turn: Turn): AloneOrder => ({
      turn: { sid: turn.sid, seq: turn.seq, mode: turn.mode, gen: turn.gen },
      models: { model, smallModel, fallbackModels },
      permission: { allow: [], ...permission },
    });
    return createQuarantine({
      redis: handle.client,
      ws,
      marks: openMarks(options.home),
      command,
      orderFor: (turn) => JSON.stringify(order(turn)),
      nameHelper: async (helper) => hold.lease?.nameHelper(helper),
      async relay({ sid, seq }, signal) {
        const { models: rates, blobs, bus } = world;
        for await (const event of followFromRedis(handle, sourceOf(world), blobs, sid, { from: '$', signal, rates })) {
          bus.publish(sid, () => [event]);
          if (event.type === 'AgentDone' && event.seq === seq) return;
        }
      },
      async publish(sid, past, events) {
        const { models: rates, blobs } = world;
        const view = createStreamView(sid, rates);
        const from = past.findLastIndex(({ event }) => event.type === 'msg.start');
        for (const { id, event } of past.slice(Math.max(0, from))) {
          view.journaled(id, await withInlinePayload(event, (blob) => blobs.getPayload({ blob })));
        }
        for (const { id, event } of events) world.bus.publish(sid, () => view.journaled(id, event));
      },
      ended: () => void owned?.dispatcher.sweep(),
      now: Date.now,
      log,
    });
  };

  const own = (models: ModelPair, chain: boolean): Owned => {
    const quarantine = options.alone ? quarantineOf(options.alone, models) : null;
    const runner: SessionRunner = createRunner(world, models, permissions, {
      cancelledBy,
      begun: begun(() => runner),
      sure: () => hold.lease?.sure() ?? null,
      quarantine,
    });
    const dispatcher = createDispatcher({
      runner,
      chain,
      openQueue: () => world.openQueue(),
      waiting: () => waitingTurns(handle.client, ws),
      nameJob: ({ sid, job }) => nameJob(handle.client, { sid, ws, job }),
      log,
    });
    const archiver = createArchiver({
      place: { redis: handle.client, home: options.home },
      ws,
      policy: { ...DEFAULT_POLICY, ...world.config.sessions } as ArchivePolicy,
      isIdle: runner.isIdle,
      now: Date.now,
      log,
    });
    owned = { dispatcher, runner, archiver, quarantine };
    // Of a task's own workspace nobody asks.
    if (chain && !options.task) figures ??= publishFigures({ redis: handle.client, ws, files: world.files });
    return owned;
  };

  const leaseEvents: LeaseEvents = {
    onDoubt: () => owned?.runner.abandonAll(),
    // What was put down is taken up again at once, not with the next sweep.
    onBack: () => void owned?.dispatcher.sweep(),
    onLost() {
      notice('Another Odin has taken this project over; it goes on with the messages that ran here.');
      figures?.stop();
      owned?.archiver.stop();
      owned?.runner.abandonAll();
      control?.close();
      void owned?.dispatcher.close();
    },
    log,
  };

  const hold = createHold(world, leaseEvents);

  /** In this order: cancels and answers that wait are known before what they are about goes on. */
  const takePart = ({ dispatcher, runner, archiver }: Owned): void => {
    if (options.task) return;
    archiver.start();
    listen(runner)
      .then(() => (closing.aborted ? undefined : dispatcher.start()))
      .catch((error: unknown) => log('the queue did not open', { error: String(error) }));
  };

  /** Takes requests of other processes; `only` those that are about one session. */
  const listen = async (runner: SessionRunner, only?: string): Promise<void> => {
    control = await openControl(handle, ws, (entry) => {
      const { id } = entry;
      if (only !== undefined && entry.sid !== only) return;
      const taken = take(runner, entry);
      taken.catch((error: unknown) => log('a request stays', { id, error: String(error) }));
    });
    if (closing.aborted) control.close();
  };

  const take = (runner: SessionRunner, entry: ControlEntry): Promise<void> => {
    const { message } = entry;
    // What was said before an answer is told with the step that the answer lets go on.
    if (message.type === 'answer') return lastSteer.then(() => takeAnswer(entry, message));
    if (message.type === 'cancel') return takeCancel(runner, entry, message);
    if (message.type === 'steer') {
      const taken = takeSteer(runner, entry, message);
      lastSteer = taken.catch(() => {});
      return taken;
    }
    return takeAgentWord(runner, entry, message);
  };

  /** For a subagent: one that has ended meanwhile needs it no more. */
  const takeAgentWord = async (runner: SessionRunner, entry: ControlEntry, message: AgentMessage): Promise<void> => {
    const { agent, by } = message;
    const word =
      message.type === 'agent.say'
        ? ({ type: 'say', text: message.text, by } as const)
        : ({ type: 'cancel', by } as const);
    if (!(await runner.agent(entry.sid, agent, word))) log('a word to an agent came too late', { agent });
    await control?.acknowledge(entry.id);
  };

  /** An answer from another process. One that comes before its question is asked again stays until then. */
  const takeAnswer = async (entry: ControlEntry, message: AnswerMessage): Promise<void> => {
    const { sid } = entry;
    if (permissions.answer(sid, message.questionId, answerOf(message))) return acknowledge(entry, isAnswerTo(message));
    const open = await readOpenQuestions(handle.client, sid);
    if (!open.some(({ question }) => question.id === message.questionId)) await control?.acknowledge(entry.id);
  };

  const earlyAnswer = (sid: string, questionId: string): PermissionAnswer | null => {
    for (const entry of control?.pending(sid) ?? []) {
      const { message } = entry;
      if (message.type !== 'answer' || message.questionId !== questionId) continue;
      acknowledge(entry, isAnswerTo(message));
      return answerOf(message);
    }
    return null;
  };

  /** A cancel from another process. One for a message that has not been claimed yet stays until then. */
  const takeCancel = async (runner: SessionRunner, entry: ControlEntry, message: CancelMessage): Promise<void> => {
    const { sid } = entry;
    if (runner.cancel(sid, message.seq, message.by)) return acknowledge(entry, isCancelOf(message.seq));
    const { cursor } = await world.inbox.head(sid);
    if (cursor >= message.seq) await control?.acknowledge(entry.id);
  };

  /** A message of the queue is told to the one that runs. When that has ended meanwhile, it waits like all others. */
  const takeSteer = async (runner: SessionRunner, entry: ControlEntry, message: SteerMessage): Promise<void> => {
    const { sid } = entry;
    const { seq, queued, by } = message;
    const found = (await world.inbox.waiting(sid)).find((one) => one.seq === queued);
    if (found) {
      const text = await world.blobs.getPayload(found.body);
      if (runner.steer(sid, seq, { queued, text, by })) {
        log('what waits is told with the next step', { sid, seq, queued });
        return acknowledge(entry, isSteerOf(message));
      }
    }
    const { cursor } = await world.inbox.head(sid);
    if (!found || cursor >= seq) await control?.acknowledge(entry.id);
  };

  /** Once its effect is in the journal: till then it must outlive this process. */
  const acknowledge = (entry: ControlEntry, isEffect: (event: StreamEvent) => boolean): void => {
    const wait = async () => {
      for await (const event of world.bus.subscribe(entry.sid, closing)) {
        if (isEffect(event)) return control?.acknowledge(entry.id);
      }
    };
    wait().catch((error: unknown) => log('a request stays', { id: entry.id, error: String(error) }));
  };

  return {
    owned: () => owned,
    permissions,
    async seek(models) {
      if (!(await hold.take())) {
        hold.wait().then(
          () => takePart(own(models, true)),
          (error: unknown) => {
            if (!closing.aborted) log('ownership was not gained', { error: String(error) });
          },
        );
        return;
      }
      const now = own(models, true);
      // What somebody has left does not wait for the queue to be worth its loading.
      const timer = setTimeout(() => takePart(now), hold.lease?.pending ? 0 : QUEUE_AFTER_MS);
      closing.addEventListener('abort', () => clearTimeout(timer), { once: true });
    },
    async ownForCommands(models = NO_MODELS) {
      if (await hold.take()) own(models, false);
      else hold.release();
    },
    async runAlone(models, turn, signal) {
      const runner: SessionRunner = createRunner(world, models, permissions, {
        cancelledBy,
        begun: begun(() => runner),
        sure: () => null,
        quarantine: null,
      });
      await listen(runner, turn.sid);
      try {
        await runner.run(turn, null, signal);
      } finally {
        control?.close();
      }
    },
    isTaken: () => hold.isTaken(),
    async stop() {
      figures?.stop();
      await Promise.all([owned?.dispatcher.close(), owned?.quarantine?.close()]);
      control?.close();
      owned?.runner.save();
      owned?.archiver.stop();
      if (!options.task) await owned?.archiver.leave();
      await hold.drop();
    },
    release: () => hold.release(),
  };
}

function createRunner(
  world: World,
  models: ModelPair,
  permissions: Permissions,
  place: Pick<RunnerDeps, 'cancelledBy' | 'begun' | 'sure' | 'quarantine'>,
): SessionRunner {
  const { root, config, scrub, search, smallModel, log } = world;
  const scope = world.options.task?.scope ?? openScope('process', world.options.caps ?? {});
  const budgetPolicy = { scope, session: sessionCaps(config) };
  const turnDeps: RunnerDeps['turnDeps'] = (sid, mode, todos, memory, userTexts, seen) => ({
    permissions: permissions.forSession(sid),
    toolRule: (tool) => config.toolRules[tool],
    scrub,
    clean: cleanText,
    tools: (wanted) => withAgentFiles(world.toolbox.tools(sid, wanted), world.agentFiles()),
    agents: {
      threads: world.agentThreads,
      access: (model) => models.access?.(model) ?? null,
      files: () => world.agentFiles(),
      remote: () => world.remoteAgents(),
      async ended(agentSid) {
        const exec = world.commands.portFor(agentSid);
        await Promise.all(exec.list().map(({ id }) => exec.stop(id)));
        world.forget(agentSid);
      },
      forAgent: (agentSid, agentMode, agentTodos, agentSeen) => ({
        ...turnDeps(agentSid, agentMode, agentTodos, memory, userTexts, agentSeen),
        permissions: permissions.forSession(sid),
        tools: (wanted) => world.toolbox.tools(agentSid, wanted, true),
      }),
    },
    userHooks: world.hooks,
    takeUpChange: (data) => takeUpChange(world.files, data),
    provider: (model) => models.provider(model),
    models: world.models,
    budgetPolicy,
    recount: world.recount,
    maxOutputTokens: (model) => world.models.info(model).maxOutputTokens,
    contextWindow: (model) => world.models.windowOf(model),
    contextSettings: config.context,
    stepTimeoutMs: config.stepTimeoutMs,
    retryDelayMs: world.options.retryDelayMs ?? retryDelayMs,
    async pictures(model, refs) {
      if (!world.models.info(model).images) return new Map();
      const { loadImages } = await import('./images.ts');
      return loadImages(world.blobs, refs);
    },
    cachedFiles: () => world.portOf(sid, seen).list(),
    context: (call, more): ToolContext => ({
      editValidation: config.edit.validation ?? 'auto',
      root,
      mode,
      op: call.op,
      files: world.portOf(sid, seen),
      search,
      model: smallModel,
      web: world.web.portFor({
        sid,
        allowedHosts: () => (config.toolRules['WebFetch'] === 'allow' ? null : grantedHosts(memory())),
        userTexts,
      }),
      exec: world.commands.portFor(sid),
      commandRules: world.commandRules(memory()),
      todos,
      ...more,
    }),
    finishIntent: ({ intent }, _call, signal) => resumeEffect(world, sid, intent, signal),
    now: Date.now,
    log,
  });
  return createSessionRunner({
    redis: world.handle.client,
    ws: world.ws,
    root,
    cwd: world.options.cwd,
    blobs: world.blobs,
    files: world.files,
    bus: world.bus,
    models,
    marks: openMarks(world.options.home),
    snapshots: openSnapshots(world.options.home),
    onPause: createPauses(world.options.notice ?? (() => {})),
    rates: world.models,
    titles: world.options.titles === true && config.titles,
    limits: messageLimits(config),
    instructions: () => world.instructions(),
    letGo: (sid) => world.forget(sid),
    takeOutTold: (sid, queued) => world.inbox.takeOutTold(sid, queued),
    ...place,
    now: Date.now,
    turnDeps: asAgent(turnDeps, world.options.task?.agent),
  });
}

type AnswerMessage = Extract<ControlEntry['message'], { readonly type: 'answer' }>;
type AgentMessage = Extract<ControlEntry['message'], { readonly type: 'agent.cancel' | 'agent.say' }>;
type CancelMessage = Extract<ControlEntry['message'], { readonly type: 'cancel' }>;
type SteerMessage = Extract<ControlEntry['message'], { readonly type: 'steer' }>;

const isAnswerTo =
  ({ questionId }: AnswerMessage) =>
  (event: StreamEvent): boolean =>
    event.type === 'PermissionAnswered' && event.questionId === questionId;

const isCancelOf =
  (seq: number) =>
  (event: StreamEvent): boolean =>
    event.seq === seq && (event.type === 'CancelRequested' || event.type === 'AgentDone');

const isSteerOf =
  ({ seq, queued }: SteerMessage) =>
  (event: StreamEvent): boolean =>
    event.seq === seq && (event.type === 'AgentDone' || (event.type === 'UserWord' && event.queued === queued));

const answerOf = ({ decision, by, word }: AnswerMessage): PermissionAnswer => ({
  decision,
  by,
  ...(word === undefined ? {} : { word }),
});

const NO_MODELS: ModelPair = {
  model: 'none/none',
  smallModel: 'none/none',
  provider: () => Promise.reject(new UserError('No model is set up; `odin doctor` says how to set one up.')),
};
