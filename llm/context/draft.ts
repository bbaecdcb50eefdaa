// A conversation on its way to a smaller one (SPEC E4): what stays of it, and what is known of the rest. Processors turn one
// draft into the next; `messagesOf` makes a conversation of it that every provider takes.
//
// Invariants, kept by whoever takes messages out: a call and its result go or stay together; the newest messages stay as they are.

import type { ModelMessage } from '../../shared/messages.ts';
import { textOf, toolCallsOf } from '../../shared/messages.ts';

export interface Draft {
  /** What the lesser model wrote of the messages that are gone; null while nobody did. */
  readonly summary: string | null;
  /** Messages that are gone, those of earlier compactions included. */
  readonly gone: number;
  /** What stays. May begin with an answer: then `messagesOf` puts an opening before it. */
  readonly messages: readonly ModelMessage[];
}

/** The text of the message that stands for what is gone. */
export type Opening = (draft: Draft) => string;

/** The draft as a conversation: it begins with a message of the user, and no answer in it is empty. */
export function messagesOf(draft: Draft, opening: Opening): readonly ModelMessage[] {
  const messages = draft.messages.filter((message) => !saysNothing(message));
  const [first, ...rest] = messages;
  if (first?.role !== 'user') return [{ role: 'user', text: opening(draft) }, ...messages];
  if (draft.gone === 0 && draft.summary === null) return messages;
  // One message, not two in a row: some chat templates insist that the roles take turns.
  return [{ ...first, text: `${opening(draft)}\n\n${first.text}` }, ...rest];
}

/**
 * A message without what belongs to its moment: facts, which are told anew behind a compacted conversation, and thoughts, which no
 * provider takes back behind another beginning.
 */
export function plainMessage(message: ModelMessage): ModelMessage {
  if (message.role === 'assistant') {
    return message.parts.some((part) => part.type === 'thinking')
      ? { role: 'assistant', parts: message.parts.filter((part) => part.type !== 'thinking') }
      : message;
  }
  if (message.facts === undefined) return message;
  const { facts: _, ...plain } = message;
  return plain;
}

/** Where the newest `count` messages begin; a call's results are never the first of them. */
export function newestFrom(messages: readonly ModelMessage[], count: number): number {
  let from = Math.max(0, messages.length - Math.max(0, count));
  while (from > 0 && messages[from]?.role === 'tool') from -= 1;
  return from;
}

const saysNothing = (message: ModelMessage): boolean =>
  message.role === 'assistant' && toolCallsOf(message.parts).length === 0 && textOf(message.parts).trim() === '';
