// Lines as pi-tui takes them: never wider than the terminal, and with no control character but this program's own colours.

import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui';
import { cleanText } from '../../../shared/clean-text.ts';

/** What may not be in a line that is drawn: controls, and escapes that are no colour. */
const UNDRAWABLE = /\u001b(?!\[[0-9;]*m)|[\u0000-\u001a\u001c-\u001f\u007f-\u009f]/gu;

/** The last guard before the screen, for lines that were made by a formatter out of clean text. */
export const guard = (line: string, width: number): string => {
  const safe = line.replace(UNDRAWABLE, '\ufffd').trimEnd();
  return visibleWidth(safe) > width ? truncateToWidth(safe, width, '…') : safe;
};

/** Text of others, cleaned, its tabs spread, wrapped behind a margin. `paint` colours each line whole. */
export function wrapped(
  text: string,
  width: number,
  margin: string,
  paint: (line: string) => string = (line) => line,
): string[] {
  const room = Math.max(1, width - visibleWidth(margin));
  return wrapTextWithAnsi(spread(cleanText(text)), room).map((line) => guard(margin + paint(line.trimEnd()), width));
}

/** The same, but long lines are cut instead of wrapped: for output and diffs, where a line is a line. */
export function cutLines(
  text: string,
  width: number,
  margin: string,
  paint: (line: string) => string = (line) => line,
): string[] {
  const room = Math.max(1, width - visibleWidth(margin));
  return spread(cleanText(text))
    .split('\n')
    .map((line) => guard(margin + paint(truncateToWidth(line, room, '…')), width));
}

/** A row of a table or a line of output: what has no room goes on below its last column. */
export function rowLines(text: string, width: number): string[] {
  const line = spread(cleanText(text)).trimEnd();
  const room = Math.max(1, width - 2);
  if (visibleWidth(line) <= room) return [guard(`  ${line}`, width)];
  const ends = [...line.matchAll(/(?:^| ) +(?=\S)/g)].map((gap) => gap.index + gap[0].length);
  const head = line.slice(0, ends.findLast((end) => end <= 0.6 * room) ?? 0);
  const column = visibleWidth(head);
  const [first = '', ...rest] = wrapped(line.slice(head.length), width, ' '.repeat(2 + column));
  return [guard(`  ${head}${first.trimStart()}`, width), ...rest];
}

/** One line of parts, the first the most important: what has no room is left out from the end. */
export function fitParts(parts: readonly string[], width: number, separator: string): string {
  const kept: string[] = [];
  let used = 0;
  for (const part of parts.filter((one) => one !== '')) {
    const wide = visibleWidth(part) + (kept.length === 0 ? 0 : visibleWidth(separator));
    if (used + wide > width) break;
    kept.push(part);
    used += wide;
  }
  return kept.length === 0 ? guard(parts[0] ?? '', width) : kept.join(separator);
}

const spread = (text: string): string => text.replaceAll('\t', '    ');
