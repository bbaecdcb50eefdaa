// CommandOutput: reads what a command wrote, one that runs in the background or one whose output was cut, and stops what runs.
// Commands are named by the id that ExecuteCommand gave; there is no way to anybody else's process.

import * as z from 'zod';
import { defineTool, type ToolResponse } from '../shared/define-tool.ts';
import type { OutputPiece } from '../shared/exec-port.ts';
import { type Outcome, ok } from '../shared/outcome.ts';
import { pieceText } from './command-text.ts';

const schema = z.strictObject({
  id: z.string().describe('Command id'),
  from: z.int().min(0).optional().describe('First byte; default: what is new'),
  stop: z.boolean().optional().describe('Stop it first'),
});

export const commandOutputTool = defineTool({
  name: 'CommandOutput',
  version: '1',
  description: 'Reads the output of a background or long command; stops it.',
  schema,
  effect: 'read',
  async execute({ id, from, stop }, ctx) {
    if (stop) {
      const stopped = await ctx.exec.stop(id);
      if (!stopped.ok || from === undefined) return described(stopped, `Stopped ${id}`);
    }
    return described(await ctx.exec.read(id, from), `Read the output of ${id}`);
  },
});

function described(piece: Outcome<OutputPiece>, description: string): Outcome<ToolResponse> {
  return piece.ok ? ok({ text: pieceText(piece.value), description }) : piece;
}
