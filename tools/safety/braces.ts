// Static brace expansion (R2): text in, alternatives out, quotes respected. Bash does it before every other expansion, so
// the alternatives are source text again.

export const MAX_ALTERNATIVES = 64;

/** The alternatives of one `{…}` as bash writes them; undefined when they are too many or not plainly static. */
export function expandBrace(text: string): readonly string[] | undefined {
  const inner = text.slice(1, -1);
  const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/.exec(inner);
  if (range !== null) return expandRange(range[1] ?? '', range[2] ?? '', range[3]);
  const pieces = splitOutside(inner);
  if (pieces === undefined || pieces.length < 2) return undefined;
  const all: string[] = [];
  for (const piece of pieces) {
    const expanded = expandText(piece);
    if (expanded === undefined) return undefined;
    all.push(...expanded);
    if (all.length > MAX_ALTERNATIVES) return undefined;
  }
  return all;
}

/** All combinations of a word's pieces, in bash's order; undefined when they are too many. */
export function combine(pieces: readonly (readonly string[])[]): readonly string[] | undefined {
  let words: readonly string[] = [''];
  for (const piece of pieces) {
    if (words.length * piece.length > MAX_ALTERNATIVES) return undefined;
    words = words.flatMap((word) => piece.map((next) => word + next));
  }
  return words;
}

function expandText(text: string): readonly string[] | undefined {
  const open = findOutside(text, '{', 0);
  if (open < 0) return [text];
  const close = closingBrace(text, open);
  if (close < 0) return undefined;
  const middle = expandBrace(text.slice(open, close + 1));
  const rest = expandText(text.slice(close + 1));
  return middle === undefined || rest === undefined ? undefined : combine([[text.slice(0, open)], middle, rest]);
}

function expandRange(from: string, to: string, stepText: string | undefined): readonly string[] | undefined {
  const letters = /[A-Za-z]/.test(from);
  if (letters !== /[A-Za-z]/.test(to)) return undefined;
  const first = letters ? from.charCodeAt(0) : Number(from);
  const last = letters ? to.charCodeAt(0) : Number(to);
  const step = Math.max(1, Math.abs(Number(stepText ?? 1)));
  if (Math.abs(last - first) / step >= MAX_ALTERNATIVES) return undefined;
  const padded = /^-?0\d/.test(from) || /^-?0\d/.test(to) ? Math.max(from.length, to.length) : 0;
  const all: string[] = [];
  for (let n = first; first <= last ? n <= last : n >= last; n += first <= last ? step : -step) {
    all.push(letters ? String.fromCharCode(n) : pad(n, padded));
  }
  return all;
}

const pad = (n: number, width: number): string =>
  n < 0 ? `-${String(-n).padStart(width - 1, '0')}` : String(n).padStart(width, '0');

/** Splits at the commas that stand in no quotes and no inner braces. */
function splitOutside(text: string): readonly string[] | undefined {
  const pieces: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === ',') {
      pieces.push(text.slice(start, at));
      start = at + 1;
    } else if (text[at] === '{') {
      const close = closingBrace(text, at);
      if (close < 0) return undefined;
      at = close;
    } else at = skipQuoted(text, at);
  }
  return [...pieces, text.slice(start)];
}

function closingBrace(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at;
    else at = skipQuoted(text, at);
  }
  return -1;
}

function findOutside(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === wanted) return at;
    at = skipQuoted(text, at);
  }
  return -1;
}

/** The index of the last character of the quoted piece that starts at `at`, or `at` itself. */
function skipQuoted(text: string, at: number): number {
  const quote = text[at];
  if (quote === '\\') return at + 1;
  if (quote !== '"' && quote !== "'") return at;
  for (let end = at + 1; end < text.length; end++) {
    if (text[end] === quote) return end;
    if (quote === '"' && text[end] === '\\') end++;
  }
  return text.length;
}
