// Runs one message to its end: the agent machine decides, this file has its effects performed (ARCHITECTURE 4). It owns the
// order of things (journal before effect); model-call.ts, tool-step.ts and tool-call.ts do the work.

import type { AgentEffect, AgentEvent } from '../machines/agent/events.ts';
import { toAgentEvent } from '../machines/agent/from-journal.ts';
import { agentMachine } from '../machines/agent/machine.ts';
import { resumeActor } from '../machines/host.ts';
import { type Tool, type ToolResponse, toolSpec } from '../shared/define-tool.ts';
import type { EndReason, EventOf, JournalEvent, ToolCallSummary } from '../shared/events.ts';
import type { Mode } from '../shared/modes.ts';
import type { Failure, Outcome } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';
import type { CachedFileInfo } from '../shared/state.ts';
import { answerText } from './answer-text.ts';
import { compactContext } from './compact-context.ts';
import { callModel } from './model-call.ts';
import type { Recorder } from './recorder.ts';
import { retryDelayMs } from './retry-delay.ts';
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
  cachedFiles(): readonly CachedFileInfo[];
  /** Finishes an effect whose intent a crash left without a result; null when its outcome cannot be known. */
  finishIntent(intent: EventOf<'tool.intent'>, call: ToolCallSummary): Promise<Outcome<ToolResponse> | null>;
}

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
export function startTurn(given: TurnDeps, start: EventOf<'msg.start'>, past: readonly JournalEvent[]): RunningTurn {
  const deps = silenced(given, () => left);
  const end = Promise.withResolvers<TurnEnd>();
  const modelAbort = new AbortController();
  const tools = deps.tools(start.mode);
  const specs = tools.map(toolSpec);
  let calls: readonly RunningCall[] = [];
  let retry: NodeJS.Timeout | undefined;
  let left = false;

  // Deferred, so that an effect of the first state never meets a turn that is still being set up.
  const perform = (effect: AgentEffect): void => queueMicrotask(() => performNow(effect));

  const performNow = (effect: AgentEffect): void => {
    if (left) return;
    switch (effect.type) {
      case 'callModel':
        return run(callModel(deps, start, specs, effect, modelAbort.signal));
      case 'compact':
        return run(compactContext(deps, start, effect, modelAbort.signal));
      case 'startTools':
        return run(startTools(effect.calls));
      case 'abortModel':
        return modelAbort.abort();
      case 'abortTools':
        return cancelCalls();
      case 'scheduleRetry':
        return scheduleRetry(effect);
      case 'finish':
        return end.resolve({ ...effect, answer: answerText(effect, deps.memory.history, start.limits.maxSteps) });
      case 'noteUnexpected':
        return;
    }
  };

  const run = (work: Promise<void>) => void work.catch((error: unknown) => end.reject(error));

  const startTools = async (summaries: readonly ToolCallSummary[]) => {
    calls = await startToolStep(deps, start, tools, summaries, past);
    if (left || actor.state() === 'stopping') cancelCalls();
  };

  const cancelCalls = () => {
    for (const call of calls) call.cancel();
  };

  const scheduleRetry = ({ op, attempt, failure }: Extract<AgentEffect, { type: 'scheduleRetry' }>) => {
    const delayMs = retryDelayMs(attempt, failure.retryAfterMs);
    deps.record({ type: 'timer.set', op, dueAt: deps.now() + delayMs, why: failure.code });
    retry = setTimeout(() => deps.record({ type: 'timer.fired', op, at: deps.now() }), delayMs);
  };

  const seen = past.map(toAgentEvent).filter((event) => event !== null);
  const models = 1 + (start.fallbackModels?.length ?? 0);
  const input = { seq: start.seq, limits: start.limits, models };
  const actor = resumeActor<AgentEvent, AgentEffect>(agentMachine, input, seen, { perform });

  return {
    onRecorded(event) {
      const agentEvent = toAgentEvent(event);
      if (agentEvent) actor.send(agentEvent);
    },
    cancel: (by) => deps.record({ type: 'cancel', seq: start.seq, by, at: deps.now() }),
    abandon() {
      left = true;
      modelAbort.abort();
      cancelCalls();
      clearTimeout(retry);
      end.reject(new Left());
    },
    end: end.promise.finally(() => clearTimeout(retry)),
  };
}

/** After leaving, what the aborted effects come back with is not what happened: the next process does them anew. */
function silenced(deps: TurnDeps, isLeft: () => boolean): TurnDeps {
  const record = (event: JournalEvent) => {
    if (!isLeft()) deps.record(event);
  };
  return { ...deps, record, recorder: { ...deps.recorder, record } };
}

/** Why a turn ended when its process left in the middle of it. */
export class Left extends Error {
  override readonly name = 'Left';
}
