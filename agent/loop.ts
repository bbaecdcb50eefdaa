// Runs one message of an agent to its end: the agent machine decides, this file has its effects performed (ARCHITECTURE 4). It owns the
// order of things (journal before effect). The orchestrator runs it for a session, a thread for each of its subagents.

import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEffect, AgentEvent } from '../machines/agent/events.ts';
import { toAgentEvent } from '../machines/agent/from-journal.ts';
import { agentMachine } from '../machines/agent/machine.ts';
import { resumeActor } from '../machines/host.ts';
import type { JournalEvent, ToolCallSummary } from '../shared/events.ts';
import { answerText, foldSaid, NOTHING_SAID } from './answer-text.ts';
import type { LoopDeps, LoopEnd, LoopStart, StartedCall } from './loop-deps.ts';
import { callModel } from './model-call.ts';
import { createRetryTimer } from './retry-timer.ts';

export interface RunningLoop {
  /** Tells the loop of an event that was recorded for it. The recorder's owner calls this. */
  onRecorded(event: JournalEvent): void;
  /** Journals a cancel request; the loop then ends by itself, soon. */
  cancel(by: string): void;
  /** Stops all effects without a word in the journal: it can be resumed elsewhere. */
  abandon(): void;
  /** Whether the machine has come to its end. */
  isOver(): boolean;
  /** Rejects with Fenced when another owner has taken over. */
  readonly end: Promise<LoopEnd>;
}

/**
 * Starts a message's loop, or goes on with one whose events (`past`, from msg.start on) are in the journal and folded into
 * the memory already. A new one begins to move when its msg.start is recorded.
 */
export function startLoop(
  deps: LoopDeps,
  { start, past, specs, hooks, startTools: startCalls, ending }: LoopStart,
): RunningLoop {
  const end = Promise.withResolvers<LoopEnd>();
  const modelAbort = new AbortController();
  const toolsAbort = new AbortController();
  let calls: readonly StartedCall[] = [];
  const retry = createRetryTimer(deps, past);
  let said = past.reduce(foldSaid, NOTHING_SAID);
  let asked: Promise<unknown> = Promise.resolve();
  let left = false;
  let acted = false;

  // Deferred, so that an effect of the first state never meets a loop that is still being set up.
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
        return run(finish(effect));
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
    const planned = { ...effect, answer: answerText(effect, said, start.limits.maxSteps) };
    const ended = ending ? await ending(planned) : planned;
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
    calls = await startCalls(summaries, toolsAbort.signal);
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
    isOver: () => actor.isDone(),
    end: end.promise.finally(() => {
      retry.clear();
      stopClock();
    }),
  };
}

/** How long an aborted call of the model may take to end. */
const ABORT_MS = 2_000;

/** Why a loop ended when its process left in the middle of it. */
export class Left extends Error {
  override readonly name = 'Left';
}
