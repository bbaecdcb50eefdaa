// What a call changes in a file, as coloured lines: from the call's own arguments, or from a unified diff that a question carries.

import type { Json, JsonObject } from '../../../shared/json.ts';
import type { Theme } from '../theme.ts';
import { cutLines } from './lines.ts';

/** Lines with their sign in front; null when the call changes no file by its arguments. */
export function changeOf(tool: string, args: Json): readonly string[] | null {
  if (!isObject(args)) return null;
  if (tool === 'WriteFile' && typeof args.content === 'string') return linesOf(args.content).map((line) => `+${line}`);
  if (tool === 'EditTool') return replacement(args);
  if (tool !== 'MultiEditTool' || !Array.isArray(args.edits)) return null;
  return args.edits.flatMap((edit: Json, i) => [
    ...(i === 0 ? [] : [' ⋮']),
    ...(isObject(edit) ? replacement(edit) : []),
  ]);
}

/** Added lines green, removed ones red, places dim; also without colour the signs say it. */
export function diffLines(
  lines: readonly string[],
  theme: Theme,
  width: number,
  margin: string,
  max = Number.POSITIVE_INFINITY,
  whole = 'Ctrl-O',
): string[] {
  const shown = lines.slice(0, max).flatMap((line) => cutLines(line, width, margin, diffStyle(line, theme)));
  const rest = lines.length - max;
  return rest > 0 ? [...shown, `${margin}${theme.dim(`… ${rest} more lines (${whole})`)}`] : shown;
}

export function diffStyle(line: string, theme: Theme): (text: string) => string {
  if (/^(?:\+\+\+|---|@@)/.test(line)) return theme.dim;
  if (line.startsWith('+')) return theme.good;
  return line.startsWith('-') ? theme.bad : (text) => text;
}

/** What both texts share at their beginning and end is shown once, and no more of it than a line on each side. */
function replacement(edit: JsonObject): readonly string[] {
  const before = linesOf(text(edit.old_string));
  const after = linesOf(text(edit.new_string));
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return [
    ...before.slice(Math.max(0, head - 1), head).map((line) => ` ${line}`),
    ...before.slice(head, before.length - tail).map((line) => `-${line}`),
    ...after.slice(head, after.length - tail).map((line) => `+${line}`),
    ...after.slice(after.length - tail, after.length - tail + 1).map((line) => ` ${line}`),
  ];
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

function linesOf(value: string): string[] {
  const lines = value.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
