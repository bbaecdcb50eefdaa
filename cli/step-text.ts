// The text of one step: streamed, then whole; progress if calls follow, the answer if nothing does. Printed once in each case.

import { cleanText, StreamCleaner } from '../shared/clean-text.ts';
import type { Screen, ScreenOptions } from './screen.ts';

export interface StepTextOptions extends Pick<ScreenOptions, 'outIsTerminal' | 'paint'> {
  readonly screen: Screen;
  /** The message's last whole text on the terminal: the answer of a message that was stopped begins with it. */
  readonly shown: { text: string };
  /** False between steps: what streams in then is late, and was shown with its whole text. */
  readonly isOpen: boolean;
}

export function createStepText(options: StepTextOptions) {
  const { outIsTerminal, paint, screen, shown } = options;
  const cleaner = new StreamCleaner();
  let streamed = '';
  let held: string | null = null;
  let isOpen = options.isOpen;
  return {
    delta(delta: string): void {
      if (!outIsTerminal || !isOpen) return;
      streamed += delta;
      screen.text(cleaner.push(delta));
    },
    whole(text: string): void {
      held = text;
      isOpen = false;
      if (!outIsTerminal) return;
      const isWhole = text.startsWith(streamed);
      if (!isWhole) screen.line(paint('dim', '(parts of the stream were lost; the whole text:)'));
      screen.text(isWhole ? cleaner.push(text.slice(streamed.length)) + cleaner.end() : cleanText(text));
      screen.endText();
      streamed = text;
      shown.text = text;
    },
    /** Calls follow: the text was not the answer. */
    isProgress(): void {
      if (!outIsTerminal && held !== null && held.trim() !== '') screen.line(cleanText(held).trimEnd());
      held = null;
      streamed = '';
    },
    /** The next step begins. */
    giveUp(isRetry: boolean): void {
      if (held === null && streamed !== '' && isRetry) screen.line(paint('dim', '(this broke off and is asked again)'));
    },
    answer(answer: string): void {
      if (!outIsTerminal) {
        if (answer !== '') screen.text(answer.endsWith('\n') ? answer : `${answer}\n`);
        return;
      }
      const rest = answer.startsWith(shown.text) ? answer.slice(shown.text.length) : answer;
      if (rest.trim() !== '') screen.text(`${cleanText(rest).trim()}\n`);
      screen.endText();
      shown.text = '';
    },
  };
}
