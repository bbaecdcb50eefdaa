// Runs one message of one session in this process: claim, fold, turn, finish (DURABILITY 5). Called with a wake-up, which may
// be late, doubled or wrong: the claim decides what really runs.

import { spentBy } from '../agent/accounts.ts';
import { Left } from '../agent/loop.ts';
import type { PermissionMemory } from '../agent/permissions-memory.ts';
import type { EventOf, JournalEvent, LiveEvent } from '../shared/events.ts';
import { killPoint } from '../shared/kill-point.ts';
import type { Limits } from '../shared/limits.ts';
import { NO_USAGE } from '../shared/messages.ts';
import type { Mode } from '../shared/modes.ts';
import { Bug } from '../shared/outcome.ts';
import { Fenced, type LivePort } from '../shared/ports.ts';
import type { Rates } from '../shared/spending.ts';
import type { Todo } from '../shared/state.ts';
import { createStreamView, type StreamView } from '../shared/stream-view.ts';
import type { ModelPair } from './api.ts';
import type { Blobs } from './blobs.ts';
import { claimEvent } from './claim-event.ts';
import { startCompaction } from './compact-command.ts';
import type { EventBus } from './event-bus.ts';
import { runFileCommand } from './file-command.ts';
import type { Files } from './files/files.ts';
import type { SeenFiles } from './files/seen-files.ts';
import { lostView } from './follow-session.ts';
import type { InboxMessage } from './inbox-message.ts';
import type { Instructions } from './instructions.ts';
import { type ClaimResult, claimSession } from './journal.ts';
import type { Marks } from './journal-marks.ts';
import { Rewound } from './journal-owner.ts';
import { closeRewound, openCalls, rewoundEnd, unknownResult } from './journal-rewound.ts';
import type { Snapshots } from './journal-snapshot.ts';
import { type LiveStream, openLiveStream, publishLost } from './live-stream.ts';
import { type OnPause, putPatiently } from './pauses.ts';
import type { Quarantine } from './quarantine.ts';
import { createRecorder } from './recorder.ts';
import type { OdinRedis } from './redis.ts';
import { emptyMemory, type SessionMemory } from './session-memory.ts';
import { createRecall, type Recalled } from './session-recall.ts';
import { createSteering, type QueuedWord, type Steering } from './steering.ts';
import { createTitles } from './titles.ts';
import { type AgentWord, type GivenTurnDeps, type RunningTurn, startTurn, type TurnEnd } from './turn.ts';
import type { Turn } from './turn-ticket.ts';

export interface RunnerDeps {
  readonly redis: OdinRedis;
  readonly ws: string;
  readonly root: string;
  readonly cwd: string;
  readonly blobs: Blobs;
  readonly files: Files;
  readonly bus: EventBus;
  readonly models: ModelPair;
  readonly marks: Marks;
  readonly snapshots: Snapshots;
  /** Something that the journal needs is full or away, or is back (null). */
  readonly onPause: OnPause;
  /** Prices for the public stream. */
  readonly rates: Rates;
  /** Of a message that says nothing else. */
  readonly limits: Limits;
  /** What a session that is opened now gets as instructions. */
  instructions(): Instructions;
  /** What a turn needs besides its session. */
  turnDeps(
    sid: string,
    mode: Mode,
    todos: () => readonly Todo[],
    permissions: () => PermissionMemory,
    userTexts: () => readonly string[],
    seen: () => SeenFiles,
  ): Omit<GivenTurnDeps, 'sid' | 'root' | 'memory' | 'recorder' | 'live' | 'record' | 'flushed'>;
  /** A cancel request that came before the message was claimed; null when there is none. */
  cancelledBy(sid: string, seq: number): string | null;
  /** A message runs from now on: what was to be told to it before can be told. */
  begun(sid: string): void;
  /** What was told to the running message leaves the queue. */
  takeOutTold(sid: string, queued: number): Promise<void>;
  /** Whether sessions get a title by the lesser model. */
  readonly titles: boolean;
  /** Null while nobody else can have the workspace, else what settles when that is known. */
  sure(): Promise<void> | null;
  /** Where messages run that were in several crashes; null: here. */
  readonly quarantine: Quarantine | null;
  /** A session that did not run for long is kept in memory no more. */
  letGo(sid: string): void;
  now(): number;
}

export interface SessionRunner {
  /** Runs a message to its end and returns the session's next one. Rejects with Fenced when somebody else has it. */
  run(
    turn: Turn,
    job: { readonly id: string; readonly token: string } | null,
    signal: AbortSignal,
  ): Promise<Turn | null>;
  /** Says something to a subagent of the message that runs here; false when it does not work. */
  agent(sid: string, id: string, word: AgentWord): Promise<boolean>;
  /** Cancels the message if it runs here. */
  cancel(sid: string, seq: number | null, by: string): boolean;
  /** Tells the message something that waits in the queue, with its next request to the model; false when it does not run here. */
  steer(sid: string, seq: number, word: QueuedWord): boolean;
  /** Stops everything without ending it: another process, or the next one, goes on with it. */
  abandonAll(): void;
  /** Whether no message runs here. */
  isIdle(): boolean;
  /** Keeps what makes the next resume faster. */
  save(): void;
}

type Claimed = Extract<ClaimResult, { status: 'ok' }>;

export function createSessionRunner(deps: RunnerDeps): SessionRunner {
  const running = new Map<string, { readonly seq: number; readonly turn: RunningTurn; readonly steering: Steering }>();
  const recall = createRecall({
    blobs: deps.blobs,
    snapshots: deps.snapshots,
    isRunning: (sid) => running.has(sid),
    isIdle: () => running.size === 0,
    letGo: (sid) => deps.letGo(sid),
  });

  const titles = createTitles(deps.redis, deps.titles);

  const run: SessionRunner['run'] = async (wake, job, signal) => {
    if (deps.quarantine?.has(wake)) return null;
    const known = recall.knownUpTo(wake.sid);
    const claim = await claimSession(deps.redis, {
      sid: wake.sid,
      seq: wake.seq,
      ws: deps.ws,
      claim: claimEvent(wake.seq, deps.now()),
      marks: deps.marks,
      waits: { signal, onPause: deps.onPause },
      ...(known === undefined ? {} : { after: known }),
      ...(job === null ? {} : { job }),
    });
    killPoint('session:claimed');
    if (claim.status === 'rewound') return closeLost(wake);
    if (claim.status === 'foreign')
      throw new Error(`A job names session ${wake.sid}, which is another project's; refused.`);
    if (claim.status !== 'ok') return null;
    if (deps.quarantine?.takes(wake, claim)) {
      claim.journal.release();
      return null;
    }
    const recalled = await recall
      .recall(wake, claim.after, claim.log)
      .catch((error: unknown) => unread(wake.sid, error));
    const next = await runClaimed(wake, claim, recalled, signal);
    recall.ended(wake.sid, Number(claim.journal.lastId.split('-')[1]));
    return next;
  };

  /** Redis has lost what was done: what was begun ends with a word about it, and whoever follows it hears of it. */
  const closeLost = async ({ sid, seq }: Turn): Promise<null> => {
    recall.drop(sid);
    const { redis, marks, ws, now } = deps;
    const claim = (of: number) => claimEvent(of, now());
    const written = await closeRewound({ redis, marks, ws, sid, claim, now });
    const view = createStreamView(sid, deps.rates);
    for (const { id, event } of written) deps.bus.publish(sid, () => view.journaled(id, event));
    if (written.some(({ event }) => event.type === 'msg.done' && event.seq === seq)) return null;
    // A message that Redis does not even know: it has no place in the journal, and its followers must not wait for ever.
    const end = rewoundEnd(seq, now());
    deps.bus.publish(sid, () => lostView(view, end));
    await publishLost(redis, sid, written.at(-1)?.id ?? '0-0', end);
    return null;
  };

  const runClaimed = async (
    wake: Turn,
    { journal, message, log }: Claimed,
    { memory, past, end: unreadEnd }: Recalled & { readonly end?: TurnEnd },
    signal: AbortSignal,
  ): Promise<Turn | null> => {
    const { sid, seq } = wake;
    const view = createStreamView(sid, deps.rates);
    for (const event of past) view.journaled('', event);
    const stream = openLiveStream(deps.redis, sid, () => journal.lastId);
    let turn: RunningTurn | undefined;
    const { takeOutTold, now } = deps;
    const steering = createSteering({ seq, past, takeOut: (queued) => takeOutTold(sid, queued), now });
    const recorder = createRecorder({
      journal,
      memory,
      sure: deps.sure,
      putBlob: (text) => putPatiently(deps.blobs, text, { signal, onPause: deps.onPause }),
      before: (event) =>
        event.type === 'tool.done' || event.type === 'files.moved' ? deps.files.syncs.underWay() : null,
      onRecorded(event) {
        if (event.type === 'llm.res') stream.supersede(event.op);
        else if (event.type === 'agent.ev' && event.event.type === 'llm.res')
          stream.supersede(event.event.op, event.aid);
        steering.recorded(event);
        turn?.onRecorded(event);
      },
      onDurable(id, event) {
        deps.bus.publish(sid, () => view.journaled(id, event));
        steering.durable(event);
      },
    });
    const record = (event: JournalEvent) => recorder.record(event);
    titles.begins(sid);
    const finish = async (end: TurnEnd) => {
      for (const event of titles.take(sid)) record(event);
      const done = await recorder.finish(doneEvent(seq, end, memory, deps.now()), async (event) => {
        const next = await journal.finish(event);
        return { id: journal.lastId, next };
      });
      titles.ended(sid, journal.lastId);
      return done;
    };
    const leave = () => turn?.abandon();
    try {
      if (unreadEnd) {
        for (const call of openCalls(log)) record(unknownResult(call, UNREAD, deps.now()));
        return await finish(unreadEnd);
      }
      const started = past[0]?.type === 'msg.start' ? past[0] : null;
      if (message.removed && !started) return await finish(REMOVED);
      const start = started ?? (await startEvent(message, deps).catch(bugEnd));
      if (!('type' in start)) return await finish(start);
      if (memory.state.root === '') record(openedEvent(sid));
      if (start.command && start.command.type !== 'compact') {
        if (!started) record(start);
        const end = await runFileCommand(deps.files, deps.root, memory.files, start.command, record).catch(bugEnd);
        return await finish(end);
      }
      const begin = start.command ? startCompaction : startTurn;
      const given: GivenTurnDeps = {
        ...deps.turnDeps(
          sid,
          start.mode,
          () => memory.state.todos,
          () => memory.permissions,
          () => memory.state.messages.flatMap(({ body, words = [] }) => [body, ...words]),
          () => memory.seen,
        ),
        sid,
        root: deps.root,
        memory,
        recorder,
        record,
        flushed: () => recorder.flushed(),
        live: livePort(sid, view, stream),
        waitingWords: steering.waiting,
      };
      turn = begin(given, start, past);
      running.set(sid, { seq, turn, steering });
      signal.addEventListener('abort', leave, { once: true });
      if (!started) record(start);
      const by = deps.cancelledBy(sid, seq);
      if (by !== null) turn.cancel(by);
      deps.begun(sid);
      if (signal.aborted) leave();
      const end = await turn.end.catch(bugEnd);
      await stream.flush();
      // All else that is not durable yet goes with the message's end.
      if (!steering.isSettled()) await recorder.flushed().then(() => steering.settled());
      const next = await finish(end);
      titles.ask(given, start, (id, event) => deps.bus.publish(sid, () => view.journaled(id, event)));
      return next;
    } catch (error) {
      // What was folded and not journaled is wrong now.
      recall.drop(sid);
      if (error instanceof Rewound) await closeLost(wake);
      if (error instanceof Left) await journal.leave();
      throw error instanceof Left ? new Fenced('This process has left the session.') : error;
    } finally {
      signal.removeEventListener('abort', leave);
      if (running.get(sid)?.turn === turn) running.delete(sid);
      journal.release();
    }
  };

  const livePort = (sid: string, view: StreamView, stream: LiveStream): LivePort => ({
    publish(event: LiveEvent) {
      const at = deps.now();
      deps.bus.publish(sid, () => view.live(event, at));
      stream.publish(event);
    },
  });

  const openedEvent = (sid: string): JournalEvent => {
    const { text, files } = deps.instructions();
    const { root, cwd } = deps;
    return { type: 'session.opened', sid, root, cwd, instructions: text, instructionFiles: files, at: deps.now() };
  };

  return {
    run,
    cancel(sid, seq, by) {
      const own = running.get(sid);
      if (!own || (seq !== null && own.seq !== seq)) return false;
      own.turn.cancel(by);
      return true;
    },
    steer(sid, seq, word) {
      const own = running.get(sid);
      if (own?.seq !== seq) return false;
      own.steering.add(word);
      return true;
    },
    agent: async (sid, id, word) => (await running.get(sid)?.turn.agent?.(id, word)) ?? false,
    abandonAll() {
      titles.close();
      for (const { turn } of running.values()) turn.abandon();
    },
    isIdle: () => running.size === 0,
    save: recall.save,
  };
}

const REMOVED: TurnEnd = {
  status: 'cancelled',
  answer: '[Taken out of the queue before it ran.]',
  failure: null,
  steps: 0,
};

async function startEvent(message: InboxMessage, deps: RunnerDeps): Promise<EventOf<'msg.start'>> {
  return {
    type: 'msg.start',
    seq: message.seq,
    mid: message.mid,
    mode: message.mode,
    body: { inline: await deps.blobs.getPayload(message.body) },
    ...(message.options.images === undefined ? {} : { images: message.options.images }),
    ...modelsOf(message, deps.models),
    limits: { ...deps.limits, ...message.limits },
    ...(message.options.command === undefined ? {} : { command: message.options.command }),
    at: deps.now(),
  };
}

type StartModels = Pick<EventOf<'msg.start'>, 'model' | 'smallModel' | 'fallbackModels'>;

/** File changes are moved without a model; a compaction is for the planner's, by the lesser one. */
function modelsOf(message: InboxMessage, models: ModelPair): StartModels {
  const { command, model = models.model, smallModel = models.smallModel } = message.options;
  if (command && command.type !== 'compact') return { model: '', smallModel: '' };
  return { model, smallModel, ...fallbacksOf(message, models) };
}

/** None for a command, and none that is the planner's own model. */
function fallbacksOf({ options }: InboxMessage, models: ModelPair): Pick<EventOf<'msg.start'>, 'fallbackModels'> {
  const own = options.model ?? models.model;
  const wanted = new Set(options.fallbackModels ?? models.fallbackModels ?? []);
  const fallbackModels = [...wanted].filter((model) => model !== own);
  return options.command || fallbackModels.length === 0 ? {} : { fallbackModels };
}

function doneEvent(seq: number, end: TurnEnd, memory: SessionMemory, at: number): EventOf<'msg.done'> {
  return {
    type: 'msg.done',
    seq,
    status: end.status,
    answer: { inline: end.answer },
    ...(end.failure === null ? {} : { failure: end.failure }),
    usage: memory.state.messages.find((message) => message.seq === seq)?.usage ?? NO_USAGE,
    spending: spentBy(memory.state, seq),
    steps: end.steps,
    at,
  };
}

/** What a session is made of is missing or damaged: the message ends with a word about it, or every resume would come to it again. */
const unread = (sid: string, error: unknown): Recalled & { readonly end: TurnEnd } => ({
  memory: emptyMemory(sid),
  past: [],
  end: bugEnd(error),
});

const UNREAD = 'Whether this ran is unknown: a part of the session cannot be read. Check before you try again.';

/** A fault of Odin's own ends the message, visibly; it must not come back with every resume. */
function bugEnd(error: unknown): TurnEnd {
  if (error instanceof Fenced || error instanceof Left) throw error;
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Bug ? 'bug' : 'internal_error';
  const failure = { kind: 'failed', code, message: `Odin itself failed: ${message}` } as const;
  return { status: 'planner_failure', answer: `[Failed: ${failure.message}]`, failure, steps: 0 };
}
