// stdout and stderr as one terminal shows them: a line never starts in the middle of another one, and a status line is taken back.

import { cleanLine } from '../shared/clean-text.ts';
import type { Paint } from './paint.ts';

export interface Sink {
  write(text: string): unknown;
}

export interface ScreenOptions {
  readonly out: Sink;
  readonly err: Sink;
  readonly paint: Paint;
  /** stdout is a terminal: text goes there while it comes in. */
  readonly outIsTerminal: boolean;
  /** stderr is a terminal: its last line says what is going on now, and is taken back. */
  readonly errIsTerminal: boolean;
}

export interface Screen {
  /** A whole line of progress, on stderr. */
  line(text: string): void;
  /** Says what goes on until the next line; only where it can be taken back. */
  status(text: string): void;
  /** Text of the model, on stdout. */
  text(text: string): void;
  endText(): void;
}

export function createScreen({ out, err, paint, outIsTerminal, errIsTerminal }: ScreenOptions): Screen {
  let hasStatus = false;
  let isMidLine = false;
  function clear(): void {
    if (hasStatus) err.write('\r\u001b[2K');
    hasStatus = false;
  }
  return {
    line(text: string): void {
      clear();
      if (isMidLine) out.write('\n');
      isMidLine = false;
      err.write(`${text}\n`);
    },
    status(text: string): void {
      if (!errIsTerminal || isMidLine) return;
      clear();
      err.write(paint('dim', cleanLine(text, 70)));
      hasStatus = true;
    },
    text(text: string): void {
      if (text === '') return;
      clear();
      out.write(text);
      isMidLine = outIsTerminal && !text.endsWith('\n');
    },
    endText(): void {
      if (isMidLine) out.write('\n');
      isMidLine = false;
    },
  };
}
