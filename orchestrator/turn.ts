// Runs one message of a session: binds the agent's loop (agent/loop.ts) to the message's accounts, hooks and tools. tool-step.ts and
// tool-call.ts run the calls.

import { startLoop } from '../agent/loop.ts';
import { type LoopDeps, type LoopEnd } from '../agent/loop-deps.ts';
import type { ModelTable } from '../llm/model-info.ts';
import type { AgentsPort } from '../shared/agents-port.ts';
import { type Tool, type ToolResponse, toolSpec } from '../shared/define-tool.ts';
import { type EventOf, type JournalEvent, MAIN_AGENT, type ToolCallSummary } from '../shared/events.ts';
import type { Mode } from '../shared/modes.ts';
import type { Outcome } from '../shared/outcome.ts';
import type { Agents } from './agents/agents.ts';
import type { AgentSupplies } from './agents/supplies.ts';
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
  /** What subagents need; absent: there are none. */
  readonly agents?: AgentSupplies;
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

/** What the user has to say to a subagent. */
export type AgentWord =
  | { readonly type: 'cancel'; readonly by: string }
  | { readonly type: 'say'; readonly text: string; readonly by: string };

export interface RunningTurn {
  /** Tells the turn of an event that was recorded for it. The recorder's owner calls this. */
  onRecorded(event: JournalEvent): void;
  /** Journals a cancel request; the turn then ends by itself, soon. */
  cancel(by: string): void;
  /** Cancels one subagent, or tells it, or the message's own agent, something; false when it does not work. Absent: it has none. */
  agent?(id: string, word: AgentWord): Promise<boolean>;
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
  const own = silenced(given, () => left);
  let agents: Promise<Agents> | null = null;
  /** Seldom needed, so loaded when they are. */
  const openAgents = (supplies: AgentSupplies): Promise<Agents> => {
    agents ??= import('./agents/agents.ts').then(({ createAgents }) =>
      createAgents({ parent: own, supplies, scope: deps.budget.scope, isLeft: () => left, now: deps.now }, start, past),
    );
    return agents;
  };
  const deps = withHooks(withAccounts(withAgents(own, openAgents), start, past), start);
  const tools = deps.tools(start.mode);
  const loop = startLoop(deps, {
    start,
    past,
    specs: tools.map(toolSpec),
    hooks: createTurnHooks(deps, start),
    startTools: (calls, signal) => startToolStep(deps, start, tools, calls, past, signal),
    ending: async (end) => (agents ? (await agents).settle(end) : end),
  });
  // A fault of Odin's own must not leave agents at work.
  loop.end.catch(() => void agents?.then((all) => all.abandon()));
  if (given.agents && past.some(({ type }) => type === 'agent.spawn')) void openAgents(given.agents);
  return {
    onRecorded: loop.onRecorded,
    cancel(by) {
      loop.cancel(by);
      // Then only agents in the background are waited for.
      if (loop.isOver()) void agents?.then((all) => all.cancelAll(by));
    },
    async agent(id, word) {
      if (id === MAIN_AGENT && word.type === 'say') {
        own.record({ type: 'word', seq: start.seq, text: word.text, by: word.by, at: deps.now() });
        return true;
      }
      const all = await agents;
      if (!all) return false;
      return word.type === 'cancel' ? all.cancel(id, word.by) : all.say(id, word.text, word.by);
    },
    abandon() {
      left = true;
      loop.abandon();
      void agents?.then((all) => all.abandon());
    },
    end: loop.end,
  };
}

/** The calls of the session's own agent can start others. */
function withAgents(deps: GivenTurnDeps, open: (supplies: AgentSupplies) => Promise<Agents>): GivenTurnDeps {
  const { agents: supplies } = deps;
  if (!supplies) return deps;
  const port: AgentsPort = {
    start: async (op, order, background) => (await open(supplies)).start(op, order, background),
    result: async (id, signal) => (await open(supplies)).result(id, signal),
  };
  return { ...deps, context: (call, more) => ({ ...deps.context(call, more), agents: port }) };
}

/** After leaving, what the aborted effects come back with is not what happened: the next process does them anew. */
export function silenced(deps: GivenTurnDeps, isLeft: () => boolean): GivenTurnDeps {
  const record = (event: JournalEvent) => {
    if (!isLeft()) deps.record(event);
  };
  return { ...deps, record, recorder: { ...deps.recorder, record } };
}
