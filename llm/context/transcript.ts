// A conversation as text for the model that summarises it, in pieces that fit its window. Long results are shown by head and tail.

import { imageLabel } from '../../shared/images.ts';
import type { ModelMessage } from '../../shared/messages.ts';
import { textOf, toolCallsOf } from '../../shared/messages.ts';
import { cutMiddle } from './cut-text.ts';

/** Characters shown of one result; of the user's and the planner's own words a few times as many. */
const SHOWN_CHARS = [2_000, 600, 200] as const;
const MAX_PIECES = 8;

/** At most MAX_PIECES pieces, each counted as at most `pieceTokens`; what does not fit at all is left out from the beginning. */
export function transcriptPieces(
  messages: readonly ModelMessage[],
  pieceTokens: number,
  count: (text: string) => number,
): readonly string[] {
  for (const shown of SHOWN_CHARS) {
    const pieces = packed(
      messages.map((message) => entryOf(message, shown)),
      pieceTokens,
      count,
    );
    if (pieces.length <= MAX_PIECES) return pieces;
    if (shown === SHOWN_CHARS.at(-1)) return pieces.slice(-MAX_PIECES);
  }
  return [];
}

function packed(entries: readonly string[], pieceTokens: number, count: (text: string) => number): readonly string[] {
  const pieces: string[][] = [];
  let room = 0;
  for (const entry of entries) {
    const fitting = fitted(entry, pieceTokens, count);
    const tokens = count(fitting);
    if (pieces.length === 0 || tokens > room) {
      pieces.push([]);
      room = pieceTokens;
    }
    pieces.at(-1)?.push(fitting);
    room -= tokens;
  }
  return pieces.map((piece) => piece.join('\n\n'));
}

/** One entry alone may be larger than a small model's window: a step of many calls. */
function fitted(entry: string, pieceTokens: number, count: (text: string) => number): string {
  let text = entry;
  for (let limit = entry.length; count(text) > pieceTokens && limit > 200; limit >>= 1) {
    text = cutMiddle(entry, limit, '');
  }
  return text;
}

function entryOf(message: ModelMessage, shown: number): string {
  switch (message.role) {
    case 'user':
      return `## User\n${(message.images ?? []).map((image) => `[picture: ${imageLabel(image)}]\n`).join('')}${cutMiddle(message.text, 4 * shown, '')}`;
    case 'assistant': {
      const text = textOf(message.parts).trim();
      const calls = toolCallsOf(message.parts).map(
        ({ name, rawArgs }) => `call ${name} ${cutMiddle(rawArgs, shown, '')}`,
      );
      return ['## Agent', ...(text === '' ? [] : [cutMiddle(text, 2 * shown, '')]), ...calls].join('\n');
    }
    case 'tool':
      return message.results
        .map(
          ({ name, text, isError }) =>
            `## Result of ${name}${isError ? ' (error)' : ''}\n${cutMiddle(text, shown, '')}`,
        )
        .join('\n');
  }
}
