// Runs one message of a session: binds the agent's loop (agent/loop.ts) to the message's accounts, hooks and tools. tool-step.ts and
// tool-call.ts run the calls.

import { startLoop } from '../agent/loop.ts';
import { type LoopDeps, type LoopEnd } from '../agent/loop-deps.ts';
import type { ModelTable } from '../llm/model-info.ts';
import { type Tool, type ToolResponse, toolSpec } from '../shared/define-tool.ts';
import type { EventOf, JournalEvent, ToolCallSummary } from '../shared/events.ts';
import type { Mode } from '../shared/modes.ts';
import type { Outcome } from '../shared/outcome.ts';
import type { BudgetPolicy, MessageBudget } from './budget/message-budget.ts';
import { withAccounts } from './budget/with-accounts.ts';
import type { Hook } from './hooks/hook.ts';
import { createTurnHooks, withHooks } from './hooks/turn-hooks.ts';
import type { Recorder } from './recorder.ts';
import type { SessionMemory } from './session-memory.ts';
import type { ToolCallDeps } from './tool-call.ts';
import { startToolStep } from './tool-step.ts';

export interface TurnDeps extends ToolCallDeps, Omit<LoopDeps, 'memory' | 'budget' | keyof ToolCallDeps> {
  readonly memory: SessionMemory;
  readonly recorder: Recorder;
  tools(mode: Mode): readonly Tool[];
  readonly models: ModelTable;
  readonly budget: MessageBudget;
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

export type TurnEnd = LoopEnd;

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
  let left = false;
  const accounted = withAccounts(
    silenced(given, () => left),
    start,
    past,
  );
  const deps = withHooks(accounted, start);
  const tools = deps.tools(start.mode);
  const loop = startLoop(deps, {
    start,
    past,
    specs: tools.map(toolSpec),
    hooks: createTurnHooks(deps, start),
    startTools: (calls, signal) => startToolStep(deps, start, tools, calls, past, signal),
  });
  return {
    onRecorded: loop.onRecorded,
    cancel: loop.cancel,
    abandon() {
      left = true;
      loop.abandon();
    },
    end: loop.end,
  };
}

/** After leaving, what the aborted effects come back with is not what happened: the next process does them anew. */
function silenced(deps: GivenTurnDeps, isLeft: () => boolean): GivenTurnDeps {
  const record = (event: JournalEvent) => {
    if (!isLeft()) deps.record(event);
  };
  return { ...deps, record, recorder: { ...deps.recorder, record } };
}
