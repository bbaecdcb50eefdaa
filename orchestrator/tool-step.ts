// Performs the effect `startTools`: all calls of one planner step, together, in order where they touch the same path (SPEC O9,
// E12). After a crash, calls that are settled stay settled and an intent without a result is finished or called unknown.

import type { Tool, ToolEffect, Touch } from '../shared/define-tool.ts';
import { type EventOf, type JournalEvent, settledKindOf, type ToolCallSummary } from '../shared/events.ts';
import type { Json } from '../shared/json.ts';
import type { Mode } from '../shared/modes.ts';
import { fail } from '../shared/outcome.ts';
import { type AfterCall, afterCall, callAsRun } from './hooks/hooked-call.ts';
import { type RunningCall, startToolCall } from './tool-call.ts';
import { toolDone } from './tool-done.ts';
import type { TurnDeps } from './turn.ts';

/** Starts the calls that are not settled yet. `signal` stops what a crash left running; the others have a cancel of their own. */
export async function startToolStep(
  deps: TurnDeps,
  start: EventOf<'msg.start'>,
  tools: readonly Tool[],
  calls: readonly ToolCallSummary[],
  past: readonly JournalEvent[],
  signal: AbortSignal,
): Promise<readonly RunningCall[]> {
  const rawArgs = new Map(deps.memory.history.open?.calls.map((call) => [call.callId, call.rawArgs]));
  const running: RunningCall[] = [];
  for (const call of await unfinished(deps, calls, past, signal)) {
    const tool = tools.find((candidate) => candidate.name === call.name) ?? {
      missing: missingTool(call.name, start.mode, tools),
    };
    const earlier = [...running];
    const effect = 'missing' in tool ? 'read' : tool.effect;
    const ready = async (touches: readonly Touch[]) => {
      if (deps.hooks.toolCall) await Promise.all(earlier.map(async ({ prepared }) => await prepared));
      const before = earlier.filter((other) => inOrder(other, { effect, touches }));
      return Promise.all(before.map((other) => other.settled));
    };
    running.push(startToolCall(deps, call, rawArgs.get(call.callId) ?? '', tool, ready));
  }
  return running;
}

async function unfinished(
  deps: TurnDeps,
  calls: readonly ToolCallSummary[],
  past: readonly JournalEvent[],
  signal: AbortSignal,
): Promise<readonly ToolCallSummary[]> {
  if (past.length === 0) return calls;
  const settled = new Set(past.flatMap((event) => (event.type === 'tool.done' ? [event.op] : [])));
  const intents = new Map(past.flatMap((event) => (event.type === 'tool.intent' ? [[event.op, event]] : [])));
  const open: ToolCallSummary[] = [];
  for (const call of calls) {
    const intent = intents.get(call.op);
    if (settled.has(call.op)) continue;
    if (intent) await finishIntent(deps, intent, call, past, signal);
    else open.push(call);
  }
  return open;
}

async function finishIntent(
  deps: TurnDeps,
  intent: EventOf<'tool.intent'>,
  call: ToolCallSummary,
  past: readonly JournalEvent[],
  signal: AbortSignal,
): Promise<void> {
  const startedAt = deps.now();
  const outcome = (await deps.finishIntent(intent, call, signal)) ?? UNKNOWN;
  const kind = outcome === UNKNOWN ? 'unknown' : outcome.ok ? 'ok' : settledKindOf(outcome.failure.kind);
  const end = outcome.ok ? { response: outcome.value, failure: null } : { response: null, failure: outcome.failure };
  const { toolResult } = deps.hooks;
  const hooked = toolResult && (await afterCall(afterCrash(deps, call, past), { kind, ...end }));
  deps.record(toolDone(deps, call, { startedAt, ...(hooked ?? { kind, ...end }) }));
}

/** Whether the hooks had been through with it is not known: they are asked again. */
function afterCrash(deps: TurnDeps, { op, name, callId }: ToolCallSummary, past: readonly JournalEvent[]): AfterCall {
  const rawArgs = deps.memory.history.open?.calls.find((call) => call.callId === callId)?.rawArgs ?? '';
  const signal = new AbortController().signal;
  const takeUpChange = (data: Json) => deps.takeUpChange(data);
  return { toolResult: deps.hooks.toolResult, op, name, ...callAsRun(past, op, rawArgs), signal, takeUpChange };
}

const UNKNOWN = fail(
  'failed',
  'outcome_unknown',
  'Odin was stopped while this ran, and whether it took effect is unknown. Check before you try again.',
);

/** What a command touches is not known, so commands and writes of a step keep their order among each other. */
function inOrder(
  earlier: RunningCall,
  later: { readonly effect: ToolEffect; readonly touches: readonly Touch[] },
): boolean {
  const isRun = earlier.effect === 'run' || later.effect === 'run';
  if (isRun) return earlier.effect !== 'read' && later.effect !== 'read';
  return conflict(earlier.touches(), later.touches);
}

function conflict(a: readonly Touch[], b: readonly Touch[]): boolean {
  return a.some((one) =>
    b.some((other) => one.path === other.path && (one.access === 'write' || other.access === 'write')),
  );
}

function missingTool(name: string, mode: Mode, tools: readonly Tool[]): string {
  return `There is no tool ${JSON.stringify(name)} in ${mode} mode. The tools are: ${tools.map((tool) => tool.name).join(', ')}.`;
}
