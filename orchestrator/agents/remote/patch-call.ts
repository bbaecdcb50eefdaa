// What a remote agent changed in its copy is put into the project by a call like any other: with a gate, an intent and a result in the
// agent's part of the journal. So it is asked about, undone, shown and finished after a crash as the edits of a local agent are, and it
// happens once: the call has one name and one result.

import * as z from 'zod';
import { patchOp } from '../../../shared/agents.ts';
import { defineTool, type Tool, type ToolResponse } from '../../../shared/define-tool.ts';
import { type EventOf, type JournalEvent, type QuestionPath, settledKindOf } from '../../../shared/events.ts';
import type { ResolvedPath } from '../../../shared/files-port.ts';
import { sha256 } from '../../../shared/ids.ts';
import type { Mode } from '../../../shared/modes.ts';
import { type Outcome, ok } from '../../../shared/outcome.ts';
import { inlineOf } from '../../../shared/payload.ts';
import { pathGate } from '../../../tools/path-policy.ts';
import { getModeTools } from '../../../tools/registry.ts';
import type { ToolRule } from '../../config-schema.ts';
import { type ChangedFiles, changeFiles, resumeChanges, type WantedChange } from '../../files/change-files.ts';
import type { Files } from '../../files/files.ts';
import { filesIntentOf, intentJson } from '../../files/files-intent.ts';
import { startToolCall, type ToolCallDeps } from '../../tool-call.ts';
import { toolDone } from '../../tool-done.ts';
import { patchFiles, patchHooks } from './patch-hooks.ts';
import type { ChangedFile } from './working-copy.ts';

const NAME = 'AgentPatch';

export interface PatchOrder {
  readonly seq: number;
  /** The patch's hash. */
  readonly patch: string;
  readonly files: Files;
  /** The tools that the agent had: what the settings say of those that change files holds for this too. */
  readonly tools: readonly string[];
  readonly mode: Mode;
  /** The agent's events so far. */
  past(): readonly JournalEvent[];
  changes(): Promise<Outcome<readonly ChangedFile[]>>;
  /** Stops it: nobody is asked any more. */
  readonly signal: AbortSignal;
}

/** The result of the call, made now or before a crash; null when nothing is journaled any more. */
export async function putIntoProject(deps: ToolCallDeps, order: PatchOrder): Promise<EventOf<'tool.done'> | null> {
  const op = patchOp(order.seq);
  const doneOf = () =>
    order.past().find((event): event is EventOf<'tool.done'> => event.type === 'tool.done' && event.op === op);
  const before = doneOf();
  if (before) return before;
  const call = { op, callId: 'patch', name: NAME, argsHash: sha256(order.patch) };
  const intent = order.past().find((event) => event.type === 'tool.intent' && event.op === op);
  const intended = intent?.type === 'tool.intent' ? filesIntentOf(intent.intent) : undefined;
  const startedAt = deps.now();
  const settle = (outcome: Outcome<ToolResponse>): EventOf<'tool.done'> => {
    const kind = outcome.ok ? 'ok' : settledKindOf(outcome.failure.kind);
    const failure = outcome.ok ? null : outcome.failure;
    const done = toolDone(deps, call, { kind, failure, response: outcome.ok ? outcome.value : null, startedAt });
    deps.record(done);
    return done;
  };
  if (intended) {
    const resumed = await resumeChanges(order.files, intended);
    return settle(resumed.ok ? ok(responseOf(resumed.value)) : resumed);
  }
  const changes = await order.changes();
  if (!changes.ok) return settle(changes);
  const placed = await placeAll(order.files, changes.value);
  if (!placed.ok) return settle(placed);
  const able = getModeTools(order.mode, true).filter(
    ({ name, effect }) => effect !== 'read' && order.tools.includes(name),
  );
  const rules = [NAME, ...able.map(({ name }) => name)].flatMap((tool) => deps.toolRule(tool) ?? []);
  const hooks = patchHooks(deps.hooks, placed.value);
  const tool = patchTool(order.files, placed.value);
  const seen = hooks.toolCall === null && hooks.toolResult === null ? {} : { files: patchFiles(placed.value) };
  const args = JSON.stringify({ patch: order.patch, ...seen });
  const ruled = { ...deps, hooks, toolRule: () => strictest(rules) };
  const running = startToolCall(ruled, call, args, tool, async () => {});
  const { signal } = order;
  const stop = () => running.cancel();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await running.settled;
  signal.removeEventListener('abort', stop);
  return doneOf() ?? null;
}

type Placed = WantedChange & { readonly resolved: ResolvedPath };

async function placeAll(files: Files, changes: readonly ChangedFile[]): Promise<Outcome<readonly Placed[]>> {
  const port = files.portFor();
  const placed: Placed[] = [];
  for (const change of changes) {
    const target = await port.resolve(change.path);
    if (!target.ok) return target;
    placed.push({ ...change, path: target.value.real, resolved: target.value });
  }
  return ok(placed);
}

const schema = z.strictObject({ patch: z.string(), files: z.json().optional() });
type Args = z.infer<typeof schema>;

const patchTool = (files: Files, placed: readonly Placed[]): Tool =>
  defineTool<Args>({
    name: NAME,
    version: '1',
    description: '',
    schema,
    effect: 'write',
    touches: () => placed.map(({ path }) => ({ path, access: 'write' })),
    async preHook(_args, ctx) {
      const gates = placed.map(({ resolved }) => pathGate('write', resolved, ctx.root, ctx.mode));
      const denied = gates.find((gate) => gate.verdict === 'deny');
      if (denied) return denied;
      const asked = gates.flatMap((gate) => (gate.verdict === 'ask' ? [gate] : []));
      if (asked.length === 0) return { verdict: 'allow' };
      const paths: readonly QuestionPath[] = asked.flatMap((gate) => gate.paths);
      return {
        verdict: 'ask',
        title: `Take over what the agent changed in ${placed.length} ${placed.length === 1 ? 'file' : 'files'}?`,
        reasons: [...new Set(asked.flatMap(({ reasons }) => reasons))],
        detail: placed.map(({ path }) => path).join('\n'),
        paths,
      };
    },
    async execute(_args, ctx) {
      const changed = await changeFiles(files, placed, (intent) => ctx.intend(intent), ctx.signal);
      return changed.ok ? ok(responseOf(changed.value)) : changed;
    },
  });

function responseOf({ changes, merged }: ChangedFiles): ToolResponse {
  const paths = changes.map(({ path }) => path);
  const how = merged.length === 0 ? '' : ` Merged with what others changed there meanwhile: ${merged.join(', ')}.`;
  const text =
    paths.length === 0
      ? 'All that it changed is in the project already.'
      : `Changed in the project: ${paths.join(', ')}.${how}`;
  return {
    text,
    description: `Took over ${paths.length} changed files`,
    affectedFiles: paths,
    data: intentJson(changes),
  };
}

/** A rule that allows is about calls that are asked about one by one. */
const strictest = (rules: readonly ToolRule[]): ToolRule | undefined =>
  (['deny', 'ask'] as const).find((rule) => rules.includes(rule));

export const patchText = (done: EventOf<'tool.done'>): string => inlineOf(done.text);
