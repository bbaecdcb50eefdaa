// ExecuteCommand (SPEC O18): runs a shell command after decide() and, where it says so, the user allowed it. What can go wrong
// is bounded by the sandbox behind ctx.exec; what it may do is decided in command-judgement.ts.

import * as z from 'zod';
import { defineTool, type ToolContext } from '../shared/define-tool.ts';
import type { CommandHooks } from '../shared/exec-port.ts';
import { fail, ok } from '../shared/outcome.ts';
import { judgeCommand } from './command-judgement.ts';
import { commandQuestion, commandRefusal, commandText, showHidden, startedText } from './command-text.ts';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
const SETTLE_MS = 10_000;

const schema = z.strictObject({
  command: z.string().min(1).describe('Script for bash; cd lasts until the next call'),
  description: z.string().max(200).optional().describe('What it does, in a few words'),
  timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).optional().describe('Time limit; default 120000'),
  background: z.boolean().optional().describe('Return at once; for servers and watchers'),
});

interface Args extends z.infer<typeof schema> {
  /** Fingerprint of what the gate let through. Not an argument: the schema is closed. */
  readonly judged?: string;
}

export const executeCommandTool = defineTool<Args>({
  name: 'ExecuteCommand',
  version: '1',
  description:
    'Runs a bash command in the project. No stdin. Ask and plan mode: only commands that read. Prefer the other tools for reading, searching and editing files.',
  schema,
  effect: 'run',
  // The command's own limit ends it before; this one is for a command that cannot be ended.
  timeoutMs: MAX_TIMEOUT_MS + SETTLE_MS,
  // Commands of one step share the folder they start in, so they keep their order.
  touches: (_args, root) => [{ path: root, access: 'write' }],
  async preHook(args, ctx) {
    const judgement = await judgeCommand(args.command, timeLimit(args), ctx);
    const allowed = { ...args, judged: judgement.fingerprint };
    if (judgement.answer === 'run') return { verdict: 'allow', args: allowed };
    if (judgement.answer === 'ask') return { ...commandQuestion(judgement), args: allowed };
    return { verdict: 'deny', code: judgement.decision.class, message: commandRefusal(judgement, ctx.mode) };
  },
  async execute(args, ctx) {
    const { request, fingerprint } = await judgeCommand(args.command, timeLimit(args), ctx);
    if (fingerprint !== args.judged) return fail('refused', 'changed', CHANGED);
    const shown = args.description ?? showHidden(args.command).split('\n', 1)[0] ?? '';
    if (args.background) {
      const started = await ctx.exec.start(request, hooksOf(ctx));
      if (!started.ok) return started;
      return ok({ text: startedText(started.value), description: `Started ${shown}`, data: { id: started.value.id } });
    }
    const outcome = await ctx.exec.run(request, hooksOf(ctx));
    if (!outcome.ok) return outcome;
    const { exitCode, stopped, cwdAfter, outputPath, output, id } = outcome.value;
    const text = commandText(outcome.value);
    if (stopped !== null) return fail('failed', stopped, text);
    const data = { id, exitCode, cwd: cwdAfter, outputPath, outputBytes: output.bytes };
    return ok({ text, description: exitCode === 0 ? `Ran ${shown}` : `Exit ${exitCode}: ${shown}`, data });
  },
});

const CHANGED =
  'A folder, link or rule changed between the check of this command and its start, so it was not run. Call it again.';

function timeLimit({ timeout_ms, background }: Args): number | null {
  return timeout_ms ?? (background ? null : DEFAULT_TIMEOUT_MS);
}

function hooksOf(ctx: ToolContext): CommandHooks {
  return {
    signal: ctx.signal,
    intend: (intent) => ctx.intend(intent),
    onOutput(chunk) {
      const line = chunk.trimEnd().split('\n').at(-1)?.trim();
      if (line) ctx.report(line.slice(0, 200));
    },
  };
}
