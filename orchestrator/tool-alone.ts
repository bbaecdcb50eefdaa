// Runs one tool without a model, a session or a journal (`odin tool`): validation and gate are the same as in a turn.

import type { Tool, ToolContext, ToolResponse } from '../shared/define-tool.ts';
import { settledKindOf } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import type { Json } from '../shared/json.ts';
import { type Failure, fail, type Outcome, ok } from '../shared/outcome.ts';
import type { PermissionPort } from '../shared/ports.ts';
import type { ToolRule } from './config-schema.ts';
import { afterCall, askedByHooks, type PassedCall, passHooks } from './hooks/hooked-call.ts';
import type { Hooks } from './hooks/run-hooks.ts';
import { ruledGate } from './permissions-gate.ts';

export interface ToolAlone {
  readonly name: string;
  readonly args: Json;
  readonly tools: readonly Tool[];
  readonly permissions: PermissionPort;
  readonly rule: ToolRule | undefined;
  readonly hooks: Hooks;
  readonly signal: AbortSignal;
  readonly context: Omit<ToolContext, 'signal' | 'report' | 'intend'>;
}

export async function runToolAlone(run: ToolAlone): Promise<Outcome<ToolResponse>> {
  const tool = run.tools.find((candidate) => candidate.name === run.name);
  if (!tool) {
    const names = run.tools.map((candidate) => candidate.name).join(', ');
    return fail(
      'invalid',
      'unknown_tool',
      `There is no tool ${run.name} in ${run.context.mode} mode. The tools are: ${names}.`,
    );
  }
  const rawArgs = JSON.stringify(run.args);
  const parsed = tool.parse(rawArgs);
  if (!parsed.ok) return parsed;
  const signal = AbortSignal.any([run.signal, AbortSignal.timeout(tool.timeoutMs)]);
  const { toolCall } = run.hooks;
  const unhooked: PassedCall = { parsed: parsed.value, argsHash: sha256(rawArgs), asks: [], notes: [] };
  const call = { op: run.context.op, name: run.name, argsHash: unhooked.argsHash };
  const passed = toolCall ? await passHooks(toolCall, { call, tool, parsed: parsed.value }, signal) : ok(unhooked);
  if (!passed.ok) return passed;
  const outcome = await judgeAndRun(run, tool, passed.value, signal);
  return afterwards(run, passed.value, outcome, signal);
}

async function judgeAndRun(
  { context, rule, permissions, signal: stop }: ToolAlone,
  tool: Tool,
  { parsed, argsHash, asks }: PassedCall,
  signal: AbortSignal,
): Promise<Outcome<ToolResponse>> {
  // No journal, so nothing can be resumed: an intent has nowhere to go.
  const full: ToolContext = { ...context, signal, report: () => {}, intend: () => Promise.resolve() };
  const ruled = await ruledGate({ tool, parsed, root: context.root, rule }, full);
  const gate = askedByHooks(ruled, asks, tool.name, parsed);
  if (gate.verdict === 'deny') return fail('refused', gate.code, gate.message);
  if (gate.verdict !== 'ask') return parsed.run(full);
  const { title, reasons, detail, paths, rule: offered } = gate;
  const question = {
    ...{ id: argsHash.slice(0, 16), title, reasons, detail, argsHash, tool: tool.name },
    ...(paths === undefined ? {} : { paths }),
    ...(offered === undefined ? {} : { rule: offered }),
  };
  const answer = await permissions.ask(question, stop);
  if (answer.decision === 'deny') {
    return fail(
      'refused',
      'not_allowed',
      `Not allowed: ${title} It is asked about because: ${reasons.map((reason) => reason.replace(/\.$/, '')).join('; ')}.`,
    );
  }
  // The time of the question is not the tool's.
  return parsed.run({ ...full, signal: AbortSignal.any([stop, AbortSignal.timeout(tool.timeoutMs)]) });
}

async function afterwards(
  { hooks, name, context }: ToolAlone,
  { parsed, notes }: PassedCall,
  outcome: Outcome<ToolResponse>,
  signal: AbortSignal,
): Promise<Outcome<ToolResponse>> {
  const { toolResult } = hooks;
  if (!toolResult && notes.length === 0) return outcome;
  // No session, so there is no history of changes to bring up to date.
  const call = { toolResult, op: context.op, name, args: parsed.args, notes, signal, takeUpChange: async () => null };
  const result = outcome.ok
    ? { kind: 'ok' as const, response: outcome.value, failure: null }
    : { kind: settledKindOf(outcome.failure.kind), response: null, failure: outcome.failure };
  const { response, failure } = await afterCall(call, result);
  return response ? ok(response) : { ok: false, failure: failure as Failure };
}
