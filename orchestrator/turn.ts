// Runs one message to its end: the agent machine decides, this file has its effects performed (ARCHITECTURE 4). It owns the
// order of things (journal before effect); model-call.ts, tool-step.ts and tool-call.ts do the work.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelTable } from '../llm/model-info.ts';
import type { AgentEffect, AgentEvent } from '../machines/agent/events.ts';
import { toAgentEvent } from '../machines/agent/from-journal.ts';
import { agentMachine } from '../machines/agent/machine.ts';
import { resumeActor } from '../machines/host.ts';
import { type Tool, type ToolResponse, toolSpec } from '../shared/define-tool.ts';
import type { EndReason, EventOf, JournalEvent, ToolCallSummary } from '../shared/events.ts';
import type { Mode } from '../shared/modes.ts';
import type { Failure, Outcome } from '../shared/outcome.ts';
import type { ModelProvider, SmallModelPort } from '../shared/ports.ts';
import type { CachedFileInfo } from '../shared/state.ts';
import { answerText, foldSaid, NOTHING_SAID } from './answer-text.ts';
import type { BudgetPolicy, MessageBudget } from './budget/message-budget.ts';
import type { Recount } from './budget/recount.ts';
import { withAccounts } from './budget/with-accounts.ts';
import type { ContextSettings } from './config.ts';
import type { Hook } from './hooks/hook.ts';
import { createTurnHooks, withHooks } from './hooks/turn-hooks.ts';
import { callModel } from './model-call.ts';
import type { Recorder } from './recorder.ts';
import { createRetryTimer } from './retry-timer.ts';
import type { SessionMemory } from './session-memory.ts';
import type { RunningCall, ToolCallDeps } from './tool-call.ts';
import { startToolStep } from './tool-step.ts';

export interface TurnDeps extends ToolCallDeps {
  readonly memory: SessionMemory;
  readonly recorder: Recorder;
  tools(mode: Mode): readonly Tool[];
  /** The provider of a `provider/name`, its SDK loaded. */
  provider(model: string): Promise<ModelProvider>;
  maxOutputTokens(model: string): number;
  /** How many tokens a model takes, its answer included. */
  contextWindow(model: string): number;
  readonly contextSettings: ContextSettings;
  readonly models: ModelTable;
  readonly budget: MessageBudget;
  /** Has the tokenizer count what was guessed, if that matters. */
  readonly recount: Recount;
  /** The lesser model (SPEC O3), within the message's budget and in its accounts. */
  readonly smallModel: SmallModelPort;
  /** How long one answer of the model may take in all. */
  readonly stepTimeoutMs: number;
  /** How long to wait after try number `attempt` failed. */
  retryDelayMs(attempt: number, retryAfterMs: number | undefined): number;
  cachedFiles(): readonly CachedFileInfo[];
  /** Finishes an effect whose intent a crash left without a result; null when its outcome cannot be known. */
  finishIntent(
    intent: EventOf<'tool.intent'>,
    call: ToolCallSummary,
    signal: AbortSignal,
  ): Promise<Outcome<ToolResponse> | null>;
}

/** A turn's hooks are not bound to it yet. */
export type UnhookedTurnDeps = Omit<TurnDeps, 'hooks'> & {
  /** Hooks in code and those of the settings (SPEC E5). */
  readonly userHooks: readonly Hook[];
};

/** What a turn is given: neither are its accounts. */
export type GivenTurnDeps = Omit<UnhookedTurnDeps, 'budget' | 'smallModel'> & { readonly budgetPolicy: BudgetPolicy };

export interface TurnEnd {
  readonly status: EndReason;
  readonly answer: string;
  readonly failure: Failure | null;
  readonly steps: number;
}

export interface RunningTurn {
  /** Tells the turn of an event that was recorded for it. The recorder's owner calls this. */
  onRecorded(event: JournalEvent): void;
  /** Journals a cancel request; the turn then ends by itself, soon. */
  cancel(by: string): void;
  /** Stops all effects without a word in the journal: the process leaves, the turn can be resumed. */
  abandon(): void;
  /** Rejects with Fenced when another owner has taken over. */
  readonly end: Promise<TurnEnd>;
}

/**
 * Starts a message's turn, or goes on with one whose events (`past`, from msg.start on) are in the journal and folded into
 * the memory already. A new turn begins to move when its msg.start is recorded.
 */
export function startTurn(
  given: GivenTurnDeps,
  start: EventOf<'msg.start'>,
  past: readonly JournalEvent[],
): RunningTurn {
  const accounted = withAccounts(
    silenced(given, () => left),
    start,
    past,
  );
  const deps = withHooks(accounted, start);
  const hooks = createTurnHooks(deps, start);
  const end = Promise.withResolvers<TurnEnd>();
  const modelAbort = new AbortController();
  const toolsAbort = new AbortController();
  const tools = deps.tools(start.mode);
  const specs = tools.map(toolSpec);
  let calls: readonly RunningCall[] = [];
  const retry = createRetryTimer(deps, past);
  let said = past.reduce(foldSaid, NOTHING_SAID);
  let asked: Promise<unknown> = Promise.resolve();
  let left = false;
  let acted = false;

  // Deferred, so that an effect of the first state never meets a turn that is still being set up.
  const perform = (effect: AgentEffect): void => queueMicrotask(() => performNow(effect));

  const performNow = (effect: AgentEffect): void => {
    if (left) return;
    switch (effect.type) {
      case 'callModel':
        return ask(hooks.askModel(effect, (note) => callNow(effect, note), modelAbort.signal));
      case 'compact':
        hooks.compacting(effect);
        return ask(compact(effect));
      case 'startTools':
        return run(startTools(effect.calls));
      case 'abortModel':
        return modelAbort.abort();
      case 'abortTools':
        cancelCalls();
        // Cancelled before a crash: nobody here has the step's calls, and each must still settle.
        if (!acted) run(startTools(past.findLast((event) => event.type === 'llm.res')?.calls ?? []));
        return;
      case 'scheduleRetry':
        return retry.schedule(effect);
      case 'finish':
        return void finish(effect);
      case 'noteUnexpected':
        return;
    }
  };

  const run = (work: Promise<void>) => void work.catch((error: unknown) => end.reject(error));

  const ask = (work: Promise<void>) => {
    asked = work;
    run(work);
  };

  const callNow = (effect: Extract<AgentEffect, { type: 'callModel' }>, note: string | null) =>
    callModel(deps, start, specs, { ...effect, note }, modelAbort.signal).finally(() => deps.budget.settlePlanner());

  /** A call that was aborted still says what it has cost: that belongs before the message's end. */
  const finish = async (effect: Extract<AgentEffect, { type: 'finish' }>) => {
    await Promise.race([asked.catch(() => {}), sleep(ABORT_MS, undefined, { ref: false })]);
    const ended = { ...effect, answer: answerText(effect, said, start.limits.maxSteps) };
    if (hooks.done) await hooks.done(ended);
    end.resolve(ended);
  };

  /** Seldom needed, so loaded when it is. */
  const compact = async (effect: Extract<AgentEffect, { type: 'compact' }>) => {
    const { compactContext } = await import('./compact-context.ts');
    await compactContext(deps, start, specs, effect, modelAbort.signal);
  };

  const startTools = async (summaries: readonly ToolCallSummary[]) => {
    acted = true;
    calls = await startToolStep(deps, start, tools, summaries, past, toolsAbort.signal);
    if (left || actor.state() === 'stopping') cancelCalls();
  };

  const cancelCalls = () => {
    toolsAbort.abort();
    for (const call of calls) call.cancel();
  };

  const seen = past.map(toAgentEvent).filter((event) => event !== null);
  const models = 1 + (start.fallbackModels?.length ?? 0);
  const input = { seq: start.seq, limits: start.limits, models };
  const actor = resumeActor<AgentEvent, AgentEffect>(agentMachine, input, seen, { perform });
  const stopClock = deps.budget.startClock(() => actor.isDone());

  return {
    onRecorded(event) {
      hooks.recorded(event);
      said = foldSaid(said, event);
      const agentEvent = toAgentEvent(event);
      if (agentEvent) actor.send(agentEvent);
    },
    cancel(by) {
      deps.record({ type: 'cancel', seq: start.seq, by, at: deps.now() });
      if (actor.isDone()) hooks.abort();
    },
    abandon() {
      left = true;
      hooks.abort();
      modelAbort.abort();
      cancelCalls();
      retry.clear();
      end.reject(new Left());
    },
    end: end.promise.finally(() => {
      retry.clear();
      stopClock();
    }),
  };
}

/** How long an aborted call of the model may take to end. */
const ABORT_MS = 2_000;

/** After leaving, what the aborted effects come back with is not what happened: the next process does them anew. */
function silenced(deps: GivenTurnDeps, isLeft: () => boolean): GivenTurnDeps {
  const record = (event: JournalEvent) => {
    if (!isLeft()) deps.record(event);
  };
  return { ...deps, record, recorder: { ...deps.recorder, record } };
}

/** Why a turn ended when its process left in the middle of it. */
export class Left extends Error {
  override readonly name = 'Left';
}
