// A question that is answered with one line, in the place of the editor: a name, an address, or a key, which is never shown.

import { type Component, type Focusable, Input, matchesKey } from '@earendil-works/pi-tui';
import { cleanLine } from '../../../shared/clean-text.ts';
import type { Theme } from '../theme.ts';
import { guard } from './lines.ts';

export interface PromptOptions {
  readonly title: string;
  readonly theme: Theme;
  /** What an empty line stands for. */
  readonly suggested?: string;
  /** Shown as dots. */
  readonly isSecret: boolean;
  /** Null: the person has left. */
  onDone(text: string | null): void;
}

const MAX_DOTS = 24;

export class Prompt implements Component, Focusable {
  focused = false;
  #options: PromptOptions;
  #input: Input;

  constructor(options: PromptOptions) {
    this.#options = options;
    const { suggested = '' } = options;
    this.#input = new Input({ prompt: '', ...(suggested === '' ? {} : { placeholder: cleanLine(suggested) }) });
  }

  invalidate(): void {}

  render(width: number): string[] {
    const { title, theme } = this.#options;
    const bar = ` ${theme.accent('│')} `;
    return [
      guard(bar + theme.bold(cleanLine(title)), width),
      ...this.#lines(Math.max(1, width - 3)).map((line) => bar + line),
      guard(bar + theme.dim('Enter goes on · Esc leaves'), width),
    ];
  }

  handleInput(data: string): void {
    if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return this.#end(null);
    if (matchesKey(data, 'enter')) {
      const typed = this.#input.getValue();
      return this.#end(typed.trim() === '' ? (this.#options.suggested ?? '') : typed);
    }
    this.#input.handleInput(data);
  }

  #lines(room: number): string[] {
    if (!this.#options.isSecret) {
      this.#input.focused = this.focused;
      return this.#input.render(room);
    }
    const { length } = this.#input.getValue();
    const dots = '•'.repeat(Math.max(0, Math.min(length, MAX_DOTS, room - 20)));
    const text = length === 0 ? this.#options.theme.dim('paste it; it is not shown') : `${dots} ${length} characters`;
    return [guard(text, room)];
  }

  #end(text: string | null): void {
    this.#input = new Input({ prompt: '' });
    this.#options.onDone(text);
  }
}
