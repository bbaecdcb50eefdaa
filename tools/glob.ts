// Glob (SPEC O14): files by name, newest first. ripgrep lists and the heavy pool sorts; this says where and how it reads.

import { resolve } from 'node:path';
import * as z from 'zod';
import { defineTool } from '../shared/define-tool.ts';
import { splitGlob } from '../shared/glob-pattern.ts';
import { fail, ok } from '../shared/outcome.ts';
import type { GlobResult } from '../shared/search-port.ts';
import { capText } from './cap-text.ts';
import { displayPath, existingTarget, gateRead } from './read-target.ts';

const MAX_FILES = 200;

const schema = z.strictObject({
  pattern: z.string().min(1).max(1000).describe('e.g. "**/*.ts", "src/**/*.{js,jsx}"'),
  path: z.string().min(1).optional().describe('Folder to search in; default: the project root'),
});
type Args = z.infer<typeof schema>;

export const globTool = defineTool({
  name: 'Glob',
  version: '1',
  description:
    'Finds files by a pattern relative to path, newest first. "*.ts" names files directly in path, "**/*.ts" at any depth. ' +
    'What .gitignore names is left out, unless the pattern or path names its folder.',
  schema,
  effect: 'read',
  touches: (args, root) => [{ path: resolve(root, folderOf(args)), access: 'read' }],
  preHook: (args, ctx) => gateRead(folderOf(args), ctx),
  async execute(args, ctx) {
    const pattern = args.pattern.startsWith('/') ? splitGlob(args.pattern).rest : args.pattern;
    if (pattern.split('/').includes('..')) {
      return fail(
        'invalid',
        'bad_glob',
        'The pattern must not hold "..". Give the folder as path and a pattern below it.',
      );
    }
    const target = await existingTarget(folderOf(args), ctx);
    if (!target.ok) return target;
    const { real, kind } = target.value;
    const name = displayPath(real, ctx.root);
    if (kind !== 'directory') return fail('invalid', 'not_a_folder', `${name} is a file. Give a folder as path.`);
    const found = await ctx.search.glob({ pattern, path: real, limit: MAX_FILES }, ctx.signal);
    if (!found.ok) return found;
    const { total } = found.value;
    return ok({
      text: capText(render(found.value, pattern, name, ctx.root), 'Use a narrower pattern.'),
      description: `Found ${count(total)} for ${args.pattern}${args.path ? ` in ${name}` : ''}`,
      data: { total, files: found.value.files.map((file) => file.path) },
    });
  },
});

/** An absolute pattern brings its own folder. */
const folderOf = (args: Args): string =>
  args.pattern.startsWith('/') ? splitGlob(args.pattern).base || '/' : (args.path ?? '.');

function render({ files, total, warnings }: GlobResult, pattern: string, folder: string, root: string): string {
  const flat = !pattern.includes('/') && !pattern.includes('**');
  const deeper = flat ? `"${pattern}" looks directly in ${folder} only; for any depth: "**/${pattern}".` : '';
  const notes = warnings.map((warning) => `(${warning})`);
  if (total === 0) {
    const advice = deeper || 'Names ignored by .gitignore are left out.';
    return [`No files match "${pattern}" in ${folder}. ${advice}`, ...notes].join('\n');
  }
  const cut = total > files.length ? `; the newest ${files.length} are shown, use a narrower pattern for others` : '';
  const head = `${count(total)}, newest first${cut}:`;
  return [
    head,
    ...files.map((file) => displayPath(file.path, root)),
    ...(deeper ? [`(${deeper})`] : []),
    ...notes,
  ].join('\n');
}

const count = (files: number): string => `${files} ${files === 1 ? 'file' : 'files'}`;
