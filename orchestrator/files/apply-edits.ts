// Exact replacements in a text, in order, all or nothing (SPEC O16, O17). Pure. Models send LF whatever the file has, so matching
// ignores CR before LF, and each line keeps the ending it had; added lines get the ending of the line they are added to.
// Why a text was not found is explained by explain-no-match.ts.

import type { LineRange, TextEdit } from '../../shared/files-port.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { explainNoMatch } from './explain-no-match.ts';
import { commonEnding, toLf } from './text-format.ts';

export interface AppliedEdits {
  readonly text: string;
  /** Lines of the original text that an edit replaces. What an earlier edit of the same call brought in has no place there. */
  readonly places: readonly (LineRange & { readonly edit: number })[];
}

const SHOWN_LINES = 10;

/** `path` is for messages. */
export function applyEdits(original: string, edits: readonly TextEdit[], path: string): Outcome<AppliedEdits> {
  const source = toLf(original);
  const endings = source === original ? undefined : endingsOf(original, source);
  const places: (LineRange & { edit: number })[] = [];
  let text = source;
  for (const [index, edit] of edits.entries()) {
    const [from, to] = [toLf(edit.oldText), toLf(edit.newText)];
    const which = edits.length === 1 ? '' : `Edit ${index + 1} of ${edits.length}: `;
    const refused = from === to ? sameText(which, edit) : from === '' ? emptyText(which) : undefined;
    if (refused) return refused;

    const found = occurrences(text, from, edit.replaceAll);
    if (found.length === 0) {
      const earlier = index > 0 && source.includes(from) ? ' An edit before it in the same call changed it.' : '';
      const why = earlier === '' ? explainNoMatch(text, from) : { lines: undefined, message: earlier };
      return fail(
        'failed',
        'no_match',
        `${which}old_string was not found in ${path}.${why.message} ${nothing(edits)}`,
        {
          details: why.lines ? { lines: [{ ...why.lines }] } : {},
        },
      );
    }
    if (found.length > 1 && !edit.replaceAll) return several(text, from, path, which, edits);

    for (const at of occurrences(source, from, edit.replaceAll))
      places.push({ edit: index, ...linesAt(source, at, from) });
    if (endings) moveEndings(endings, text, found, from, to);
    text = replaceAt(text, found, from.length, to);
  }
  return ok({ text: endings ? withEndings(text, endings) : text, places });
}

/** Start offsets; of an overlapping pair both when one place is wanted, else the first. */
function occurrences(text: string, part: string, separate: boolean): readonly number[] {
  const found: number[] = [];
  const step = separate ? part.length : 1;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + step)) found.push(at);
  return found;
}

function replaceAt(text: string, places: readonly number[], length: number, to: string): string {
  const parts: string[] = [];
  let from = 0;
  for (const at of places) {
    parts.push(text.slice(from, at), to);
    from = at + length;
  }
  return parts.join('') + text.slice(from);
}

const countLf = (text: string, from = 0, to = text.length): number => {
  let count = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++;
  return count;
};

function linesAt(text: string, at: number, part: string): LineRange {
  const start = countLf(text, 0, at) + 1;
  return { start, end: start + countLf(part.endsWith('\n') ? part.slice(0, -1) : part) };
}

/** For each LF of the text whether a CR stood before it, and the ending to use where there is none to copy. */
interface Endings {
  crlf: boolean[];
  readonly usual: boolean;
}

function endingsOf(original: string, source: string): Endings {
  const crlf: boolean[] = [];
  // Of CR CR LF only the last CR belongs to the ending.
  for (let at = original.indexOf('\n'); at !== -1; at = original.indexOf('\n', at + 1))
    crlf.push(original[at - 1] === '\r');
  if (crlf.length !== countLf(source)) throw new Error('line endings were miscounted');
  return { crlf, usual: commonEnding(original) === '\r\n' };
}

function withEndings(text: string, { crlf }: Endings): string {
  const lines = text.split('\n');
  return lines.map((line, i) => (i === lines.length - 1 ? line : crlf[i] ? `${line}\r\n` : `${line}\n`)).join('');
}

/** Carries the endings through one edit: lines that old and new begin or end with in common keep theirs. */
function moveEndings(endings: Endings, text: string, found: readonly number[], from: string, to: string): void {
  const [oldCount, newCount] = [countLf(from), countLf(to)];
  if (oldCount === 0 && newCount === 0) return;
  let head = 0;
  while (head < from.length && head < to.length && from[head] === to[head]) head++;
  let tail = 0;
  const most = Math.min(from.length, to.length) - head;
  while (tail < most && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail++;
  const kept = countLf(from, 0, head);
  const keptEnd = countLf(from, from.length - tail);
  const moved: boolean[] = [];
  let [line, at] = [0, 0];
  for (const place of found) {
    const first = line + countLf(text, at, place);
    for (; line < first + kept; line++) moved.push(endings.crlf[line] ?? endings.usual);
    const own = endings.crlf[line] ?? moved.at(-1) ?? endings.usual;
    const replaced = endings.crlf.slice(line, line + oldCount - kept - keptEnd);
    for (let i = 0; i < newCount - kept - keptEnd; i++) moved.push(replaced[i] ?? own);
    line = first + oldCount - keptEnd;
    at = place + from.length;
    // The LFs of the common end are copied with what follows; `at` is behind them, so count them in.
    for (; line < first + oldCount; line++) moved.push(endings.crlf[line] ?? endings.usual);
  }
  endings.crlf = [...moved, ...endings.crlf.slice(line)];
}

const nothing = (edits: readonly TextEdit[]): string =>
  edits.length === 1 ? 'Nothing was changed.' : 'None of the edits was made.';

function sameText(which: string, edit: TextEdit) {
  const endings =
    edit.oldText === edit.newText ? '' : ' but for line endings, which an edit always keeps as the file has them';
  return fail(
    'invalid',
    'same_text',
    `${which}old_string and new_string are the same${endings}. There is nothing to change.`,
  );
}

const emptyText = (which: string) =>
  fail(
    'invalid',
    'empty_text',
    `${which}old_string is empty. Give the text to replace, or write the whole file with WriteFile.`,
  );

function several(text: string, from: string, path: string, which: string, edits: readonly TextEdit[]) {
  const lines = occurrences(text, from, false).map((at) => linesAt(text, at, from).start);
  const shown = lines.slice(0, SHOWN_LINES).join(', ') + (lines.length > SHOWN_LINES ? ', …' : '');
  return fail(
    'failed',
    'several_matches',
    `${which}old_string occurs ${lines.length} times in ${path}, at lines ${shown}. Add lines around the one you mean until it ` +
      `occurs once, or set replace_all to change them all. ${nothing(edits)}`,
    { details: { lines: lines.slice(0, SHOWN_LINES).map((start) => ({ start, end: start })) } },
  );
}
