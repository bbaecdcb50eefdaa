// The text of one step: streamed, then whole; progress if calls follow, the answer if nothing does. Printed once in each case.

import { cleanText, StreamCleaner } from '../shared/clean-text.ts';
import type { Screen, ScreenOptions } from './screen.ts';

export interface StepTextOptions extends Pick<ScreenOptions, 'outIsTerminal' | 'paint'> {
  readonly screen: Screen;
  /** The message's whole texts on the terminal, in order: the answer begins with the last, or with the last few when it was cut off. */
  readonly shown: { texts: readonly string[] };
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
      shown.texts = [...shown.texts, text];
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
      const rest = answer.slice(lengthShown(shown.texts, answer));
      if (rest.trim() !== '') screen.text(`${cleanText(rest).trim()}\n`);
      screen.endText();
      shown.texts = [];
    },
  };
}

/** How much of the answer's beginning stands on the terminal: as many of the last texts as make it up. */
function lengthShown(texts: readonly string[], answer: string): number {
  for (let from = 0; from < texts.length; from += 1) {
    const said = texts.slice(from).join('');
    if (answer.startsWith(said)) return said.length;
  }
  return 0;
}
