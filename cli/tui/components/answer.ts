// The model's Markdown, drawn while it streams. What ends before the last blank line no longer changes: each such block is formatted
// once, and only the last one again with every chunk.

import { Markdown } from '@earendil-works/pi-tui';
import { cleanText } from '../../../shared/clean-text.ts';
import { highlightLines } from '../highlight.ts';
import { markdownTheme, type Theme } from '../theme.ts';
import { guard } from './lines.ts';

export interface Answer {
  lines(text: string, width: number): readonly string[];
}

export function createAnswer(theme: Theme): Answer {
  const look = markdownTheme(theme, (code, language) => highlightLines(theme, code, language));
  const blocks: { text: string; readonly markdown: Markdown; lines: readonly string[]; width: number }[] = [];
  const blockAt = (i: number) => {
    const found = blocks[i];
    if (found !== undefined) return found;
    const markdown = new Markdown('', 0, 0, look, undefined, { renderLatex: false, preserveOrderedListMarkers: true });
    const made = { text: '', markdown, lines: [], width: 0 };
    blocks.push(made);
    return made;
  };
  return {
    lines(text, width) {
      return splitBlocks(cleanText(apart(text))).flatMap((source, i) => {
        const block = blockAt(i);
        if (block.text !== source || block.width !== width) {
          block.markdown.setText(source);
          block.text = source;
          block.width = width;
          block.lines = withoutEdges(block.markdown.render(width).map((line) => guard(line, width)));
        }
        return i === 0 ? block.lines : ['', ...block.lines];
      });
    },
  };
}

/** Terminals differ in how wide a joined emoji is, and a line of another width than thought breaks the screen: its parts stand side by side. */
const apart = (text: string): string =>
  text.includes(JOINER) ? text.replace(/(?<=\p{Emoji}\ufe0f?)\u200d(?=\p{Extended_Pictographic})/gu, '') : text;
const JOINER = '\u200d';

const FENCE = /^ {0,3}(```+|~~~+)/;
/** A block begins here on its own: not indented, and no further item of a list. */
const BEGINS = /^(?![-*+]\s|\d+[.)]\s)\S/;

/** Parts at blank lines, outside of fences, where what follows begins anew. Joined by blank lines they are the text again. */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let current: string[] = [];
  let fence = '';
  let isBlank = false;
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1] ?? '';
    if (fence === '' && isBlank && current.length > 0 && BEGINS.test(line)) {
      blocks.push(current.join('\n').trimEnd());
      current = [];
    }
    if (fence === '') fence = mark;
    else if (mark !== '' && mark[0] === fence[0] && mark.length >= fence.length) fence = '';
    isBlank = line.trim() === '';
    if (!isBlank || current.length > 0) current.push(line);
  }
  const rest = current.join('\n').trimEnd();
  return rest === '' ? blocks : [...blocks, rest];
}

function withoutEdges(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line !== '');
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => line !== '') + 1);
}
