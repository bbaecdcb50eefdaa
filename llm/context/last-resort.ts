// When all processors are done and the conversation is still too large: harsher and harsher cuts, the newest messages included, until it
// fits. The last step's calls and results stay, cut to a few lines each: the planner must see what its last step did.

import type { ModelMessage } from '../../shared/messages.ts';
import { cutMiddle } from './cut-text.ts';
import type { Draft } from './draft.ts';
import { keepLast } from './processors/keep-last-n.ts';
import { truncateTools } from './processors/truncate-long-tools.ts';

interface Rung {
  readonly keep: number;
  readonly maxChars: number;
  /** Of texts, the user's and the planner's. */
  readonly maxText: number;
}

const RUNGS: readonly Rung[] = [
  { keep: Number.POSITIVE_INFINITY, maxChars: 16_000, maxText: Number.POSITIVE_INFINITY },
  { keep: 16, maxChars: 8_000, maxText: Number.POSITIVE_INFINITY },
  { keep: 8, maxChars: 4_000, maxText: 100_000 },
  { keep: 4, maxChars: 2_000, maxText: 20_000 },
  { keep: 2, maxChars: 1_000, maxText: 8_000 },
  { keep: 2, maxChars: 200, maxText: 2_000 },
];

/** The first draft that fits, or the smallest there is. */
export function cutUntil(draft: Draft, fits: (draft: Draft) => boolean): Draft {
  let smaller = draft;
  for (const { keep, maxChars, maxText } of RUNGS) {
    if (fits(smaller)) break;
    smaller = withShortTexts(truncateTools(keepLast(smaller, keep), maxChars, 0), maxText);
  }
  return smaller;
}

function withShortTexts(draft: Draft, maxText: number): Draft {
  const messages = draft.messages.map((message) => shortened(message, maxText));
  return messages.every((message, at) => message === draft.messages[at]) ? draft : { ...draft, messages };
}

function shortened(message: ModelMessage, maxText: number): ModelMessage {
  if (message.role === 'user') {
    return message.text.length <= maxText ? message : { role: 'user', text: cutMiddle(message.text, maxText, CUT) };
  }
  if (message.role === 'tool' || message.parts.every((part) => part.type !== 'text' || part.text.length <= maxText)) {
    return message;
  }
  return {
    role: 'assistant',
    parts: message.parts.map((part) =>
      part.type === 'text' ? { ...part, text: cutMiddle(part.text, maxText, CUT) } : part,
    ),
  };
}

const CUT = 'It does not fit the context window.';
