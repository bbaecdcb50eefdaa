// What becomes of the changes of an agent that worked with a worker, at its end: they are put into the project by one call, or the user is
// told where they are. The agent's end says which.

import type { SubagentEnd } from '../../../machines/subagent/events.ts';
import type { EventOf, JournalEvent } from '../../../shared/events.ts';
import type { ToolCallDeps } from '../../tool-call.ts';
import type { RemoteOrder } from './order.ts';
import { patchText, putIntoProject } from './patch-call.ts';
import type { RemoteAgents } from './remote-agents.ts';

export interface TakeOver {
  readonly remote: RemoteAgents;
  readonly order: RemoteOrder;
  readonly spawn: EventOf<'agent.spawn'>;
  /** The patch's hash. */
  readonly patch: string;
  /** Stops it: nobody is asked any more. */
  readonly signal: AbortSignal;
  /** The agent's events so far. */
  past(): readonly JournalEvent[];
}

/** The end with what came of the patch; null when nothing is journaled any more. */
export async function takeOver(
  deps: ToolCallDeps,
  { remote, order, spawn, patch, signal, past }: TakeOver,
  end: SubagentEnd,
): Promise<SubagentEnd | null> {
  if (end.end !== 'completed' && end.end !== 'limit') {
    return { ...end, answer: `${end.answer}\n\n[What it had changed in its copy is not put into the project.]` };
  }
  const done = await putIntoProject(deps, {
    ...{ seq: spawn.seq, patch, files: remote.files, tools: spawn.tools, mode: spawn.mode, signal, past },
    changes: () => remote.changes(order, patch),
  });
  if (done === null) return null;
  const answer = `${end.answer}\n\n[${patchText(done)}]`;
  if (done.kind === 'ok') return { ...end, answer };
  const file = await remote.keep(order.rid, patch);
  const where = file === null ? '' : `; the user finds it as a patch in ${file}`;
  const kind = done.kind === 'cancelled' ? 'cancelled' : 'failed';
  return {
    ...end,
    end: end.end === 'completed' ? kind : end.end,
    answer: `${answer}\n[What the agent changed in its copy is not in the project${where}.]`,
    failure: { kind, code: 'patch_not_applied', message: patchText(done) },
  };
}
