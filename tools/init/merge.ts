// Puts Odin's part into ODIN.md (SPEC O22): between two marks, which are lines of their own. What stands outside of them is the user's and
// stays byte for byte. Marks that are damaged are not guessed at. Pure.

import { fail, type Outcome, ok } from '../../shared/outcome.ts';

const BEGIN =
  '<!-- odin:begin Written by Odin from what the project holds. It is written anew by `odin init`; write your own above or below. -->';
const END = '<!-- odin:end -->';
const IS_BEGIN = /^\s*<!--\s*odin:begin\b.*-->\s*$/;
const IS_END = /^\s*<!--\s*odin:end\b.*-->\s*$/;
/** Also half a mark is one that somebody must look at. */
const IS_MARK = /^\s*<!--\s*odin:(?:begin|end)\b/;

export interface Merged {
  readonly content: string;
  readonly how: 'created' | 'added' | 'refreshed' | 'unchanged';
}

/** `existing` is the text of the file; null or '' when there is none. `name` heads a new file. */
export function mergePart(existing: string | null, name: string, part: string): Outcome<Merged> {
  // Nothing inside may be taken for a mark.
  const safe = (text: string): string => text.replaceAll('<!--', '&lt;!--');
  const block = `${BEGIN}\n${safe(part)}\n${END}`;
  if (existing === null || existing.trim() === '')
    return ok({ content: `# ${safe(name)}\n\n${block}\n`, how: 'created' });
  const ending = usualEnding(existing);
  const native = block.replaceAll('\n', ending);
  const lines = existing.split('\n');
  const marks = lines.flatMap((line, at) => (IS_MARK.test(line) ? [{ line, at }] : []));
  if (marks.length === 0) {
    const gap = existing.endsWith('\n') ? (/\n\r?\n$/.test(existing) ? '' : ending) : ending + ending;
    return ok({ content: `${existing}${gap}${native}${ending}`, how: 'added' });
  }
  const [begin, end] = marks;
  if (marks.length !== 2 || !begin || !end || !IS_BEGIN.test(begin.line) || !IS_END.test(end.line))
    return damaged(marks);
  const before = lines
    .slice(0, begin.at)
    .map((line) => `${line}\n`)
    .join('');
  const isLast = end.at === lines.length - 1;
  const last = lines[end.at] ?? '';
  const after = isLast ? '' : `${last.endsWith('\r') ? '\r' : ''}\n${lines.slice(end.at + 1).join('\n')}`;
  const content = before + native + after;
  return ok({ content, how: content === existing ? 'unchanged' : 'refreshed' });
}

function damaged(marks: readonly { readonly at: number }[]): Outcome<never> {
  const where = marks.map(({ at }) => at + 1).join(', ');
  return fail(
    'failed',
    'damaged_marks',
    `The marks of Odin's part in ODIN.md are damaged: there must be one line "<!-- odin:begin … -->" and below it one line "${END}", ` +
      `and there ${marks.length === 1 ? 'is a mark' : 'are marks'} at line ${where}. Put them right, or take all of them out: then Odin's ` +
      'part is added at the end. Nothing was written.',
  );
}

function usualEnding(text: string): '\n' | '\r\n' {
  const all = text.split('\n').length - 1;
  const crlf = text.split('\r\n').length - 1;
  return crlf > all - crlf ? '\r\n' : '\n';
}
