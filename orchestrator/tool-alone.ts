// Runs one tool without a model, a session or a journal (`odin tool`): validation and gate are the same as in a turn.

import type { Tool, ToolContext, ToolResponse } from '../shared/define-tool.ts';
import { sha256 } from '../shared/ids.ts';
import type { Json } from '../shared/json.ts';
import { fail, type Outcome } from '../shared/outcome.ts';
import type { PermissionPort } from '../shared/ports.ts';
import type { ToolRule } from './config-schema.ts';
import { ruledGate } from './permissions-gate.ts';

export interface ToolAlone {
  readonly name: string;
  readonly args: Json;
  readonly tools: readonly Tool[];
  readonly permissions: PermissionPort;
  readonly rule: ToolRule | undefined;
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
  const parsed = tool.parse(JSON.stringify(run.args));
  if (!parsed.ok) return parsed;
  const signal = AbortSignal.any([run.signal, AbortSignal.timeout(tool.timeoutMs)]);
  // No journal, so nothing can be resumed: an intent has nowhere to go.
  const context: ToolContext = { ...run.context, signal, report: () => {}, intend: () => Promise.resolve() };
  const { root } = run.context;
  const gate = await ruledGate({ tool, parsed: parsed.value, root, rule: run.rule }, context);
  if (gate.verdict === 'deny') return fail('refused', gate.code, gate.message);
  if (gate.verdict === 'ask') {
    const { title, reasons, detail } = gate;
    const argsHash = sha256(JSON.stringify(run.args));
    const answer = await run.permissions.ask({ id: argsHash.slice(0, 16), title, reasons, detail, argsHash }, signal);
    if (answer.decision === 'deny')
      return fail('refused', 'not_allowed', `${title}: not allowed. ${reasons.join(' ')}`);
  }
  return parsed.value.run(context);
}
