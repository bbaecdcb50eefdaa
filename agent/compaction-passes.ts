// The passes of a compaction (SPEC E4): the processors of the settings, one after the other, until the conversation is as small as wanted. Where
// one wants a summary, the lesser model is asked for it here.

import type { Draft } from '../llm/context/draft.ts';
import { DEFAULT_PROCESSORS, makeProcessor } from '../llm/context/processors/registry.ts';
import type { CompactReason, EventOf } from '../shared/events.ts';
import type { ModelMessage } from '../shared/messages.ts';
import type { LoopDeps } from './loop-deps.ts';
import { taskOf } from './restate.ts';
import { summarize } from './summarize.ts';

export interface PassesInput {
  readonly draft: Draft;
  readonly why: CompactReason;
  /** What to keep in particular; '' for nothing. */
  readonly focus: string;
  /** Tokens that are aimed for. */
  readonly target: number;
  readonly charsPerToken: number;
  /** Tokens of a draft as a conversation. */
  size(draft: Draft): number;
}

export interface Passed {
  readonly draft: Draft;
  /** Processors that changed something, in order. */
  readonly changed: readonly string[];
}

/** Goes on until the target is reached; when a smaller context was asked for, at least up to the first summary. */
export async function runPasses(
  deps: LoopDeps,
  start: EventOf<'msg.start'>,
  { draft, why, focus, target, charsPerToken, size }: PassesInput,
  signal: AbortSignal,
): Promise<Passed> {
  const { keepRecent, processors = DEFAULT_PROCESSORS } = deps.contextSettings;
  const task = taskOf(deps.memory, deps.root, keepRecent);
  const changed: string[] = [];
  let now = draft;
  let isWanted = why === 'asked';
  for (const settings of processors) {
    const excess = size(now) - target;
    if (signal.aborted || (excess <= 0 && !isWanted)) break;
    const excessChars = Math.max(0, Math.ceil(excess * charsPerToken));
    const step = makeProcessor(settings)(now, { task, keepRecent, excessChars });
    let next: Draft;
    if (step.type === 'done') next = step.draft;
    else {
      next = step.apply(await summaryOf(deps, start, { older: step.older, earlier: now.summary, focus }, signal));
      isWanted = false;
    }
    if (next !== now) changed.push(settings.use);
    now = next;
  }
  return { draft: now, changed };
}

/** Null when there is none; the user is told why. */
async function summaryOf(
  deps: LoopDeps,
  start: EventOf<'msg.start'>,
  about: { readonly older: readonly ModelMessage[]; readonly earlier: string | null; readonly focus: string },
  signal: AbortSignal,
): Promise<string | null> {
  const { tokens } = deps.memory;
  const question = {
    ...about,
    model: start.smallModel,
    window: deps.contextWindow(start.smallModel),
    tokens,
    timeoutMs: deps.contextSettings.summaryTimeoutMs,
  };
  const outcome = await summarize(deps.smallModel, question, signal);
  if (outcome.ok) return deps.scrub(deps.clean(outcome.value));
  if (signal.aborted) return null;
  const text = `No summary of the older messages: ${outcome.failure.message} Their long results are cut instead.`;
  deps.recorder.record({ type: 'update', seq: start.seq, text: deps.scrub(text), at: deps.now() });
  return null;
}
