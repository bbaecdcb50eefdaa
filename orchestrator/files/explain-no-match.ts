// Why a text is not in a file although its author believes so: where the same text stands but for white space, case, quotes or
// escapes, else where most of its lines stand. Pure; works on LF text. Words for the model: what differs and what to copy.

import type { LineRange } from '../../shared/files-port.ts';

export interface NoMatch {
  /** Starts with a space, ends with a full stop. */
  readonly message: string;
  /** The nearest candidate. */
  readonly lines: LineRange | undefined;
}

/** A way to look at both texts so that what should not matter is gone. None changes the number of lines. */
interface Lens {
  readonly differs: string;
  readonly advice: string;
  readonly see: (text: string) => string;
}

const squeeze = (text: string): string => text.replace(/[^\S\n]+/g, ' ').replace(/ ?\n ?/g, '\n');
const plainSigns = (text: string): string =>
  text
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u00a0\u2000-\u200a\u202f]/g, ' ');

const LENSES: readonly Lens[] = [
  { differs: 'in white space only', advice: 'Copy it exactly, with its tabs and spaces.', see: squeeze },
  { differs: 'in upper and lower case only', advice: 'Copy it exactly.', see: (text) => text.toLowerCase() },
  {
    differs: 'in quotes, dashes or special spaces only',
    advice: 'Copy these characters from the file.',
    see: plainSigns,
  },
  {
    differs: 'in white space, case and quotes only',
    advice: 'Copy it exactly.',
    see: (text) => squeeze(plainSigns(text).toLowerCase()),
  },
];

/** Mistakes in what was sent, each with the text that was probably meant. */
const REPAIRS: readonly { readonly message: string; readonly repair: (text: string) => string }[] = [
  {
    message: 'It is there without the line numbers that old_string begins its lines with. Leave them out.',
    repair: (text) => text.replace(/^ *\d+(?:\t|→|: ?|\| ?)/gm, ''),
  },
  {
    message:
      'It is there when \\n, \\t and \\" are read as escapes. Send real line breaks, tabs and quotes, not escaped ones.',
    repair: (text) => text.replace(/\\([nt"'`\\/])/g, (_, sign: string) => ({ n: '\n', t: '\t' })[sign] ?? sign),
  },
  {
    message:
      'It is there with \\n or \\t spelled out, as in a string of the source. Send a backslash and a letter there.',
    repair: (text) => text.replaceAll('\n', '\\n').replaceAll('\t', '\\t'),
  },
  {
    message: 'It is there without HTML entities. Send <, > and & as they are.',
    repair: (text) =>
      text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
  },
  {
    message: 'It is there without the line break or spaces at its beginning or end. Leave them out.',
    repair: (text) => text.trim(),
  },
];

/** Beyond this the looking glass would cost more than another read. */
const MAX_TEXT = 4 * 1024 * 1024;
const SHOWN_LINES = 30;
const SHOWN_CHARS = 2_000;

export function explainNoMatch(text: string, wanted: string): NoMatch {
  if (text === '') return { message: ' The file is empty: write it with WriteFile.', lines: undefined };
  if (text.length > MAX_TEXT) return { message: ' Read the lines you mean again and copy them.', lines: undefined };
  for (const { message, repair } of REPAIRS) {
    const meant = repair(wanted);
    const at = meant === '' || meant === wanted ? -1 : text.indexOf(meant);
    if (at === -1) continue;
    const lines = linesOf(text, at, meant);
    return { message: ` ${message} See ${name(lines)}.`, lines };
  }
  for (const { see, differs, advice } of LENSES) {
    const seen = see(text);
    const meant = see(wanted).trim();
    const at = meant === '' ? -1 : seen.indexOf(meant);
    if (at === -1) continue;
    const lines = linesOf(seen, at, meant);
    return { message: ` The text at ${name(lines)} differs ${differs}:\n${show(text, lines)}\n${advice}`, lines };
  }
  return nearest(text, wanted);
}

/** The place where most lines agree: each agreeing pair of lines votes for the distance between them. */
function nearest(text: string, wanted: string): NoMatch {
  const lines = text.split('\n');
  const parts = wanted.split('\n').map((line) => line.trim());
  const places = new Map<string, number[]>();
  for (const [i, part] of parts.entries()) if (part.length > 2) places.set(part, [...(places.get(part) ?? []), i]);
  const votes = new Map<number, number>();
  let [best, most] = [0, 0];
  for (const [i, line] of lines.entries()) {
    for (const j of places.get(line.trim()) ?? []) {
      const sum = (votes.get(i - j) ?? 0) + 1;
      votes.set(i - j, sum);
      if (sum > most) [best, most] = [i - j, sum];
    }
  }
  if (most === 0) {
    return { message: ' No line of it is in the file. Read the lines you mean again and copy them.', lines: undefined };
  }
  const range = { start: Math.max(1, best + 1), end: Math.min(lines.length, best + parts.length) };
  const wrong = parts.findIndex((part, i) => lines[best + i]?.trim() !== part);
  const sent = wanted.split('\n')[wrong] ?? '';
  const has = lines[best + wrong];
  const first = has === undefined ? 'the file ends before it' : `the file has ${JSON.stringify(cut(has))}`;
  return {
    message:
      ` The nearest place is ${name(range)}, where ${most} of ${parts.length} lines agree; the first that does not: ` +
      `you sent ${JSON.stringify(cut(sent))}, ${first} (line ${best + wrong + 1}). Read ${name(range)} again and copy them.`,
    lines: range,
  };
}

const cut = (line: string): string => (line.length > 200 ? `${line.slice(0, 200)}…` : line);
const name = ({ start, end }: LineRange): string => (start === end ? `line ${start}` : `lines ${start}-${end}`);

function linesOf(text: string, at: number, part: string): LineRange {
  const start = text.slice(0, at).split('\n').length;
  return { start, end: start + part.split('\n').length - 1 - (part.endsWith('\n') && part !== '\n' ? 1 : 0) };
}

function show(text: string, { start, end }: LineRange): string {
  const lines = text.split('\n').slice(start - 1, Math.min(end, start + SHOWN_LINES - 1));
  const shown = lines.join('\n');
  return shown.length > SHOWN_CHARS ? `${shown.slice(0, SHOWN_CHARS)}…` : shown;
}
