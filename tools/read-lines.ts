// Reading lines of a file for the model: what ReadFile does, and Grep when it is asked for a line range (SPEC O10, O13). One page
// is at most MAX_PAGE_LINES lines and fits a result; the note below it says how to read on.

import type { ToolContext, ToolResponse } from '../shared/define-tool.ts';
import type { FileView } from '../shared/files-port.ts';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import { capLine, MAX_RESULT_CHARS } from './cap-text.ts';
import { displayPath } from './read-target.ts';

export const MAX_PAGE_LINES = 2_000;
/** For the note below a page. */
const NOTE_ROOM = 400;

export interface PageRequest {
  /** First line, from 1. */
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/** Reads a page of a file, by its real path, through the cache. */
export async function readPage(real: string, page: PageRequest, ctx: ToolContext): Promise<Outcome<ToolResponse>> {
  const view = await readView(real, page, ctx);
  if (!view.ok) return view;
  const { totalLines, startLine, endLine } = view.value;
  const name = displayPath(real, ctx.root);
  if (totalLines === 0) return ok({ text: `${name} is empty.`, description: `Read ${name} (empty)` });
  if (startLine > totalLines || endLine < startLine) {
    return fail(
      'invalid',
      'past_end',
      `${name} has ${totalLines} lines; line ${page.offset} is past its end. Use a smaller offset.`,
    );
  }
  return ok(render(view.value, name, page.limit));
}

/** The whole file when no range was asked for, which fills the cache; its first page when it is too large for that. */
async function readView(real: string, { offset, limit }: PageRequest, ctx: ToolContext): Promise<Outcome<FileView>> {
  const start = offset ?? 1;
  const range = { start, end: start + Math.min(limit ?? MAX_PAGE_LINES, MAX_PAGE_LINES) - 1 };
  if (offset !== undefined || limit !== undefined) return ctx.files.read(real, range);
  const whole = await ctx.files.read(real);
  return !whole.ok && whole.failure.code === 'too_large' ? ctx.files.read(real, range) : whole;
}

function render(view: FileView, name: string, limit: number | undefined): ToolResponse {
  const lines = view.text.split('\n').slice(0, Math.min(limit ?? MAX_PAGE_LINES, MAX_PAGE_LINES));
  const width = String(view.startLine + lines.length).length + 2;
  const last = Math.min(view.endLine, view.startLine + lines.length - 1);
  let text = '';
  let number = view.startLine;
  for (; number <= last; number++) {
    const line = (lines[number - view.startLine] ?? '').replace(/\r$/, '');
    const row = `${String(number).padStart(width)}→${capLine(line)}\n`;
    if (text.length + row.length > MAX_RESULT_CHARS - NOTE_ROOM) break;
    text += row;
  }
  const shown = `${view.startLine}-${number - 1}`;
  const more = number <= view.totalLines ? ` Read on with offset ${number}.` : '';
  const whole = view.startLine === 1 && !more;
  return {
    text: whole ? text : `${text}(Lines ${shown} of ${view.totalLines} in ${name}.${more})`,
    description: whole
      ? `Read ${name} (${view.totalLines} ${view.totalLines === 1 ? 'line' : 'lines'})`
      : `Read ${name} lines ${shown} of ${view.totalLines}`,
    data: {
      path: view.path,
      startLine: view.startLine,
      endLine: number - 1,
      totalLines: view.totalLines,
      version: view.version,
    },
  };
}
