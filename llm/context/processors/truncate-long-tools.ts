// truncateLongTools (SPEC E4): long tool results and long arguments of older messages lose their middle, head and tail stay, with a
// note of what was cut and how to read it again.

import * as z from 'zod';
import type { ModelMessage, ToolCallPart, ToolResultPart } from '../../../shared/messages.ts';
import { cutMiddle } from '../cut-text.ts';
import { type Draft, newestFrom } from '../draft.ts';
import { howToReadAgain } from '../read-again.ts';
import { done, type Processor } from './processor.ts';

export const MIN_CHARS = 400;

const schema = z.strictObject({
  use: z.literal('truncateLongTools'),
  maxChars: z.int().min(MIN_CHARS).describe('Characters kept of one result. Default 4000.').default(4_000),
});

export const truncateLongTools = {
  schema,
  make:
    ({ maxChars }: z.output<typeof schema>): Processor =>
    (draft, { keepRecent }) =>
      done(truncateTools(draft, maxChars, keepRecent)),
};

/** All but the newest `keepRecent` messages, no result or argument longer than `maxChars`. */
export function truncateTools(draft: Draft, maxChars: number, keepRecent: number): Draft {
  const end = newestFrom(draft.messages, keepRecent);
  const messages = draft.messages.map((message, at) => (at < end ? truncated(message, maxChars) : message));
  return messages.every((message, at) => message === draft.messages[at]) ? draft : { ...draft, messages };
}

function truncated(message: ModelMessage, maxChars: number): ModelMessage {
  if (message.role === 'tool') {
    if (message.results.every(({ text }) => text.length <= maxChars)) return message;
    return { ...message, results: message.results.map((result) => cutResult(result, maxChars)) };
  }
  if (message.role === 'user' || message.parts.every((part) => !isLongCall(part, maxChars))) return message;
  return {
    ...message,
    parts: message.parts.map((part) => (part.type === 'tool_call' ? cutCall(part, maxChars) : part)),
  };
}

const cutResult = (result: ToolResultPart, maxChars: number): ToolResultPart => ({
  ...result,
  text: cutMiddle(result.text, maxChars, howToReadAgain(result.name)),
});

const isLongCall = (part: { readonly type: string; readonly rawArgs?: string }, maxChars: number): boolean =>
  part.type === 'tool_call' && (part.rawArgs?.length ?? 0) > maxChars;

/** The arguments stay JSON of the same shape: only long texts in them are cut. */
function cutCall(call: ToolCallPart, maxChars: number): ToolCallPart {
  if (call.rawArgs.length <= maxChars) return call;
  const rawArgs = JSON.stringify(cutJson(parsed(call.rawArgs), Math.max(MIN_CHARS / 2, Math.floor(maxChars / 2))));
  // Many short texts: then the whole of it is cut as one.
  return { ...call, rawArgs: rawArgs.length <= maxChars ? rawArgs : cutWhole(call.rawArgs, maxChars) };
}

const ARGS_NOTE = 'These arguments were used in full.';

function cutJson(value: unknown, limit: number): unknown {
  if (typeof value === 'string') return cutMiddle(value, limit, ARGS_NOTE);
  if (Array.isArray(value)) return value.map((item) => cutJson(item, limit));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutJson(item, limit)]));
}

/** Escapes lengthen a text inside JSON, so the room is halved until it fits. */
function cutWhole(text: string, maxChars: number): string {
  for (let room = maxChars - 20; room > 100; room = room >> 1) {
    const whole = JSON.stringify({ cut: cutMiddle(text, room, ARGS_NOTE) });
    if (whole.length <= maxChars) return whole;
  }
  return JSON.stringify({ cut: ARGS_NOTE });
}

function parsed(rawArgs: string): unknown {
  try {
    return JSON.parse(rawArgs) as unknown;
  } catch {
    return { cut: rawArgs };
  }
}
