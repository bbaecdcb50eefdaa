// Asks the lesser model for a summary of older messages (SPEC O21, O3): in pieces that fit its window, then one of the pieces. It is
// optional by nature: whatever goes wrong, the caller goes on without.

import { cutMiddle } from '../llm/context/cut-text.ts';
import { estimateText, type TokenMemory } from '../llm/context/token-estimate.ts';
import { transcriptPieces } from '../llm/context/transcript.ts';
import { MERGE_NOTE, summaryPrompt } from '../llm/prompts/summary.ts';
import type { ModelMessage } from '../shared/messages.ts';
import { cancelled, fail, type Outcome, ok, UserError } from '../shared/outcome.ts';
import type { SmallModelPort, SmallPrompt } from '../shared/ports.ts';

export interface SummaryQuestion {
  readonly older: readonly ModelMessage[];
  /** Of what was taken out before; it goes into this one. */
  readonly earlier: string | null;
  /** What to keep in particular; '' for nothing. */
  readonly focus: string;
  /** `provider/name` of the lesser model, its window, and what is known of its tokens. */
  readonly model: string;
  readonly window: number;
  readonly tokens: TokenMemory;
  readonly timeoutMs: number;
}

/** Answer and prompt need room in the window too. */
const OVERHEAD_TOKENS = 6_000;
const MAX_PIECE_TOKENS = 150_000;
/** A summary is short, or it is none. */
const MAX_SUMMARY_CHARS = 12_000;
const AT_ONCE = 3;

export async function summarize(
  small: SmallModelPort,
  question: SummaryQuestion,
  signal: AbortSignal,
): Promise<Outcome<string>> {
  const stop = new AbortController();
  const given = Promise.withResolvers<Outcome<string>>();
  // A provider that does not listen to its signal must not hold the run up.
  const giveUp = (outcome: Outcome<string>) => {
    given.resolve(outcome);
    stop.abort();
  };
  const cancel = () => giveUp(cancelled());
  const timer = setTimeout(() => giveUp(TOO_SLOW), question.timeoutMs);
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  else void inPieces(small, question, stop.signal).then(given.resolve, (error: unknown) => given.reject(error));
  try {
    return await given.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
  }
}

async function inPieces(
  small: SmallModelPort,
  { older, earlier, focus, model, window, tokens }: SummaryQuestion,
  signal: AbortSignal,
): Promise<Outcome<string>> {
  const name = model.slice(model.indexOf('/') + 1);
  const count = (text: string) => estimateText(tokens, name, text);
  const room = Math.min(MAX_PIECE_TOKENS, Math.floor(Math.max(window - OVERHEAD_TOKENS, window / 4) * 0.8));
  const before =
    earlier === null ? '' : `## Summary of what came before\n${cutMiddle(earlier, MAX_SUMMARY_CHARS, '')}\n\n`;
  const pieces = transcriptPieces(older, Math.max(500, room - count(before)), count);
  const ask = async (user: string): Promise<Outcome<string>> => {
    const answer = await answerOf(small, { purpose: 'summary', system: summaryPrompt(focus), user }, signal);
    return answer.ok ? ok(cutMiddle(answer.value.trim(), MAX_SUMMARY_CHARS, '')) : answer;
  };

  const parts: string[] = [];
  for (let from = 0; from < pieces.length; from += AT_ONCE) {
    const group = pieces.slice(from, from + AT_ONCE);
    const answers = await Promise.all(group.map((piece, at) => ask(from + at === 0 ? `${before}${piece}` : piece)));
    for (const answer of answers) {
      if (!answer.ok) return answer;
      parts.push(answer.value);
    }
  }
  const [only] = parts;
  if (only === undefined) return fail('failed', 'nothing_to_summarise', 'There is nothing to summarise.');
  if (parts.length === 1) return ok(only);
  const share = Math.floor(MAX_SUMMARY_CHARS / parts.length);
  const short = count(parts.join('\n')) <= room ? parts : parts.map((part) => cutMiddle(part, share, ''));
  return ask([MERGE_NOTE, ...short.map((part, at) => `## Part ${at + 1}\n${part}`)].join('\n\n'));
}

/** A lesser model that this process cannot reach at all is one more way not to have a summary. */
async function answerOf(small: SmallModelPort, prompt: SmallPrompt, signal: AbortSignal): Promise<Outcome<string>> {
  try {
    return await small.complete(prompt, signal);
  } catch (error) {
    if (error instanceof UserError) return fail('failed', 'unknown_model', error.message);
    throw error;
  }
}

const TOO_SLOW = fail('failed', 'summary_timeout', 'The lesser model took too long to summarise.');
