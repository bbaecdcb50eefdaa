// EditTool (SPEC O16): one exact replacement in a file that has been read. The gate is edit-file.ts's, the edit the file port's.

import { resolve } from 'node:path';
import * as z from 'zod';
import { defineTool } from '../shared/define-tool.ts';
import { gateChange, runEdits } from './edit-file.ts';

const schema = z.strictObject({
  file_path: z.string().describe('Absolute path.'),
  old_string: z.string().describe('Exact text to replace, with its white space, without line numbers.'),
  new_string: z.string().describe('Text to put there.'),
  replace_all: z.boolean().default(false).describe('Replace every occurrence.'),
});

type Args = z.infer<typeof schema>;

const editsOf = (args: Args) => [{ oldText: args.old_string, newText: args.new_string, replaceAll: args.replace_all }];

export const editTool = defineTool<Args>({
  name: 'EditTool',
  version: '1',
  description:
    'Replaces exact text in a file that you have read (the lines around it at least). old_string must occur exactly once, ' +
    'unless replace_all is set. Line endings are kept.',
  schema,
  effect: 'write',
  touches: (args, root) => [{ path: resolve(root, args.file_path), access: 'write' }],
  preHook: (args, ctx) => gateChange(args, { edits: editsOf(args) }, ctx),
  execute: (args, ctx) => runEdits(args.file_path, editsOf(args), ctx),
});
