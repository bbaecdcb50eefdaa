// A question to the user (SPEC O23, O24, G6): what, why, where and the diff or command, with a key for each answer. It never shows less
// than all of it: what is longer than the screen is scrolled. The answer is handed on; the dialog closes when the event of it comes.

import { type Component, decodeKittyPrintable, type Focusable, Input, matchesKey } from '@earendil-works/pi-tui';
import { cleanLine } from '../../../shared/clean-text.ts';
import type { PermissionDecision } from '../../../shared/events.ts';
import type { AskedEvent } from '../../question-text.ts';
import { sessionScopeOf } from '../../question-text.ts';
import type { Theme } from '../theme.ts';
import { diffStyle } from './diff-lines.ts';
import { guard, wrapped } from './lines.ts';

export interface PermissionDialogOptions {
  readonly question: AskedEvent;
  /** How many wait, this one included. */
  readonly waiting: () => number;
  readonly theme: Theme;
  /** Rows of the terminal. */
  readonly rows: () => number;
  answer(decision: PermissionDecision, word?: string): void;
}

interface Choice {
  readonly key: string;
  readonly label: string;
  readonly decision: PermissionDecision | 'word';
}

/** Lines of the screen that are not the detail's. */
const FRAME_ROWS = 14;
const MIN_DETAIL = 4;

export class PermissionDialog implements Component, Focusable {
  focused = false;
  #options: PermissionDialogOptions;
  #choices: readonly Choice[];
  #selected = 0;
  #offset = 0;
  #word: Input | null = null;
  #isSent = false;

  constructor(options: PermissionDialogOptions) {
    this.#options = options;
    const { rule } = options.question;
    this.#choices = [
      { key: 'y', label: 'yes, this once', decision: 'allow' },
      {
        key: 's',
        label: `yes, for this session (${cleanLine(sessionScopeOf(options.question), 60)})`,
        decision: 'allow_session',
      },
      ...(rule === null
        ? []
        : [{ key: 'a', label: `yes, always (${cleanLine(rule, 60)})`, decision: 'allow_always' } as const]),
      { key: 'n', label: 'no (Esc)', decision: 'deny' },
      { key: 'w', label: 'no, and say why', decision: 'word' },
    ];
  }

  invalidate(): void {}

  /** The detail's lines that have room now, and how many there are. */
  #window(width: number): { readonly lines: readonly string[]; readonly shown: number; readonly all: number } {
    const { question, theme, rows } = this.#options;
    const text = question.detail.trimEnd();
    const margin = ` ${theme.warn('│')}   `;
    const isDiff = /^(?:---|@@) /m.test(text);
    const lines = text
      .split('\n')
      .flatMap((line) => wrapped(line, width, margin, isDiff ? diffStyle(line, theme) : undefined));
    const shown = Math.min(lines.length, Math.max(MIN_DETAIL, rows() - FRAME_ROWS));
    this.#offset = Math.max(0, Math.min(this.#offset, lines.length - shown));
    return { lines: lines.slice(this.#offset, this.#offset + shown), shown, all: lines.length };
  }

  render(width: number): string[] {
    const { question, theme, waiting } = this.#options;
    const bar = ` ${theme.warn('│')} `;
    const count = waiting();
    const { lines, shown, all } = this.#window(width);
    const more = shown < all ? `lines ${this.#offset + 1}–${this.#offset + shown} of ${all}, PgUp PgDn` : '';
    const outside = question.paths.filter((path) => path.outside);
    return [
      ...wrapped(question.title, width, bar, theme.bold),
      ...wrapped(
        `asked by ${cleanLine(question.agent)}${count > 1 ? ` · ${count - 1} more ${count === 2 ? 'waits' : 'wait'}` : ''}`,
        width,
        bar,
        theme.dim,
      ),
      ...question.reasons.flatMap((reason) => wrapped(`because ${cleanLine(reason)}`, width, bar)),
      ...outside.flatMap(({ path, why }) =>
        wrapped(`! outside the project: ${cleanLine(path)} (${cleanLine(why)})`, width, bar, theme.bad),
      ),
      ...lines,
      ...(more === '' ? [] : [guard(`${bar}  ${theme.dim(more)}`, width)]),
      guard(bar, width),
      ...(this.#isSent ? [guard(`${bar}${theme.dim('…')}`, width)] : this.#answers(width, bar)),
    ];
  }

  #answers(width: number, bar: string): string[] {
    const { theme } = this.#options;
    if (this.#word !== null) {
      this.#word.focused = this.focused;
      return [
        guard(`${bar}What should it know? Enter sends it, Esc goes back.`, width),
        ...this.#word.render(Math.max(4, width - 3)).map((line) => `${bar}${line}`),
      ];
    }
    return this.#choices.map(({ key, label }, i) => {
      const text = `${i === this.#selected ? '❯' : ' '} ${key}  ${label}`;
      return guard(bar + (i === this.#selected ? theme.accent(text) : text), width);
    });
  }

  handleInput(data: string): void {
    if (this.#isSent) return;
    if (this.#word !== null) return this.#word.handleInput(data);
    if (matchesKey(data, 'pageDown')) this.#offset += MIN_DETAIL;
    else if (matchesKey(data, 'pageUp')) this.#offset -= MIN_DETAIL;
    else if (matchesKey(data, 'up'))
      this.#selected = (this.#selected + this.#choices.length - 1) % this.#choices.length;
    else if (matchesKey(data, 'down') || matchesKey(data, 'tab')) {
      this.#selected = (this.#selected + 1) % this.#choices.length;
    } else if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) this.#send('deny');
    else if (matchesKey(data, 'enter')) this.#take(this.#choices[this.#selected]);
    else {
      const key = (decodeKittyPrintable(data) ?? data).toLowerCase();
      this.#take(this.#choices.find((choice) => choice.key === key));
    }
  }

  /** The answer did not get through: it can be given again. */
  reopen(): void {
    this.#isSent = false;
  }

  #take(choice: Choice | undefined): void {
    if (choice === undefined) return;
    if (choice.decision !== 'word') return this.#send(choice.decision);
    const word = new Input();
    word.onSubmit = (text) => this.#send('deny', text.trim());
    word.onEscape = () => {
      this.#word = null;
    };
    this.#word = word;
  }

  #send(decision: PermissionDecision, word?: string): void {
    this.#isSent = true;
    if (word === undefined || word === '') this.#options.answer(decision);
    else this.#options.answer(decision, word);
  }
}
