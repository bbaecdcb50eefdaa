// The hooks around one tool call (SPEC E5): what they make of it before its gate, and of its result before the model sees it. The same in a
// turn, after a crash and for `odin tool`.

import type { Gate, ParsedCall, Tool } from '../../shared/define-tool.ts';
import type { JournalEvent, ToolCallSummary } from '../../shared/events.ts';
import { type OpId, sha256 } from '../../shared/ids.ts';
import type { Json } from '../../shared/json.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { inlineOf } from '../../shared/payload.ts';
import type { CallResult, Hooks } from './run-hooks.ts';

/** A call as its hooks leave it. */
export interface PassedCall {
  readonly parsed: ParsedCall;
  /** Of the arguments that are run: what a question is bound to. */
  readonly argsHash: string;
  /** Why the user is to be asked. */
  readonly asks: readonly string[];
  /** For the model, behind whatever comes of it. */
  readonly notes: readonly string[];
}

interface CallToJudge {
  readonly call: Pick<ToolCallSummary, 'op' | 'name' | 'argsHash'>;
  readonly tool: Tool;
  readonly parsed: ParsedCall;
}

/** Asks the toolCall hooks. Changed arguments are checked like the model's own; the gate comes after this, and judges them. */
export async function passHooks(
  toolCall: NonNullable<Hooks['toolCall']>,
  { call, tool, parsed }: CallToJudge,
  signal: AbortSignal,
): Promise<Outcome<PassedCall>> {
  const { op, name } = call;
  const verdict = await toolCall({ op, name, effect: tool.effect, args: parsed.args }, signal);
  if (verdict.verdict === 'refused') return { ok: false, failure: verdict.failure };
  const { changed, asks } = verdict;
  if (!changed) return ok({ parsed, argsHash: call.argsHash, asks, notes: [] });
  const rawArgs = JSON.stringify(changed.args);
  const reparsed = tool.parse(rawArgs);
  if (!reparsed.ok) {
    const message = `The hook "${changed.by}" of the user changed this call into one that cannot be run. ${reparsed.failure.message}\nSo it was not run. That is for the user to mend: go on without it, and say so.`;
    return fail('refused', 'hook_failed', message);
  }
  return ok({
    parsed: reparsed.value,
    argsHash: sha256(rawArgs),
    asks,
    notes: [changedNote(changed.by, changed.args)],
  });
}

const MAX_SHOWN = 2_000;

function changedNote(by: string, args: Json): string {
  const text = JSON.stringify(args);
  const shown = text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)} […]`;
  return `[The hook "${by}" of the user changed the arguments of this call. They were: ${shown}]`;
}

/** A gate whose answer hooks want to hear from the user. No word for the session or for all files answers such a question. */
export function askedByHooks(gate: Gate<Json>, asks: readonly string[], tool: string, parsed: ParsedCall): Gate<Json> {
  if (asks.length === 0 || gate.verdict === 'deny') return gate;
  if (gate.verdict === 'allow') {
    const detail = JSON.stringify(parsed.args, null, 2);
    return { verdict: 'ask', title: `Run ${tool}?`, reasons: asks, detail, ...argsOf(gate) };
  }
  const { title, reasons, detail, paths } = gate;
  return {
    verdict: 'ask',
    title,
    reasons: [...asks, ...reasons],
    detail,
    ...(paths ? { paths: paths.map(({ path, outside, why }) => ({ path, outside, why })) } : {}),
    ...argsOf(gate),
  };
}

const argsOf = (gate: { readonly args?: Json }) => (gate.args === undefined ? {} : { args: gate.args });

export interface AfterCall {
  readonly toolResult: Hooks['toolResult'];
  readonly op: OpId;
  readonly name: string;
  readonly args: Json;
  /** What passHooks had to say. */
  readonly notes: readonly string[];
  readonly signal: AbortSignal;
  /** The tool's data brought up to date with what a hook has made of its file; null when that is as it was. */
  takeUpChange(data: Json): Promise<Json | null>;
}

/** The result with what the hooks add to it. Only a call that ran has toolResult hooks. */
export async function afterCall(call: AfterCall, result: CallResult): Promise<CallResult> {
  const { kind } = result;
  const ran = kind === 'ok' || kind === 'failed';
  const own = ran && call.toolResult ? await call.toolResult(call, result, call.signal) : null;
  const data = result.response?.data;
  const changed = own !== null && data !== undefined ? await call.takeUpChange(data) : null;
  const notes = [...call.notes, ...(changed === null ? [] : [FILE_CHANGED]), ...(own ?? [])];
  if (notes.length === 0) return result;
  const add = (text: string) => [text, ...notes].join('\n\n');
  const { response, failure } = result;
  return {
    kind,
    response: response && { ...response, text: add(response.text), ...(changed === null ? {} : { data: changed }) },
    failure: failure && { ...failure, message: add(failure.message) },
  };
}

const FILE_CHANGED =
  '[A hook of the user, such as a formatter, changed the file after this. Read it before you rely on what it holds.]';

/** What was run of a call that a crash interrupted: as the model wanted it, or as a hook has changed it. */
export function callAsRun(
  past: readonly JournalEvent[],
  op: OpId,
  rawArgs: string,
): { readonly args: Json; readonly notes: readonly string[] } {
  const change = past.findLast((event) => event.type === 'hook.ran' && event.op === op && event.args !== undefined);
  if (change?.type === 'hook.ran' && change.args) {
    const args = inlineOf(change.args);
    return { args, notes: [changedNote(change.name, args)] };
  }
  // It was run, so it could be read.
  return { args: JSON.parse(rawArgs === '' ? '{}' : rawArgs) as Json, notes: [] };
}
