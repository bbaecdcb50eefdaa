// The gate of one call after the tool's own: what the settings say of the tool, what was allowed for the session, what was denied
// before. A denial of the tool's own stays one, whatever the settings say: the forbidden class never becomes a question.

import type { Gate, ParsedCall, Tool, ToolContext } from '../shared/define-tool.ts';
import { MAIN_AGENT, type Question, type QuestionPath, type ToolCallSummary } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import type { Json } from '../shared/json.ts';
import type { ToolRule } from './config-schema.ts';

const MAX_DETAIL = 64_000;

interface RuledCall {
  readonly tool: Tool;
  readonly parsed: ParsedCall;
  readonly root: string;
  readonly rule: ToolRule | undefined;
}

/** The tool's gate as the settings leave it. `allow` answers questions about the inside of the project alone. */
export async function ruledGate(call: RuledCall, context: ToolContext): Promise<Gate<Json>> {
  const { tool, rule } = call;
  if (rule === 'deny') {
    const message = `The settings deny ${tool.name} here. Do not look for another way round; go on without it.`;
    return { verdict: 'deny', code: 'denied_by_settings', message };
  }
  const gate = await call.parsed.gate(context);
  if (rule === 'ask' && gate.verdict === 'allow') return asQuestion(gate, call);
  // Before each call: what was allowed for its host does not count.
  if (rule === 'ask' && gate.verdict === 'ask' && gate.host !== undefined) return withoutHost(gate);
  if (rule !== 'allow' || gate.verdict !== 'ask') return gate;
  if (gate.host !== undefined) return { verdict: 'allow', ...(gate.args === undefined ? {} : { args: gate.args }) };
  return gate.paths?.every(({ outside }) => !outside) ? { verdict: 'allow' } : gate;
}

function withoutHost({ host: _, ...gate }: Extract<Gate<Json>, { readonly verdict: 'ask' }>): Gate<Json> {
  return gate;
}

/** The question of a call, bound to its session, its step, its exact arguments and what is shown of them: the same in every replay. */
export function questionOf(
  gate: Extract<Gate<Json>, { readonly verdict: 'ask' }>,
  call: ToolCallSummary,
  {
    sid,
    agent = MAIN_AGENT,
    timeoutMs,
    isRelayed = false,
    now,
  }: {
    readonly sid: string;
    readonly agent?: string;
    readonly timeoutMs: number | null;
    readonly isRelayed?: boolean;
    readonly now: number;
  },
): Question {
  const { title, reasons, detail, paths, rule, host } = gate;
  const step = call.op.slice(0, call.op.lastIndexOf('.'));
  return {
    id: sha256(`${sid}|${step}|${call.argsHash}|${detail}`).slice(0, 16),
    title,
    reasons,
    detail: shownDetail(detail),
    argsHash: call.argsHash,
    agent,
    tool: call.name,
    ...(paths === undefined ? {} : { paths }),
    ...(rule === undefined ? {} : { rule }),
    ...(host === undefined ? {} : { host }),
    ...(isRelayed ? { relayed: true } : {}),
    ...(timeoutMs === null ? {} : { expiresAt: now + timeoutMs }),
  };
}

/** More than anybody reads must not fill the journal; the answer binds to all of it, by the id and the hash of the arguments. */
function shownDetail(detail: string): string {
  if (detail.length <= MAX_DETAIL) return detail;
  const left = detail.length - MAX_DETAIL;
  return `${detail.slice(0, MAX_DETAIL)}\n[${left} more characters are not shown. Deny it unless you know what they are.]`;
}

function asQuestion(
  gate: Extract<Gate<Json>, { readonly verdict: 'allow' }>,
  { tool, parsed, root }: RuledCall,
): Gate<Json> {
  const args = gate.args ?? parsed.args;
  const paths = parsed.touches(root).map(({ path, access }): QuestionPath => {
    const outside = path !== root && !path.startsWith(`${root}/`);
    return { path, outside, why: 'the settings ask', access, under: path };
  });
  return {
    verdict: 'ask',
    title: `Run ${tool.name}?`,
    reasons: [`the settings ask before every ${tool.name}`],
    detail: JSON.stringify(args, null, 2),
    ...(paths.length === 0 ? {} : { paths }),
    ...(gate.args === undefined ? {} : { args: gate.args }),
  };
}
