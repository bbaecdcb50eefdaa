// A terminal for tests: what the interface writes goes through a real terminal emulator, and what stands on its screen can be read.

import type { Terminal } from '@earendil-works/pi-tui';
import xterm from '@xterm/headless';

export interface Screen extends Terminal {
  /** Types, as the terminal would send it. */
  type(data: string): void;
  resize(columns: number, rows: number): void;
  /** The visible rows, without what is blank at the end. */
  text(): string;
  /** The rows that have scrolled off too. */
  all(): string;
  /** Resolves with the screen when it matches. */
  until(expected: RegExp): Promise<string>;
  /** Everything that was written, sequences included. */
  readonly written: { text: string };
}

/** What has not come by then does not come: says what is there instead. */
const NEVER_MS = 120_000;

export function createScreen(columns = 100, rows = 30): Screen {
  const term = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 20_000 });
  const written = { text: '' };
  let input: (data: string) => void = () => {};
  let resized: () => void = () => {};
  let looks: (() => void)[] = [];
  const linesFrom = (first: number): string => {
    const { active } = term.buffer;
    const lines: string[] = [];
    for (let y = first; y < active.length; y++) lines.push(active.getLine(y)?.translateToString(true).trimEnd() ?? '');
    return lines.join('\n').trimEnd();
  };
  const text = () => linesFrom(term.buffer.active.baseY);
  const screen: Screen = {
    written,
    get columns() {
      return term.cols;
    },
    get rows() {
      return term.rows;
    },
    kittyProtocolActive: false,
    start(onInput, onResize) {
      input = onInput;
      resized = onResize;
    },
    stop() {},
    async drainInput() {},
    write(data) {
      written.text += data;
      term.write(data, () => {
        for (const look of looks) look();
      });
    },
    moveBy(lines) {
      if (lines !== 0) screen.write(`\u001b[${Math.abs(lines)}${lines > 0 ? 'B' : 'A'}`);
    },
    hideCursor: () => screen.write('\u001b[?25l'),
    showCursor: () => screen.write('\u001b[?25h'),
    clearLine: () => screen.write('\u001b[2K'),
    clearFromCursor: () => screen.write('\u001b[J'),
    clearScreen: () => screen.write('\u001b[2J\u001b[H'),
    setTitle() {},
    setProgress() {},
    type(data) {
      // A terminal sends keys one after the other; a paste and an escape sequence come whole.
      if (data.startsWith('\u001b')) input(data);
      else for (const key of data) input(key);
    },
    resize(nextColumns, nextRows) {
      term.resize(nextColumns, nextRows);
      resized();
    },
    text,
    all: () => linesFrom(0),
    until(expected) {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const never = setTimeout(() => reject(new Error(`${expected} never stood on the screen:\n${text()}`)), NEVER_MS);
      const look = () => {
        if (!expected.test(text())) return;
        clearTimeout(never);
        looks = looks.filter((other) => other !== look);
        resolve(text());
      };
      looks.push(look);
      look();
      return promise;
    },
  };
  return screen;
}
