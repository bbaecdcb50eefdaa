// InitTool (SPEC O10, O22): looks through the project and writes ODIN.md: what it is, its architecture, its components and what they are
// written in, and the commands. Facts first, then the lesser model's words on them; text of the user's own stays. What would be written is
// worked out before the question, so that the user answers to the very text (SAFETY R9): ODIN.md instructs Odin from then on.

import { join } from 'node:path';
import * as z from 'zod';
import { defineTool, type Gate, type ToolContext } from '../shared/define-tool.ts';
import { fail, ok } from '../shared/outcome.ts';
import { changeResponse, refuseMoved } from './edit-file.ts';
import type { Proposal } from './init/propose.ts';

const FILE = 'ODIN.md';
const TIMEOUT_MS = 240_000;
const MAX_SHOWN = 12_000;

const schema = z.strictObject({
  focus: z
    .string()
    .max(2_000)
    .optional()
    .describe('What it should dwell on, or what you know that the files do not say'),
  dry_run: z.boolean().optional().describe('Say what would be written, write nothing'),
});

interface Args extends z.infer<typeof schema> {
  /** Worked out by the gate; never the model's. */
  readonly proposal?: Proposal;
}

export const initTool = defineTool<Args>({
  name: 'InitTool',
  version: '1',
  description:
    "Looks through the project and writes its ODIN.md, or refreshes Odin's part of it: what it is, architecture, components, commands to " +
    'run, build and test. Text of the user stays. Call it when the user wants ODIN.md made or brought up to date.',
  schema,
  effect: 'write',
  timeoutMs: TIMEOUT_MS,
  touches: (_, root) => [{ path: join(root, FILE), access: 'write' }],
  async preHook(args, ctx): Promise<Gate<Args>> {
    // Nobody needs it but those who call it.
    const { propose } = await import('./init/propose.ts');
    const proposed = await propose(args.focus ?? '', ctx);
    if (!proposed.ok) return { verdict: 'deny', code: proposed.failure.code, message: proposed.failure.message };
    const proposal = proposed.value;
    const judged: Args = { ...args, proposal };
    if (args.dry_run === true || proposal.how === 'unchanged') return { verdict: 'allow', args: judged };
    const preview = await ctx.files.preview(proposal.path, proposal.change);
    if (!preview.ok) return { verdict: 'deny', code: preview.failure.code, message: preview.failure.message };
    const why = 'Odin takes what it says as instructions from then on';
    return {
      verdict: 'ask',
      title: `Write ${proposal.path}?`,
      reasons: [why],
      detail: `${proposal.path}\n${preview.value.diff}`,
      paths: [{ path: proposal.path, outside: false, why, access: 'write', under: proposal.path }],
      args: judged,
    };
  },
  async execute({ proposal, dry_run: isDry }, ctx) {
    if (!proposal) return fail('failed', 'not_gated', 'InitTool was not asked for in the usual way. Call it again.');
    const { path, how, content, change, remarks } = proposal;
    const shown =
      content.length > MAX_SHOWN
        ? `${content.slice(0, MAX_SHOWN)}\n[… ${content.length - MAX_SHOWN} more characters]`
        : content;
    const text = (first: string): string =>
      [first, ...remarks.map((remark) => `Note: ${remark}.`), '', shown].join('\n');
    if (how === 'unchanged')
      return ok({ text: `${path} is up to date. Nothing was written.`, description: `${FILE} is up to date` });
    if (isDry === true) return ok({ text: text(`${path} would be ${VERB[how]}:`), description: `Would write ${FILE}` });
    const moved = await refuseMoved(path, ctx);
    if (moved) return moved;
    const intend = (intent: Parameters<ToolContext['intend']>[0]) => ctx.intend(intent);
    const made =
      'edits' in change
        ? await ctx.files.edit(path, change.edits, intend, ctx.signal)
        : await ctx.files.write(path, change.content, intend, ctx.signal);
    if (!made.ok) return made;
    const { added, removed } = made.value;
    const response = changeResponse('Wrote', made.value);
    return ok({ ...response, text: text(`${path} was ${VERB[how]} (+${added} -${removed} lines).`) });
  },
});

const VERB = {
  created: 'created',
  added: "given Odin's part at its end",
  refreshed: 'brought up to date',
  unchanged: 'left',
} as const;
