// WriteFile (SPEC O15): a whole file, new or over the version that was read. Makes missing folders; keeps mode bits, byte-order
// mark and uniform line endings of what was there.

import { resolve } from 'node:path';
import * as z from 'zod';
import { defineTool } from '../shared/define-tool.ts';
import { ok } from '../shared/outcome.ts';
import { changeResponse, gateChange, refuseMoved } from './edit-file.ts';

const schema = z.strictObject({
  file_path: z.string().describe('Absolute path.'),
  content: z.string().describe('The whole new content.'),
});

export const writeFileTool = defineTool<z.infer<typeof schema>>({
  name: 'WriteFile',
  version: '1',
  description:
    'Writes a whole file and makes missing folders. An existing file must have been read in full before; for a part of it use EditTool.',
  schema,
  effect: 'write',
  touches: (args, root) => [{ path: resolve(root, args.file_path), access: 'write' }],
  preHook: (args, ctx) => gateChange(args, { content: args.content }, ctx),
  async execute(args, ctx) {
    const moved = await refuseMoved(args.file_path, ctx);
    if (moved) return moved;
    const change = await ctx.files.write(args.file_path, args.content, (intent) => ctx.intend(intent), ctx.signal);
    if (!change.ok) return change;
    return ok(changeResponse(change.value.beforeHash === null ? 'Created' : 'Wrote', change.value));
  },
});
