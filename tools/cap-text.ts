// The one place where a tool's result is cut to what a model should get (ARCHITECTURE 7): never empty, head and tail kept, a
// note in between that says what is missing and how to read it.

export const MAX_RESULT_CHARS = 40_000;

/** A longer line is cut, since it is a minified file or data rather than text somebody reads. */
const MAX_LINE_CHARS = 2_000;

const HEAD_SHARE = 0.7;
const NOTHING = '(nothing)';

/** The text, at most `limit` characters long with its note. `howToReadOn` is a sentence for the model. */
export function capText(text: string, howToReadOn: string, limit: number = MAX_RESULT_CHARS): string {
  if (text.trim() === '') return NOTHING;
  if (text.length <= limit) return text;
  const note = (lines: number, chars: number) =>
    `\n\n[… ${lines} lines, ${chars} characters cut here. ${howToReadOn}]\n\n`;
  const room = Math.max(0, limit - note(text.length, text.length).length);
  const head = headOf(text, Math.ceil(room * HEAD_SHARE));
  const tail = tailOf(text, room - Math.ceil(room * HEAD_SHARE));
  const middle = text.slice(head.length, text.length - tail.length);
  return head + note(middle.split('\n').length, middle.length) + tail;
}

/** A line of at most `limit` characters, with a note of how much is missing. */
export function capLine(line: string, limit: number = MAX_LINE_CHARS): string {
  if (line.length <= limit) return line;
  const head = wellFormed(line.slice(0, limit));
  return `${head} [… ${line.length - head.length} more characters in this line]`;
}

/** Up to the last line end in reach, unless that would lose more than half. */
function headOf(text: string, room: number): string {
  const end = text.lastIndexOf('\n', room);
  return wellFormed(text.slice(0, end > room / 2 ? end : room));
}

function tailOf(text: string, room: number): string {
  const from = text.length - room;
  const start = text.indexOf('\n', from) + 1;
  return wellFormed(text.slice(start > 0 && start < from + room / 2 ? start : from));
}

/** Without halves of characters at its ends. */
const wellFormed = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
