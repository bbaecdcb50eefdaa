// Performs the effect `compact` (SPEC O21, E4): makes the conversation smaller, in passes from cheap to lossy, and journals what it is from
// here on. Todos, open questions and cached files are told anew with the next request, since nothing counts as told any more.

import { buildRequest, type RequestParts } from '../llm/context/build-request.ts';
import { type Draft, messagesOf, type Opening } from '../llm/context/draft.ts';
import { cutUntil } from '../llm/context/last-resort.ts';
import { draftOf, openingWith } from '../llm/context/opening.ts';
import { estimateRequest } from '../llm/context/token-estimate.ts';
import type { AgentEffect } from '../machines/agent/events.ts';
import type { EventOf } from '../shared/events.ts';
import type { ModelMessage, ToolSpec } from '../shared/messages.ts';
import type { Failure } from '../shared/outcome.ts';
import { runPasses } from './compaction-passes.ts';
import { MIN_OUTPUT_TOKENS, takenBy } from './context-fit.ts';
import type { LoopDeps } from './loop-deps.ts';
import { pickModel } from './pick-model.ts';
import { requestParts } from './request-parts.ts';
import { restatedOf } from './restate.ts';

type Compact = Extract<AgentEffect, { type: 'compact' }> & {
  /** What the user wants kept in particular. */
  readonly focus?: string;
};

/** A pass of the last resort, in the journal beside the names of processors. */
const CUT_TO_FIT = 'cutToFit';
/** After a refusal the estimate is known to be wrong: aim lower. */
const REFUSED_TARGET = 0.35;
/** And what is hardly smaller is not worth asking again. */
const MOST_LEFT = 0.95;
const OPENING_SHARES = [1, 0.25, 0.05] as const;
/** What must be left for the conversation when the prompt and the tools alone fill the target. */
const LEAST_SHARE = 0.2;

/** Resolves when compact.done or compact.fail is recorded; records nothing once aborted. */
export async function compactContext(
  deps: LoopDeps,
  start: EventOf<'msg.start'>,
  specs: readonly ToolSpec[],
  { op, why, model: index, focus = deps.memory.window.wish ?? '' }: Compact,
  signal: AbortSignal,
): Promise<void> {
  const model = pickModel(start, index);
  const window = deps.contextWindow(model);
  const taken = takenBy(deps, model);
  const { history } = deps.memory;
  const draft = draftOf(history.messages);
  const scale = sizeScale(deps, requestParts(deps, start, specs, model));
  const restated = restatedOf(deps.memory, deps.root);
  const openingOf = (part: number): Opening =>
    openingWith(restated, {
      task: Math.floor(0.75 * part * taken),
      earlier: Math.floor(0.3 * part * taken),
      summary: Math.floor(0.3 * part * taken),
    });
  let opening = openingOf(1);
  const sizeOf = (messages: readonly ModelMessage[]): number => scale.of(messages);
  const size = (now: Draft): number => sizeOf(messagesOf(now, opening));

  const share =
    why === 'too_long' ? Math.min(REFUSED_TARGET, deps.contextSettings.target) : deps.contextSettings.target;
  const target = Math.max(share * taken, Math.min(sizeOf([]) + LEAST_SHARE * taken, 0.7 * taken));
  const { charsPerToken } = scale;
  const passed = await runPasses(deps, start, { draft, why, focus, target, charsPerToken, size }, signal);
  if (signal.aborted) return;
  let last = passed.draft;
  // A character may be a quarter of a token or more than one: where the opening is too long, it gets less room.
  for (const part of OPENING_SHARES) {
    opening = openingOf(part);
    last = cutUntil(passed.draft, (now) => size(now) <= target);
    if (size(last) <= target) break;
  }
  const processors = last === passed.draft ? passed.changed : [...passed.changed, CUT_TO_FIT];
  const messages = processors.length === 0 ? history.messages : messagesOf(last, opening);
  const tokensAfter = sizeOf(messages);
  const failure =
    tokensAfter + MIN_OUTPUT_TOKENS > window
      ? tooLarge(model, tokensAfter, window)
      : why === 'too_long' && tokensAfter > MOST_LEFT * scale.before
        ? refusedAsItIs(model, tokensAfter)
        : null;
  if (failure) return deps.recorder.record({ type: 'compact.fail', op, failure, at: deps.now() });
  deps.recorder.record({
    type: 'compact.done',
    op,
    why,
    messages: { inline: messages },
    processors,
    replaced: last.gone - draft.gone,
    window,
    tokensBefore: scale.before,
    tokensAfter,
    at: deps.now(),
  });
}

/**
 * Sizes in the model's tokens. What was counted is lost with the old beginning, so estimates are scaled by how far they were off for the
 * conversation as it is.
 */
function sizeScale(deps: LoopDeps, parts: Omit<RequestParts, 'history'>) {
  const { history, tokens: counted } = deps.memory;
  const uncounted = { ...counted, base: null };
  const guess = (messages: readonly ModelMessage[]): number =>
    estimateRequest(uncounted, buildRequest({ ...parts, history: { ...history, messages } }), null).tokens;
  const estimated = guess(history.messages);
  const before = estimateRequest(counted, buildRequest({ ...parts, history }), null).tokens;
  const factor = Math.max(0.5, before / Math.max(1, estimated));
  return {
    before,
    charsPerToken: JSON.stringify(history.messages).length / Math.max(1, before),
    of: (messages: readonly ModelMessage[]): number => Math.ceil(factor * guess(messages)),
  };
}

const refusedAsItIs = (model: string, tokens: number): Failure => ({
  kind: 'failed',
  code: 'context_too_long',
  message: `${model} refuses about ${tokens} tokens as too long, and hardly anything of them can be cut. Its server may give it a smaller window than the model could have: raise it there, take a model with a larger window (--model), or ask for less at a time.`,
});

const tooLarge = (model: string, tokens: number, window: number): Failure => ({
  kind: 'failed',
  code: 'context_too_long',
  message: `The context does not fit ${model}, not even with everything cut that can be: about ${tokens} tokens are needed and its window has ${window}. Take a model with a larger window (--model), or ask for less at a time in a new session.`,
});
