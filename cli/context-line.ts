// One line for the user about a compaction (SPEC O21): why it was needed, what was done and what is left.

import type { StreamEvent } from '../shared/stream-events.ts';

type Compacted = Extract<StreamEvent, { type: 'ContextCompacted' }>;

export function contextLine(event: Compacted): string {
  return `${whyOf(event)}: ${whatOf(event)}, now ${short(event.tokensAfter)}`;
}

function whyOf({ why, tokensBefore, window }: Compacted): string {
  if (why === 'asked') return `smaller context, as asked (it was ${short(tokensBefore)} tokens)`;
  if (why === 'too_long') return `the model refused the context as too long (about ${short(tokensBefore)} tokens)`;
  if (window === 0) return `context full (${short(tokensBefore)} tokens)`;
  return `context ${Math.round((100 * tokensBefore) / window)} % full (${short(tokensBefore)} of ${short(window)} tokens)`;
}

function whatOf({ processors, replaced }: Compacted): string {
  const older = `${replaced} older ${replaced === 1 ? 'message' : 'messages'}`;
  const isCut = processors.some((name) => CUTS.has(name));
  const done = [
    ...(replaced > 0 ? [`${processors.includes('summarizeOlderThanN') ? 'summarised' : 'left out'} ${older}`] : []),
    // What is cut in messages that are replaced afterwards need not be told.
    ...(processors.includes('cutToFit')
      ? ['cut long texts, the newest too']
      : isCut && replaced === 0
        ? ['cut long results']
        : []),
  ];
  return done.length === 0 ? 'nothing to cut' : done.join(' and ');
}

const CUTS: ReadonlySet<string> = new Set(['truncateLongTools', 'dropLessRelevant', 'summarizeOlderThanN']);

const short = (tokens: number): string => (tokens < 1_000 ? String(tokens) : `${Math.round(tokens / 1_000)}k`);
