// Performs the effect `callModel`: builds the prompt, journals the request, streams the answer, journals what came of it.

import { buildRequest } from '../llm/context/build-request.ts';
import { renderFacts } from '../llm/context/facts.ts';
import type { AgentEffect } from '../machines/agent/events.ts';
import { REPEATS_TOLD } from '../machines/agent/machine.ts';
import type { EventOf } from '../shared/events.ts';
import { type OpId, opId, sha256 } from '../shared/ids.ts';
import { type ModelAnswer, type ToolSpec, toolCallsOf, type Usage } from '../shared/messages.ts';
import { fail, type Outcome, ok, UserError } from '../shared/outcome.ts';
import type { ModelDelta, ModelProvider } from '../shared/ports.ts';
import { scrubJson } from '../shared/scrub.ts';
import { pickModel } from './pick-model.ts';
import { promptHash } from './session-memory.ts';
import type { TurnDeps } from './turn.ts';

type CallModel = Extract<AgentEffect, { type: 'callModel' }>;

/** Resolves when llm.res or llm.fail is recorded; rejects when the journal is no longer ours. */
export async function callModel(
  deps: TurnDeps,
  start: EventOf<'msg.start'>,
  specs: readonly ToolSpec[],
  { op, attempt, repeats, model: index }: CallModel,
  signal: AbortSignal,
): Promise<void> {
  const model = pickModel(start, index);
  const facts = attempt === 1 ? newFacts(deps, repeats) : null;
  const base = {
    sid: deps.sid,
    mode: start.mode,
    root: deps.root,
    instructions: deps.memory.state.customInstructions,
    model: model.slice(model.indexOf('/') + 1),
    tools: specs,
    maxOutputTokens: deps.maxOutputTokens(model),
  };
  deps.recorder.record({
    type: 'llm.req',
    op,
    model,
    reqHash: promptHash(deps.memory, `${model}|${start.mode}`, facts),
    attempt,
    ...(facts === null ? {} : { facts }),
    at: deps.now(),
  });
  // Built after the fold of llm.req, which has put the facts into the newest message.
  const request = buildRequest({ ...base, history: deps.memory.history });
  const ready = deps.recorder.flushed();
  ready.catch(() => {});
  const provider = await openProvider(deps, model);
  let spent: Usage | undefined;
  const outcome = provider.ok
    ? await provider.value.stream(request, {
        signal,
        ready,
        timeoutMs: deps.stepTimeoutMs,
        onDelta: (delta) => showDelta(deps, op, delta),
        onUsage: (usage) => {
          spent = usage;
        },
      })
    : provider;
  await ready;
  if (outcome.ok) recordAnswer(deps, start.seq, op, outcome.value);
  else {
    const failure = scrubJson(outcome.failure, deps.scrub);
    deps.recorder.record({ type: 'llm.fail', op, failure, ...(spent ? { usage: spent } : {}), at: deps.now() });
  }
}

/** A model that this process has no key or server for ends the message with what to do, not as a fault of Odin's. */
async function openProvider(deps: TurnDeps, model: string): Promise<Outcome<ModelProvider>> {
  try {
    return ok(await deps.provider(model));
  } catch (error) {
    if (error instanceof UserError) return fail('failed', 'unknown_model', error.message);
    throw error;
  }
}

function newFacts(deps: TurnDeps, repeats: number): string | null {
  const { text, told } = renderFacts(
    deps.memory.told,
    {
      date: new Date(deps.now()).toISOString().slice(0, 10),
      cached: deps.cachedFiles(),
      todos: deps.memory.state.todos,
      repeats,
      root: deps.root,
    },
    REPEATS_TOLD,
  );
  deps.memory.told = told;
  return text;
}

function showDelta(deps: TurnDeps, op: OpId, delta: ModelDelta): void {
  if (delta.type === 'args') deps.live.publish({ ...delta, op });
  else deps.live.publish({ type: delta.type, op, delta: delta.delta });
}

function recordAnswer(deps: TurnDeps, seq: number, op: OpId, answer: ModelAnswer): void {
  const turn = Number(op.split('.')[1]);
  deps.recorder.record({
    type: 'llm.res',
    op,
    parts: { inline: answer.parts },
    calls: toolCallsOf(answer.parts).map((call, index) => ({
      op: opId(seq, turn, index + 1),
      callId: call.callId,
      name: call.name,
      argsHash: sha256(call.rawArgs),
    })),
    stop: answer.stop,
    usage: answer.usage,
    model: answer.model,
    at: deps.now(),
  });
}
