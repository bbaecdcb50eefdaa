// What EditTool and MultiEditTool have in common: the gate before an edit and the words after it. The edit itself is the file
// port's: current content, exact matches, all or nothing (ARCHITECTURE 8).

import type { Gate, ToolContext, ToolResponse } from '../shared/define-tool.ts';
import type { FileChange, ProposedChange, TextEdit } from '../shared/files-port.ts';
import type { Json } from '../shared/json.ts';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import { checkSufficiency } from './edit-validation.ts';
import { pathGate } from './path-policy.ts';

/**
 * The gate of any file change: can it be made, is the path allowed, is the file known well enough. Asks nobody in vain. The call
 * then goes on with the real path that was judged.
 */
export async function gateChange<Args extends { readonly file_path: string }>(
  args: Args,
  change: ProposedChange,
  ctx: ToolContext,
): Promise<Gate<Args>> {
  const target = await ctx.files.resolve(args.file_path);
  if (!target.ok) return { verdict: 'deny', code: target.failure.code, message: target.failure.message };
  const { real } = target.value;
  const gate = pathGate('write', target.value, ctx.root, ctx.mode);
  if (gate.verdict === 'deny') return gate;
  const preview = await ctx.files.preview(real, change);
  if (!preview.ok) return { verdict: 'deny', code: preview.failure.code, message: preview.failure.message };
  if ('edits' in change) {
    const known = await checkSufficiency(preview.value, change.edits, ctx);
    if (!known.enough) return { verdict: 'deny', code: 'insufficient', message: known.message };
  }
  const judged = { ...args, file_path: real };
  if (gate.verdict === 'allow') return { verdict: 'allow', args: judged };
  return { ...gate, detail: `${gate.detail}\n${preview.value.diff}`, args: judged };
}

/** Refuses when the path that was judged leads elsewhere by now: a link was put in its way since. */
export async function refuseMoved(judged: string, ctx: ToolContext): Promise<Outcome<never> | undefined> {
  const target = await ctx.files.resolve(judged);
  if (!target.ok) return target;
  if (target.value.real === judged) return undefined;
  const message = `${judged} leads to ${target.value.real} by now: a link was put in its way. Nothing was changed; call again.`;
  return fail('refused', 'path_moved', message);
}

export async function runEdits(
  path: string,
  edits: readonly TextEdit[],
  ctx: ToolContext,
): Promise<Outcome<ToolResponse>> {
  const moved = await refuseMoved(path, ctx);
  if (moved) return moved;
  const change = await ctx.files.edit(path, edits, (intent) => ctx.intend(intent), ctx.signal);
  return change.ok ? ok(changeResponse('Edited', change.value)) : change;
}

/** The answer after a change. The model knows what it sent, so the diff is shown only when the file was not what it had read. */
export function changeResponse(verb: string, change: FileChange): ToolResponse {
  const { path, added, removed, diff, rebased } = change;
  const same = change.beforeHash === change.afterHash;
  const lines = `+${added} -${removed} lines`;
  const text = same
    ? `${path} already has exactly this content. Nothing was written.`
    : rebased
      ? `${verb} ${path} (${lines}). The file had changed since you read it; the edit was made on its current content:\n${diff}`
      : `${verb} ${path} (${lines}).`;
  return { text, description: `${verb} ${path} (${lines})`, affectedFiles: [path], data: asJson(change) };
}

const asJson = (change: FileChange): Json => ({
  ...change,
  beforeBlob: change.beforeBlob && { ...change.beforeBlob },
  afterBlob: change.afterBlob && { ...change.afterBlob },
});
