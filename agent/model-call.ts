// Performs the effect `callModel`: builds the prompt, journals the request, streams the answer, journals what came of it.

import { buildRequest } from '../llm/context/build-request.ts';
import { renderFacts, type ToldFacts } from '../llm/context/facts.ts';
import type { AgentEffect } from '../machines/agent/events.ts';
import { REPEATS_TOLD } from '../machines/agent/repeats.ts';
import type { EventOf } from '../shared/events.ts';
import { type OpId, opId, sha256 } from '../shared/ids.ts';
import { killPoint } from '../shared/kill-point.ts';
import { type ModelAnswer, type ToolSpec, toolCallsOf, type Usage } from '../shared/messages.ts';
import { type Failure, fail, type Outcome, ok, UserError } from '../shared/outcome.ts';
import type { ModelDelta, ModelProvider } from '../shared/ports.ts';
import { scrubJson } from '../shared/scrub.ts';
import { withOwnCallIds } from './call-ids.ts';
import { checkFit } from './context-fit.ts';
import { countedUsage } from './counted-usage.ts';
import type { LoopDeps } from './loop-deps.ts';
import { type AgentMemory, promptHash } from './memory.ts';
import { openQuestions } from './permissions-memory.ts';
import { pickModel } from './pick-model.ts';
import { requestParts } from './request-parts.ts';

/** Ended background agents that a planner is told of at the most; told once, and again when the context was made smaller. */
const ENDED_TOLD = 10;

type CallModel = Extract<AgentEffect, { type: 'callModel' }> & {
  /** What hooks have to say to the model with this request. */
  readonly note?: string | null;
};

/** Resolves when llm.res or llm.fail is recorded; rejects when the journal is no longer ours. */
export async function callModel(
  deps: LoopDeps,
  start: EventOf<'msg.start'>,
  specs: readonly ToolSpec[],
  { op, attempt, repeats, model: index, note = null }: CallModel,
  signal: AbortSignal,
): Promise<void> {
  const model = pickModel(start, index);
  const words = deps.waitingWords?.() ?? [];
  const before = toldBefore(deps.memory);
  const news = newFacts(deps, before === null ? repeats : 0, words);
  const added = joined([news.text, note]);
  const base = requestParts(deps, start, specs, model);
  const { history } = deps.memory;
  const fit = checkFit(deps, { op, model, request: buildRequest({ ...base, history }), facts: added });
  if (fit.full) return deps.recorder.record(fit.full);
  const wanted = { model, inputTokens: fit.tokens, maxOutputTokens: fit.maxOutputTokens };
  const room = deps.budget.plannerRoom(wanted, signal);
  const maxOutputTokens = room instanceof Promise ? await room : room;
  if (maxOutputTokens === null) return;
  // Nothing more: the history has those of the earlier try.
  const facts = added === null ? null : joined([before, added]);
  deps.memory.told = news.told;
  for (const word of words) deps.recorder.record(word);
  deps.recorder.record({
    type: 'llm.req',
    op,
    model,
    reqHash: promptHash(deps.memory, `${model}|${start.mode}`, facts),
    attempt,
    ...(facts === null ? {} : { facts }),
    estimate: fit.tokens,
    at: deps.now(),
  });
  const allowed = deps.leave ? await deps.leave(op, attempt, signal) : maxOutputTokens;
  if (allowed === null && !signal.aborted) {
    return deps.recorder.record({ type: 'llm.fail', op, failure: NO_LEAVE, at: deps.now() });
  }
  const longest = Math.min(maxOutputTokens, allowed ?? maxOutputTokens);
  // Built after the fold of llm.req, which has put the facts into the newest message.
  const built = buildRequest({ ...base, maxOutputTokens: longest, history: deps.memory.history });
  const refs = built.messages.flatMap((message) => (message.role === 'user' ? (message.images ?? []) : []));
  const images = refs.length === 0 ? undefined : await deps.pictures?.(model, refs);
  const request = images === undefined ? built : { ...built, images };
  deps.recount(deps.memory.tokens, request, deps.contextWindow(model));
  const ready = deps.recorder.flushed();
  ready.catch(() => {});
  // What was recorded leaves for the journal with this tick: the request is made ready while that is under way, not before.
  await new Promise<void>(process.nextTick);
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
  killPoint('model:answered');
  if (outcome.ok) recordAnswer(deps, start.seq, op, outcome.value, fit.tokens);
  else {
    const failure = scrubJson(outcome.failure, deps.scrub);
    deps.recorder.record({ type: 'llm.fail', op, failure, ...(spent ? { usage: spent } : {}), at: deps.now() });
  }
}

const NO_LEAVE: Failure = {
  kind: 'failed',
  code: 'nobody_listens',
  message:
    'The Odin that this agent works for does not listen any more, so nobody can say whether there is budget left.',
};

/** A model that this process has no key or server for ends the message with what to do, not as a fault of Odin's. */
async function openProvider(deps: LoopDeps, model: string): Promise<Outcome<ModelProvider>> {
  try {
    return ok(await deps.provider(model));
  } catch (error) {
    if (error instanceof UserError) return fail('failed', 'unknown_model', error.message);
    throw error;
  }
}

/** What is to be told, and what the planner then knows: it knows it once the request is journaled. */
function newFacts(
  deps: LoopDeps,
  repeats: number,
  words: readonly EventOf<'word'>[],
): { readonly text: string | null; readonly told: ToldFacts } {
  const { state, permissions, told } = deps.memory;
  return renderFacts(
    told,
    {
      date: new Date(deps.now()).toISOString().slice(0, 10),
      cached: deps.cachedFiles(),
      todos: state.todos,
      agents: state.subAgents,
      ended: state.agentResults.filter(({ background }) => background).slice(-ENDED_TOLD),
      words: [...state.words, ...words],
      questions: openQuestions(permissions).map(({ question }) => question),
      repeats,
      root: deps.root,
      budget: deps.budget.near(),
    },
    REPEATS_TOLD,
  );
}

/**
 * What an earlier try of this request has told: a request's facts are all of its newest message, so the next try tells it too. None when nothing
 * counts as told, for then all of it is new.
 */
function toldBefore({ history, told }: AgentMemory): string | null {
  const newest = history.messages.at(-1);
  return told.size === 0 || newest === undefined || newest.role === 'assistant' ? null : (newest.facts ?? null);
}

function joined(parts: readonly (string | null)[]): string | null {
  const texts = parts.filter((part) => part !== null);
  return texts.length === 0 ? null : texts.join('\n');
}

function showDelta(deps: LoopDeps, op: OpId, delta: ModelDelta): void {
  if (delta.type === 'args') deps.live.publish({ ...delta, op });
  else deps.live.publish({ type: delta.type, op, delta: delta.delta });
}

function recordAnswer(deps: LoopDeps, seq: number, op: OpId, answer: ModelAnswer, inputEstimate: number): void {
  const turn = Number(op.split('.')[1]);
  const parts = withOwnCallIds(answer.parts, op, deps.memory.history.messages);
  deps.recorder.record({
    type: 'llm.res',
    op,
    parts: { inline: parts },
    calls: toolCallsOf(parts).map((call, index) => ({
      op: opId(seq, turn, index + 1),
      callId: call.callId,
      name: call.name,
      argsHash: sha256(call.rawArgs),
    })),
    stop: answer.stop,
    ...countedUsage(deps.memory.tokens, answer, inputEstimate),
    model: answer.model,
    at: deps.now(),
  });
}
