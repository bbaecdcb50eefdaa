// Performs the effect `compact` (SPEC O21, E4): makes the conversation smaller, in passes from cheap to lossy, and journals what it is from
// here on. Todos, open questions and cached files are told anew with the next request, since nothing counts as told any more.

import { buildRequest, type RequestParts } from '../llm/context/build-request.ts';
import { type Draft, messagesOf, type Opening } from '../llm/context/draft.ts';
import { cutUntil } from '../llm/context/last-resort.ts';
import { draftOf, openingWith } from '../llm/context/opening.ts';
import type { About } from '../llm/context/processors/processor.ts';
import { DEFAULT_PROCESSORS, makeProcessor } from '../llm/context/processors/registry.ts';
import { estimateRequest } from '../llm/context/token-estimate.ts';
import type { AgentEffect } from '../machines/agent/events.ts';
import type { EventOf } from '../shared/events.ts';
import type { ModelMessage, ToolSpec } from '../shared/messages.ts';
import type { Failure } from '../shared/outcome.ts';
import { MIN_OUTPUT_TOKENS, takenBy } from './context-fit.ts';
import { pickModel } from './pick-model.ts';
import { restatedOf, taskOf } from './restate.ts';
import { summarize } from './summarize.ts';
import type { TurnDeps } from './turn.ts';

type Compact = Extract<AgentEffect, { type: 'compact' }>;

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
  deps: TurnDeps,
  start: EventOf<'msg.start'>,
  specs: readonly ToolSpec[],
  { op, why, model: index }: Compact,
  signal: AbortSignal,
): Promise<void> {
  const model = pickModel(start, index);
  const window = deps.contextWindow(model);
  const taken = takenBy(deps, model);
  const { history, tokens: counted } = deps.memory;
  const draft = draftOf(history.messages);
  const scale = sizeScale(deps, partsOf(deps, start, specs, model));
  const restated = restatedOf(deps.memory, deps.root);
  const openingOf = (share: number): Opening =>
    openingWith(restated, {
      task: Math.floor(0.75 * share * taken),
      earlier: Math.floor(0.3 * share * taken),
      summary: Math.floor(0.3 * share * taken),
    });
  let opening = openingOf(1);
  const sizeOf = (messages: readonly ModelMessage[]): number => scale.of(messages);
  const size = (now: Draft): number => sizeOf(messagesOf(now, opening));

  const share =
    why === 'too_long' ? Math.min(REFUSED_TARGET, deps.contextSettings.target) : deps.contextSettings.target;
  const target = Math.max(share * taken, Math.min(sizeOf([]) + LEAST_SHARE * taken, 0.7 * taken));
  const passes = await runPasses();
  if (signal.aborted) return;
  const { changed } = passes;
  let last = passes.draft;
  // A character may be a quarter of a token or more than one: where the opening is too long, it gets less room.
  for (const share of OPENING_SHARES) {
    opening = openingOf(share);
    last = cutUntil(passes.draft, (now) => size(now) <= target);
    if (size(last) <= target) break;
  }
  if (last !== passes.draft) changed.push(CUT_TO_FIT);
  const messages = changed.length === 0 ? history.messages : messagesOf(last, opening);
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
    processors: changed,
    replaced: last.gone - draft.gone,
    window,
    tokensBefore: scale.before,
    tokensAfter,
    at: deps.now(),
  });

  /** Until it fits; when it was asked for, at least up to the first summary. */
  async function runPasses(): Promise<{ readonly draft: Draft; readonly changed: string[] }> {
    const changed: string[] = [];
    let now = draft;
    let wanted = why === 'asked';
    for (const settings of deps.contextSettings.processors ?? DEFAULT_PROCESSORS) {
      const excess = size(now) - target;
      if (excess <= 0 && !wanted) break;
      if (signal.aborted) break;
      const about: About = {
        task: taskOf(deps.memory, deps.root, deps.contextSettings.keepRecent),
        keepRecent: deps.contextSettings.keepRecent,
        excessChars: Math.max(0, Math.ceil(excess * scale.charsPerToken)),
      };
      const step = makeProcessor(settings)(now, about);
      const next = step.type === 'done' ? step.draft : step.apply(await summaryOf(step.older, now.summary));
      if (step.type === 'summarise') wanted = false;
      if (next !== now) changed.push(settings.use);
      now = next;
    }
    return { draft: now, changed };
  }

  /** Null when there is none; the user is told why. */
  async function summaryOf(older: readonly ModelMessage[], earlier: string | null): Promise<string | null> {
    const outcome = await summarize(
      deps.smallModel,
      {
        older,
        earlier,
        focus: deps.memory.window.wish ?? '',
        model: start.smallModel,
        window: deps.contextWindow(start.smallModel),
        tokens: counted,
        timeoutMs: deps.contextSettings.summaryTimeoutMs,
      },
      signal,
    );
    if (outcome.ok) return deps.scrub(deps.clean(outcome.value));
    if (signal.aborted) return null;
    const text = `No summary of the older messages: ${outcome.failure.message} Their long results are cut instead.`;
    deps.recorder.record({ type: 'update', seq: start.seq, text: deps.scrub(text), at: deps.now() });
    return null;
  }
}

const partsOf = (
  deps: TurnDeps,
  start: EventOf<'msg.start'>,
  specs: readonly ToolSpec[],
  model: string,
): Omit<RequestParts, 'history'> => ({
  sid: deps.sid,
  mode: start.mode,
  root: deps.root,
  instructions: deps.memory.state.customInstructions,
  model: model.slice(model.indexOf('/') + 1),
  tools: specs,
  maxOutputTokens: deps.maxOutputTokens(model),
});

/**
 * Sizes in the model's tokens. What was counted is lost with the old beginning, so estimates are scaled by how far they were off for the
 * conversation as it is.
 */
function sizeScale(deps: TurnDeps, parts: Omit<RequestParts, 'history'>) {
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
