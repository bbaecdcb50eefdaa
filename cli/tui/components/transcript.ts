// The conversation. Turns that are done are drawn once and kept as lines; of the running one, each part that did not change. So a long
// session costs what its last answer costs.

import type { Component } from '@earendil-works/pi-tui';
import { cleanLine, cleanText } from '../../../shared/clean-text.ts';
import type { Theme } from '../theme.ts';
import type { Item, NoteItem, TextItem, Turn, View } from '../view.ts';
import { type Answer, createAnswer } from './answer.ts';
import { diffLines } from './diff-lines.ts';
import { guard, rowLines, wrapped } from './lines.ts';
import { toolLines } from './tool-lines.ts';

const THINKING_LINES = 3;
/** A prompt of twice as many is shown whole. */
const PROMPT_LINES = 8;
const MARGIN = '  ';

interface Drawn {
  readonly width: number;
  readonly lines: readonly string[];
}

export class Transcript implements Component {
  #view: View;
  #theme: Theme;
  #isOpen = false;
  #all: { readonly turns: readonly Turn[]; readonly width: number; readonly lines: string[] } | null = null;
  #turns = new WeakMap<Turn, Drawn>();
  #items = new WeakMap<Item, Drawn>();
  /** By place: an answer that streams is a new item with each chunk. */
  #answers = new Map<string, Answer>();

  constructor(view: View, theme: Theme) {
    this.#view = view;
    this.#theme = theme;
  }

  show(view: View): void {
    this.#view = view;
  }

  setTheme(theme: Theme): void {
    this.#theme = theme;
    this.#answers.clear();
    this.invalidate();
  }

  /** Opens what is folded, in all of it. */
  toggle(): void {
    this.#isOpen = !this.#isOpen;
    this.invalidate();
  }

  invalidate(): void {
    this.#all = null;
    this.#turns = new WeakMap();
    this.#items = new WeakMap();
  }

  render(width: number): string[] {
    const { turns, folded } = this.#view;
    if (this.#all?.turns === turns && this.#all.width === width) return this.#all.lines;
    const lines: string[] = [];
    if (folded > 0) lines.push(guard(this.#theme.dim(`… ${folded} earlier messages (odin sessions show)`), width), '');
    for (const turn of turns) for (const line of this.#turn(turn, width)) lines.push(line);
    this.#all = { turns, width, lines };
    return lines;
  }

  #turn(turn: Turn, width: number): readonly string[] {
    const kept = this.#turns.get(turn);
    if (kept?.width === width) return kept.lines;
    const lines = turn.seq === 0 ? [] : [...promptLines(turn, this.#theme, width, this.#isOpen), ''];
    let before: Item | null = null;
    for (const [i, item] of turn.items.entries()) {
      const drawn = this.#item(item, `${turn.seq}.${i}`, width);
      if (drawn.length === 0) continue;
      // Calls and notes stand together; texts have air.
      if (before !== null && (hasAir(item) || hasAir(before))) lines.push('');
      for (const line of drawn) lines.push(line);
      before = item;
    }
    lines.push('');
    this.#turns.set(turn, { width, lines });
    if (turn.isDone) turn.items.forEach((_, i) => this.#answers.delete(`${turn.seq}.${i}`));
    return lines;
  }

  #item(item: Item, place: string, width: number): readonly string[] {
    const kept = this.#items.get(item);
    if (kept?.width === width) return kept.lines;
    const lines = this.#draw(item, place, width);
    this.#items.set(item, { width, lines });
    return lines;
  }

  #draw(item: Item, place: string, width: number): readonly string[] {
    if (item.kind === 'tool') return toolLines(item, this.#theme, width, this.#isOpen);
    if (item.kind === 'note') return noteLines(item, this.#theme, width);
    if (item.kind === 'word') return wordLines(item.text, this.#theme, width);
    if (item.kind === 'thinking') return thinkingLines(item, this.#theme, width, this.#isOpen);
    const answer = this.#answers.get(place) ?? createAnswer(this.#theme);
    this.#answers.set(place, answer);
    const room = Math.max(1, width - MARGIN.length);
    return answer.lines(item.text, room).map((line) => (line === '' ? '' : MARGIN + line));
  }
}

/** A long one, which was pasted, shows its beginning. */
function promptLines({ mode, body, images = [] }: Turn, theme: Theme, width: number, isOpen: boolean): string[] {
  const said = cleanText(body).trim().split('\n');
  const isWhole = isOpen || said.length <= 2 * PROMPT_LINES;
  const margin = ' '.repeat(mode.length + 3);
  const lines = wrapped((isWhole ? said : said.slice(0, PROMPT_LINES)).join('\n'), width, margin, theme.bold);
  const [first = '', ...rest] = lines;
  return [
    guard(`${theme.accent(`${mode} ❯`)} ${first.trimStart()}`, width),
    ...rest,
    ...(isWhole ? [] : [guard(margin + theme.dim(`… ${said.length - PROMPT_LINES} more lines (Ctrl-O)`), width)]),
    ...images.map((name) => guard(`${MARGIN}${theme.dim(`▣ ${cleanLine(name)}`)}`, width)),
  ];
}

const hasAir = (item: Item): boolean =>
  item.kind === 'text' || item.kind === 'word' || (item.kind === 'note' && item.text.includes('\n'));

function wordLines(text: string, theme: Theme, width: number): string[] {
  const [first = '', ...rest] = wrapped(cleanText(text).trim(), width, `${MARGIN}  `, theme.bold);
  return [guard(`${MARGIN}${theme.accent('❯')} ${first.trimStart()}`, width), ...rest];
}

function noteLines({ tone, text }: NoteItem, theme: Theme, width: number): string[] {
  if (tone === 'diff') return diffLines(text.split('\n'), theme, width, MARGIN);
  if (tone === 'table')
    return cleanText(text)
      .split('\n')
      .flatMap((line) => rowLines(line, width));
  const marks = { dim: '', warn: '! ', bad: '✗ ' } as const;
  return wrapped(`${marks[tone]}${text}`, width, MARGIN, theme[tone]);
}

/** Folded to a line once it is over; while it streams, its last lines. */
function thinkingLines({ text, isOpen }: TextItem, theme: Theme, width: number, isUnfolded: boolean): string[] {
  if (text.trim() === '') return [];
  const lines = () => wrapped(text.trim(), width, `${MARGIN}${theme.dim('∴')} `, theme.dim);
  if (isUnfolded) return lines();
  if (isOpen) return lines().slice(-THINKING_LINES);
  return [guard(MARGIN + theme.dim(`∴ thought: ${cleanLine(text, 2 * width)}`), width)];
}
