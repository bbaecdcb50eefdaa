// AgentTool (SPEC O19, O25): the planner hands a part of its work to a subagent with its own planner, tools, todos and budget. What an
// agent may do is decided by the orchestrator, not here: never more than its parent. No agent has this tool.

import * as z from 'zod';
import type { AgentOrder, AgentReport } from '../shared/agents-port.ts';
import { defineTool, type ToolResponse } from '../shared/define-tool.ts';
import { MODES } from '../shared/modes.ts';
import { cancelled, fail, type Outcome, ok } from '../shared/outcome.ts';
import { capText } from './cap-text.ts';

const schema = z.strictObject({
  title: z.string().trim().min(1).max(80).optional().describe('What it does, in a few words; the user sees it'),
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(100_000)
    .optional()
    .describe('The whole task: the agent knows nothing of this conversation. Say what to give back'),
  agent: z.string().min(1).max(100).optional().describe('Name of one of the custom agents, if one fits'),
  mode: z.enum(MODES).optional().describe('Never wider than your own, which is the default'),
  model: z.string().min(1).max(200).optional().describe('provider/name; default: your own'),
  tools: z.array(z.string().min(1).max(100)).min(1).max(50).optional().describe('Only these tools of its mode'),
  budget: z
    .strictObject({
      max_steps: z.int().min(1).max(1000).optional(),
      usd: z.number().positive().optional(),
      tokens: z.int().positive().optional(),
      seconds: z.int().min(1).max(604_800).optional(),
    })
    .optional()
    .describe('Limits of its own, inside of yours'),
  background: z
    .boolean()
    .optional()
    .describe('Return at once with its id; you are told when it has ended, and read its result with result_of'),
  result_of: z
    .string()
    .min(1)
    .max(50)
    .optional()
    .describe('Instead of starting one: wait for this background agent and give its result'),
});

type Args = z.infer<typeof schema>;

/** An agent has limits of its own; this only keeps a timer finite. */
const TIMEOUT_MS = 14 * 24 * 3_600_000;

export const AGENT_TOOL_DESCRIPTION =
  'Starts a subagent for a self-contained part of the work: a search through much text, a change in one part of the repository, a check of ' +
  'what you did. It has its own conversation and tools and gives back one text. Start several in one step and they work at the same time; ' +
  'give each its own files to change. Do small things yourself.';

export const agentTool = defineTool({
  name: 'AgentTool',
  version: '1',
  description: AGENT_TOOL_DESCRIPTION,
  schema,
  // What the agent changes is done by its own calls, each with its own gate and intent: this one can be made again.
  effect: 'read',
  timeoutMs: TIMEOUT_MS,
  async execute(args, { agents, op, signal }) {
    if (!agents) return fail('invalid', 'no_agents', 'Subagents cannot be started here. Do the work yourself.');
    if (args.result_of !== undefined) {
      const report = await agents.result(args.result_of, signal);
      return report.ok ? reported(report.value) : report;
    }
    if (args.prompt === undefined || args.title === undefined) {
      return fail(
        'invalid',
        'no_task',
        'Give title and prompt to start an agent, or result_of to read the result of one.',
      );
    }
    const background = args.background === true;
    const started = await agents.start(op, orderOf(args, args.title, args.prompt), background);
    if (!started.ok) return started;
    const id = started.value;
    if (background) {
      const text = `Agent ${id} works in the background. You are told when it has ended; {"result_of":"${id}"} waits for its result.`;
      return ok({ text, description: `${args.title}: started in the background (${id})`, data: { agent: id } });
    }
    const report = await agents.result(id, signal);
    return report.ok ? reported(report.value) : report;
  },
});

function orderOf({ agent, mode, model, tools, budget }: Args, title: string, prompt: string): AgentOrder {
  const { max_steps: maxSteps, usd, tokens, seconds } = budget ?? {};
  const limits = {
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(usd === undefined ? {} : { usd }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(seconds === undefined ? {} : { timeoutMs: seconds * 1000 }),
  };
  return {
    ...{ title, prompt, budget: limits },
    ...(agent === undefined ? {} : { kind: agent }),
    ...(mode === undefined ? {} : { mode }),
    ...(model === undefined ? {} : { model }),
    ...(tools === undefined ? {} : { tools }),
  };
}

/** Only an agent that came to its own end has succeeded. */
function reported({ id, title, end, limit, answer, steps }: AgentReport): Outcome<ToolResponse> {
  const text = capText(answer, 'Ask the agent for less, or for it in a file.');
  const how = limit === null ? end : `${end} (${limit})`;
  if (end === 'completed') {
    const description = `${title}: completed in ${steps} ${steps === 1 ? 'step' : 'steps'}`;
    return ok({ text: text === '' ? '(The agent gave no answer.)' : text, description, data: { agent: id, end } });
  }
  if (end === 'cancelled') return cancelled();
  return fail(
    'failed',
    `agent_${end}`,
    `Agent ${id} (${title}) did not finish: ${how}. What it did stays done. ${text}`,
  );
}
