// dropLessRelevant (SPEC E15): older tool results that have least to do with the task are replaced by one line that says what they were,
// the least relevant first and only as many as have to go. The call stays, and so does every result that is small.

import * as z from 'zod';
import type { ModelMessage, ToolCallPart, ToolResultPart } from '../../../shared/messages.ts';
import { toolCallsOf } from '../../../shared/messages.ts';
import { type Draft, newestFrom } from '../draft.ts';
import { howToReadAgain } from '../read-again.ts';
import { type Candidate, relevances } from '../relevance.ts';
import { type About, done, type Processor } from './processor.ts';

const schema = z.strictObject({
  use: z.literal('dropLessRelevant'),
  minChars: z.int().min(300).describe('Shorter results always stay. Default 600.').default(600),
  keepShare: z
    .number()
    .min(0)
    .max(1)
    .describe('How much of these results stays in any case, the most relevant. Default 0.25.')
    .default(0.25),
});

type Settings = z.output<typeof schema>;

export const dropLessRelevant = {
  schema,
  make:
    (settings: Settings): Processor =>
    (draft, about) =>
      done(drop(draft, about, settings)),
};

interface Found extends Candidate {
  readonly at: number;
  readonly index: number;
}

function drop(draft: Draft, about: About, { minChars, keepShare }: Settings): Draft {
  const found = candidatesOf(draft.messages, newestFrom(draft.messages, about.keepRecent), minChars);
  const scores = relevances(found, about.task);
  const order = found.map((_, at) => at).toSorted((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0) || a - b);
  const all = found.reduce((sum, { result }) => sum + result.text.length, 0);
  const limit = Math.min(about.excessChars, all * (1 - keepShare));
  const gone = new Map<number, Set<number>>();
  let freed = 0;
  for (const place of order) {
    const { at, index, result } = found[place] as Found;
    if (freed >= limit || freed + result.text.length > all * (1 - keepShare)) break;
    gone.set(at, (gone.get(at) ?? new Set()).add(index));
    freed += result.text.length;
  }
  if (gone.size === 0) return draft;
  return { ...draft, messages: draft.messages.map((message, at) => without(message, gone.get(at))) };
}

function candidatesOf(messages: readonly ModelMessage[], end: number, minChars: number): readonly Found[] {
  const found: Found[] = [];
  let calls = new Map<string, ToolCallPart>();
  for (const [at, message] of messages.slice(0, end).entries()) {
    if (message.role === 'assistant') calls = new Map(toolCallsOf(message.parts).map((call) => [call.callId, call]));
    if (message.role !== 'tool') continue;
    for (const [index, result] of message.results.entries()) {
      if (result.text.length < minChars) continue;
      found.push({ at, index, result, call: calls.get(result.callId), place: at / messages.length });
    }
  }
  return found;
}

function without(message: ModelMessage, gone: ReadonlySet<number> | undefined): ModelMessage {
  if (gone === undefined || message.role !== 'tool') return message;
  const results = message.results.map((result, index) => (gone.has(index) ? leftOut(result) : result));
  return { ...message, results };
}

const leftOut = (result: ToolResultPart): ToolResultPart => ({
  ...result,
  text: `[Left out to save context: ${result.text.length} characters. ${howToReadAgain(result.name)}]`,
});
