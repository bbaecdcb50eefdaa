// Works out what InitTool would write, and where: the scan, the facts, the lesser model's words on them, put into the file that is there.
// Changes nothing.

import { join } from 'node:path';
import type { ToolContext } from '../../shared/define-tool.ts';
import type { ProposedChange } from '../../shared/files-port.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { pathGate } from '../path-policy.ts';
import { gatherFacts } from './gather.ts';
import { type Merged, mergePart } from './merge.ts';
import { writeProse } from './prose.ts';
import { scanProject } from './scan.ts';
import { sectionsText } from './sections.ts';
import { templateSections } from './template.ts';

const FILE = 'ODIN.md';
const SCAN_MS = 60_000;
const MODEL_MS = 90_000;
/** More is not read as instructions (orchestrator/instructions.ts). */
const READ_BYTES = 32 * 1024;

export interface Proposal {
  /** Real path. */
  readonly path: string;
  readonly how: Merged['how'];
  readonly content: string;
  readonly change: ProposedChange;
  /** For the user and the planner, one line each. */
  readonly remarks: readonly string[];
}

/** What would be written, and where. */
export async function propose(focus: string, ctx: ToolContext): Promise<Outcome<Proposal>> {
  const target = await existingFile(ctx);
  if (!target.ok) return target;
  const { path, text } = target.value;
  // Marks that are damaged are told before anything is read or asked.
  const trial = mergePart(text, '', '');
  if (!trial.ok) return trial;
  const scan = await scanProject(ctx, AbortSignal.any([ctx.signal, AbortSignal.timeout(SCAN_MS)]));
  if (!scan.ok) return scan;
  const facts = gatherFacts(scan.value, ctx.root);
  if (facts.files === 0 || [...facts.paths].every((one) => one === FILE))
    return fail(
      'failed',
      'empty_project',
      `There is nothing in ${ctx.root} yet that ${FILE} could tell of. Nothing was written.`,
    );
  ctx.report('asking the lesser model to put the facts into words');
  const prose = await writeProse(facts, focus, ctx.model, AbortSignal.any([ctx.signal, AbortSignal.timeout(MODEL_MS)]));
  if (ctx.signal.aborted) return fail('cancelled', 'cancelled', 'Cancelled. Nothing was written.');
  const sections = prose.ok ? prose.value.sections : templateSections(facts);
  const merged = mergePart(text, facts.name, sectionsText(sections));
  if (!merged.ok) return merged;
  const { how, content } = merged.value;
  const remarks = [
    ...facts.limits,
    ...(prose.ok ? prose.value.remarks : [`written from the facts alone: ${withoutDot(prose.failure.message)}`]),
  ];
  if (Buffer.byteLength(content) > READ_BYTES)
    remarks.push(`${FILE} is over ${READ_BYTES / 1024} KB, and only so much of it is read as instructions: shorten it`);
  // As an edit, the file's encoding and each of its line endings stay what they are.
  const change =
    text === null || text.trim() === ''
      ? { content }
      : { edits: [{ oldText: text, newText: content, replaceAll: false }] };
  return ok({ path, how, content, change, remarks });
}

/** ODIN.md of the root as it is: its real path, inside the project, and its text; null when there is none. */
async function existingFile(
  ctx: ToolContext,
): Promise<Outcome<{ readonly path: string; readonly text: string | null }>> {
  const target = await ctx.files.resolve(join(ctx.root, FILE));
  if (!target.ok) return target;
  const { real, inside, kind } = target.value;
  if (!inside) {
    const message = `${FILE} is a link that leads out of the project, to ${real}. Nothing was written; tell the user to replace the link by a file.`;
    return fail('refused', 'outside', message);
  }
  if (kind === 'directory')
    return fail('failed', 'is_directory', `${real} is a folder, not a file. Nothing was written.`);
  const gate = pathGate('write', target.value, ctx.root, ctx.mode);
  if (gate.verdict === 'deny') return fail('refused', gate.code, gate.message);
  if (kind === 'missing') return ok({ path: real, text: null });
  const view = await ctx.files.read(real);
  if (view.ok) return ok({ path: real, text: view.value.text });
  if (view.failure.code !== 'too_large') return view;
  return fail(
    'failed',
    'too_large',
    `${real} is too large to be instructions. Shorten it, or move it away. Nothing was written.`,
  );
}

const withoutDot = (text: string): string => text.replace(/\.$/, '');
