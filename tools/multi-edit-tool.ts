// MultiEditTool (SPEC O17): several exact replacements in one file, each on the result of those before it, all or none. Never
// creates a file.

import { resolve } from 'node:path';
import * as z from 'zod';
import { defineTool } from '../shared/define-tool.ts';
import { gateChange, runEdits } from './edit-file.ts';

const edit = z.strictObject({
  old_string: z.string().describe('Exact text to replace, as it is after the edits before.'),
  new_string: z.string(),
  replace_all: z.boolean().default(false),
});

const schema = z.strictObject({
  file_path: z.string().describe('Absolute path.'),
  edits: z.array(edit).min(1),
});

type Args = z.infer<typeof schema>;

const editsOf = (args: Args) =>
  args.edits.map((one) => ({ oldText: one.old_string, newText: one.new_string, replaceAll: one.replace_all }));

export const multiEditTool = defineTool<Args>({
  name: 'MultiEditTool',
  version: '1',
  description:
    'Several EditTool replacements in one file that you have read, in order, all or none. Does not create files.',
  schema,
  effect: 'write',
  touches: (args, root) => [{ path: resolve(root, args.file_path), access: 'write' }],
  preHook: (args, ctx) => gateChange(args, { edits: editsOf(args) }, ctx),
  execute: (args, ctx) => runEdits(args.file_path, editsOf(args), ctx),
});
