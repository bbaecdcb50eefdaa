// Which process runs the workspace's turns: the one that holds its kernel lock (DURABILITY 1). It runs them through the
// dispatcher. How a process comes to hold the workspace is workspace-hold.ts, what others ask of the owner control-requests.ts, what
// it runs messages with workspace-runner.ts.

import { UserError } from '../shared/outcome.ts';
import { createStreamView } from '../shared/stream-view.ts';
import type { AloneOrder } from './alone-order.ts';
import type { ModelPair } from './api.ts';
import { type ArchivePolicy, type Archiver, createArchiver, DEFAULT_POLICY } from './archive-policy.ts';
import { createControlRequests } from './control-requests.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { followFromRedis } from './follow-session.ts';
import { nameJob } from './journal.ts';
import { openMarks } from './journal-marks.ts';
import { withInlinePayload } from './payloads.ts';
import { createPermissions, type Permissions } from './permissions.ts';
import { createQuarantine, type Quarantine } from './quarantine.ts';
import { sourceOf } from './session-reads.ts';
import type { SessionRunner } from './session-runner.ts';
import type { Turn } from './turn-ticket.ts';
import { waitingTurns } from './waiting-turns.ts';
import { type FiguresPublisher, publishFigures } from './watch/figures.ts';
import { createHold } from './workspace-hold.ts';
import type { LeaseEvents } from './workspace-lease.ts';
import { createWorkspaceRunner } from './workspace-runner.ts';
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
  let figures: FiguresPublisher | null = null;

  const permissions: Permissions = createPermissions({
    policy: options.permission ?? { mode: 'deny', timeoutMs: null },
    early: (sid, questionId) => requests.earlyAnswer(sid, questionId),
    watch: (seen) => options.onQuestion?.(seen),
    storeRule: (rule) => world.ruleStore.add(rule, Date.now()),
  });

  const requests = createControlRequests(world, () => permissions);

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
    const runner: SessionRunner = createWorkspaceRunner(world, models, permissions, {
      cancelledBy: requests.cancelledBy,
      begun: (sid) => requests.begun(runner, sid),
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
      requests.close();
      void owned?.dispatcher.close();
    },
    log,
  };

  const hold = createHold(world, leaseEvents);

  /** In this order: cancels and answers that wait are known before what they are about goes on. */
  const takePart = ({ dispatcher, runner, archiver }: Owned): void => {
    if (options.task) return;
    archiver.start();
    requests
      .listen(runner)
      .then(() => (closing.aborted ? undefined : dispatcher.start()))
      .catch((error: unknown) => log('the queue did not open', { error: String(error) }));
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
      const runner: SessionRunner = createWorkspaceRunner(world, models, permissions, {
        cancelledBy: requests.cancelledBy,
        begun: (sid) => requests.begun(runner, sid),
        sure: () => null,
        quarantine: null,
      });
      await requests.listen(runner, turn.sid);
      try {
        await runner.run(turn, null, signal);
      } finally {
        requests.close();
      }
    },
    isTaken: () => hold.isTaken(),
    async stop() {
      figures?.stop();
      await Promise.all([owned?.dispatcher.close(), owned?.quarantine?.close()]);
      requests.close();
      owned?.runner.save();
      owned?.archiver.stop();
      if (!options.task) await owned?.archiver.leave();
      await hold.drop();
    },
    release: () => hold.release(),
  };
}

const NO_MODELS: ModelPair = {
  model: 'none/none',
  smallModel: 'none/none',
  provider: () => Promise.reject(new UserError('No model is set up; `odin doctor` says how to set one up.')),
};
