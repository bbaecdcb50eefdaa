// ReadFile (SPEC O10): a file, or a range of its lines, through the cache. Large files come page by page.

import { resolve } from 'node:path';
import * as z from 'zod';
import { defineTool } from '../shared/define-tool.ts';
import { fail } from '../shared/outcome.ts';
import { readPage } from './read-lines.ts';
import { displayPath, existingTarget, gateRead } from './read-target.ts';

const schema = z.strictObject({
  file_path: z.string().min(1).describe('Absolute path, or relative to the project root'),
  offset: z.int().min(1).max(1e9).optional().describe('First line, from 1'),
  limit: z.int().min(1).max(2000).optional().describe('Number of lines'),
});

export const readFileTool = defineTool({
  name: 'ReadFile',
  version: '1',
  description:
    'Reads a text file and caches it. Lines come numbered as "12→text"; number and arrow are not part of the file. ' +
    'Up to 2000 lines at once: for more, or a part of a large file, use offset and limit.',
  schema,
  effect: 'read',
  touches: (args, root) => [{ path: resolve(root, args.file_path), access: 'read' }],
  preHook: (args, ctx) => gateRead(args.file_path, ctx),
  async execute(args, ctx) {
    const target = await existingTarget(args.file_path, ctx);
    if (!target.ok) return target;
    const { real, kind } = target.value;
    if (kind === 'directory') {
      return fail(
        'failed',
        'is_directory',
        `${displayPath(real, ctx.root)} is a folder. List it with LS or find files in it with Glob.`,
      );
    }
    return readPage(real, args, ctx);
  },
});
