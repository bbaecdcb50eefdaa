// What the model must answer, and who must do what when, so that a message takes a path through the agent's machine or the tool's
// (DURABILITY 15, test 2). The agent's paths are generated from the machine; the tool's are written down, one for each way through it,
// and compared with the machine.

import { initialTransition, transition } from 'xstate';
import { getSimplePaths } from 'xstate/graph';
import type { ScriptedAnswer, ScriptedCall } from '../../llm/scripted/script.ts';
import type { AgentEvent } from '../../machines/agent/events.ts';
import { agentMachine } from '../../machines/agent/machine.ts';
import { opId } from '../../shared/ids.ts';

/** One answer of the model, and what is done once the journal has an event of the type `on` behind it. */
export interface PlannedAnswer {
  readonly answer: ScriptedAnswer;
  readonly act?: {
    readonly on: 'llm.req' | 'timer.set' | 'perm.ask' | 'tool.intent';
    readonly what: 'cancel' | 'allow' | 'deny';
  };
}

export interface PathPlan {
  readonly name: string;
  /** States of the machine in question that it passes, in order. */
  readonly states: readonly string[];
  readonly answers: readonly PlannedAnswer[];
  readonly maxSteps: number;
}

const MAX_STEPS = 2;
const DONE: PlannedAnswer = { answer: { text: 'Done.' } };
const calls = (...toolCalls: readonly ScriptedCall[]): ScriptedAnswer => ({ toolCalls });
const write = (n: number): ScriptedCall => ({
  name: 'WriteFile',
  args: { file_path: `made${n}.txt`, content: `made ${n}\n` },
});
const command = (n: number): ScriptedCall => ({ name: 'ExecuteCommand', args: { command: `echo ${n} >> effects` } });
const sleeping: ScriptedCall = { name: 'ExecuteCommand', args: { command: 'sleep 20' } };

/** Every path of the agent's machine from its start to an end, of messages of at most two steps and one fault of a kind. */
export function agentPlans(): readonly PathPlan[] {
  const input = { seq: 1, limits: { maxSteps: MAX_STEPS }, models: 1 };
  const paths = getSimplePaths(agentMachine, {
    input,
    events: eventsOf as never,
    serializeState: (state) => {
      const { value, context } = state as unknown as Snapshot;
      const { turn, attempt, compactions, cuts, settled } = context;
      return JSON.stringify([value, turn, attempt, compactions, cuts, Object.keys(settled).length]);
    },
  });
  const ends = paths.filter(({ state }) => (state as unknown as Snapshot).status === 'done');
  return ends.map(({ steps }) =>
    planOf(steps.map(({ event }) => event).filter((event) => !event.type.startsWith('xstate.'))),
  );
}

interface Snapshot {
  readonly value: string;
  readonly status: string;
  readonly context: {
    readonly turn: number;
    readonly attempt: number;
    readonly compactions: number;
    readonly cuts: number;
    readonly settled: Readonly<Record<string, string>>;
    readonly calls: readonly { readonly op: string }[];
  };
}

/** What can happen in a state, as far as a model and a user can bring it about. */
function eventsOf(state: unknown): readonly AgentEvent[] {
  const { value, context } = state as Snapshot;
  const op = opId(1, context.turn, 0);
  const answered = (stop: 'end' | 'tool_calls' | 'max_tokens', count: number): AgentEvent => ({
    type: 'model.answered',
    op,
    stop,
    isEmpty: false,
    calls: Array.from({ length: count }, (_, k) => ({
      op: opId(1, context.turn, k + 1),
      callId: `c${k}`,
      name: 'WriteFile',
      argsHash: `${context.turn}.${k}`,
    })),
  });
  const failed = (kind: 'transient' | 'failed', code: string): AgentEvent => ({
    type: 'model.failed',
    op,
    failure: { kind, code, message: code },
  });
  switch (value) {
    case 'idle':
      return [{ type: 'message.started' }];
    case 'thinking':
      return [
        answered('end', 0),
        answered('tool_calls', 2),
        ...(context.cuts === 0 ? [answered('max_tokens', 0)] : []),
        ...(context.attempt === 1 ? [failed('transient', 'overloaded')] : []),
        failed('failed', 'auth'),
        ...(context.compactions === 0 ? [failed('failed', 'context_too_long')] : []),
        { type: 'cancel.requested' },
      ];
    case 'compacting':
      return [{ type: 'compaction.failed', op, failure: { kind: 'failed', code: 'context_too_long', message: '' } }];
    case 'waiting':
      return [{ type: 'timer.due', op }, { type: 'cancel.requested' }];
    case 'acting':
      return [
        ...context.calls
          .filter((call) => !(call.op in context.settled))
          .slice(0, 1)
          .map((call) => settledEvent(call.op)),
        ...(Object.keys(context.settled).length === 0 ? [{ type: 'cancel.requested' } as const] : []),
      ];
    case 'stopping':
      return context.calls
        .filter((call) => !(call.op in context.settled))
        .slice(0, 1)
        .map((call) => settledEvent(call.op));
    default:
      return [];
  }
}

const settledEvent = (op: string): AgentEvent => ({
  type: 'tool.settled',
  op: op as never,
  kind: 'ok',
  resultHash: op,
});

function planOf(events: readonly AgentEvent[]): PathPlan {
  const answers: PlannedAnswer[] = [];
  let [snapshot] = initialTransition(agentMachine, { seq: 1, limits: { maxSteps: MAX_STEPS }, models: 1 });
  const states: string[] = [];
  for (const event of events) {
    const { value, context } = snapshot as unknown as Snapshot;
    const planned = plannedFor(event, value, context.turn, answers);
    if (planned) answers.push(planned);
    [snapshot] = transition(agentMachine, snapshot, event);
    states.push(String(snapshot.value));
  }
  const name = `agent ${events.slice(1).map(shortName).join(' ')}`;
  return { name, states, answers, maxSteps: MAX_STEPS };
}

function plannedFor(event: AgentEvent, state: string, turn: number, before: PlannedAnswer[]): PlannedAnswer | null {
  if (event.type === 'model.answered') {
    if (event.stop === 'max_tokens') return { answer: { text: `Half of ${turn}`, fault: 'max_tokens' } };
    return event.calls.length === 0 ? DONE : { answer: calls(write(turn), command(turn)) };
  }
  if (event.type === 'model.failed') {
    const { code } = event.failure;
    return {
      answer: { fault: code === 'auth' ? 'http_401' : code === 'overloaded' ? 'http_529' : 'http_400_context' },
    };
  }
  if (event.type !== 'cancel.requested') return null;
  if (state === 'thinking')
    return { answer: { text: 'Too late.', delayMs: 20_000 }, act: { on: 'llm.req', what: 'cancel' } };
  const last = before.pop();
  if (state === 'acting') return { answer: calls(sleeping, write(turn)), act: { on: 'tool.intent', what: 'cancel' } };
  return { answer: last?.answer ?? {}, act: { on: 'timer.set', what: 'cancel' } };
}

function shortName(event: AgentEvent): string {
  if (event.type === 'model.answered') return event.stop;
  if (event.type === 'model.failed') return event.failure.code;
  return event.type;
}

/** One for each way through the tool's machine that a model and a user can bring about. */
export function toolPlans(): readonly PathPlan[] {
  const plan = (name: string, states: readonly string[], call: ScriptedCall, act?: PlannedAnswer['act']): PathPlan => ({
    name: `tool ${name}`,
    states: ['validating', ...states, 'shaping', 'settled'],
    answers: [{ answer: calls(call), ...(act ? { act } : {}) }, DONE],
    maxSteps: 5,
  });
  const timed: ScriptedCall = { name: 'ExecuteCommand', args: { command: 'sleep 20', timeout_ms: 50 } };
  return [
    plan('invalid', [], { name: 'WriteFile', args: '{"file_path": 7}' }),
    plan('refused', ['gating'], {
      name: 'EditTool',
      args: { file_path: 'unread.txt', old_string: 'a', new_string: 'b' },
    }),
    plan('read', ['gating', 'executing'], { name: 'ReadFile', args: { file_path: 'ODIN.md' } }),
    plan('failed', ['gating', 'executing'], timed),
    plan('command', ['gating', 'executing'], command(1)),
    plan('asked, allowed', ['gating', 'asking', 'executing'], write(1), { on: 'perm.ask', what: 'allow' }),
    plan('asked, denied', ['gating', 'asking'], write(1), { on: 'perm.ask', what: 'deny' }),
    plan('asked, cancelled', ['gating', 'asking'], write(1), { on: 'perm.ask', what: 'cancel' }),
    plan('executing, cancelled', ['gating', 'executing', 'aborting'], sleeping, { on: 'tool.intent', what: 'cancel' }),
  ];
}
