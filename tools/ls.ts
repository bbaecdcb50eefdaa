// LS (SPEC O12): what one folder holds, folders first, cached files marked. It caches nothing.

import { join, resolve } from 'node:path';
import * as z from 'zod';
import { defineTool, type ToolContext } from '../shared/define-tool.ts';
import { fail, ok } from '../shared/outcome.ts';
import type { FolderEntry, ListResult } from '../shared/search-port.ts';
import { capText } from './cap-text.ts';
import { displayPath, existingTarget, gateRead } from './read-target.ts';

const MAX_ENTRIES = 500;

const schema = z.strictObject({
  path: z.string().min(1).describe('Absolute path of the folder, or relative to the project root'),
  ignore: z.array(z.string().max(500)).max(50).optional().describe('Globs of names to leave out, e.g. "*.log"'),
});

export const lsTool = defineTool({
  name: 'LS',
  version: '1',
  description:
    'Lists one folder with sizes, hidden and ignored entries included; says which files are cached, that is, read already. ' +
    'If you know what you look for, use Glob or Grep.',
  schema,
  effect: 'read',
  touches: (args, root) => [{ path: resolve(root, args.path), access: 'read' }],
  preHook: (args, ctx) => gateRead(args.path, ctx),
  async execute(args, ctx) {
    const target = await existingTarget(args.path, ctx);
    if (!target.ok) return target;
    const { real, kind } = target.value;
    const name = displayPath(real, ctx.root);
    if (kind !== 'directory') return fail('failed', 'not_a_folder', `${name} is a file. Read it with ReadFile.`);
    const listed = await ctx.search.list({ path: real, ignore: args.ignore ?? [], limit: MAX_ENTRIES });
    if (!listed.ok) return listed;
    const { total, ignored } = listed.value;
    return ok({
      text: capText(render(real, listed.value, ctx), 'List a folder below it, or use Glob.'),
      description: `Listed ${name} (${total} entries)`,
      data: { path: real, total, ignored },
    });
  },
});

function render(folder: string, { entries, total, ignored }: ListResult, ctx: ToolContext): string {
  const without = ignored > 0 ? `, ${ignored} left out by ignore` : '';
  if (total === 0) return `${folder} is empty${without}.`;
  const rows = entries.map((entry) => row(folder, entry, ctx));
  const more = total > entries.length ? [`(${total - entries.length} more are not shown. Use ignore, or Glob.)`] : [];
  return [`${folder} (${total} entries${without}):`, ...rows, ...more].join('\n');
}

function row(folder: string, entry: FolderEntry, ctx: ToolContext): string {
  switch (entry.kind) {
    case 'directory':
      return `  ${entry.name}/`;
    case 'link':
      return `  ${entry.name} -> ${entry.target ?? '?'}`;
    case 'other':
      return `  ${entry.name} (device, pipe or socket)`;
    case 'file':
      return `  ${entry.name}  ${entry.size === null ? '?' : sizeText(entry.size)}${cachedMark(join(folder, entry.name), ctx)}`;
  }
}

function cachedMark(path: string, ctx: ToolContext): string {
  const info = ctx.files.cached(path);
  if (!info) return '';
  const part = info.truncated ? ` ${info.ranges.join(',')}` : '';
  return `  [cached${part}${info.isModified ? ', modified' : ''}]`;
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const inKb = bytes / 1024;
  return inKb < 1024 ? `${inKb.toFixed(1)} KB` : `${(inKb / 1024).toFixed(1)} MB`;
}
