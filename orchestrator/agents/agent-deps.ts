// What the calls, the budget, the hooks and the questions of one subagent work with on its parent's side: the session's own, in the agent's
// name, with what is the agent's alone.

import { Left } from '../../agent/loop.ts';
import { agentStart } from '../../shared/agents.ts';
import type { EventOf, JournalEvent } from '../../shared/events.ts';
import { withAccounts } from '../budget/with-accounts.ts';
import { withHooks } from '../hooks/turn-hooks.ts';
import { emptyMemory, type SessionMemory } from '../session-memory.ts';
import type { TurnDeps } from '../turn.ts';
import type { AgentHostDeps } from './host-port.ts';
import type { TurnSupplies } from './supplies.ts';

export interface AgentsOwn {
  readonly supplies: TurnSupplies;
  readonly memory: SessionMemory;
  /** Its events so far, after its start. */
  readonly past: readonly JournalEvent[];
  record(event: JournalEvent): void;
  flushed(): Promise<void>;
}

/** Its session's name: of its files, its commands, its prompts' cache keys. */
export const agentSid = (parentSid: string, aid: string): string => `${parentSid}_${aid}`;

/** What the tools and the budget need to know of an agent; its conversation is where its loop is. What its user allowed is the session's. */
export function agentMemory(sid: string, parent: Pick<SessionMemory, 'permissions'>): SessionMemory {
  const memory = emptyMemory(sid);
  Object.defineProperty(memory, 'permissions', { get: () => parent.permissions });
  return memory;
}

export function agentDeps(
  { parent, scope }: Pick<AgentHostDeps, 'parent' | 'scope'>,
  spawn: EventOf<'agent.spawn'>,
  { supplies, memory, past, record, flushed }: AgentsOwn,
): TurnDeps {
  const { aid, title } = spawn;
  const start = agentStart(spawn);
  return withHooks(
    withAccounts(
      {
        ...supplies,
        sid: agentSid(parent.sid, aid),
        root: parent.root,
        agent: `${title} (${aid})`,
        memory,
        record,
        flushed,
        recorder: { record, flushed, finish: () => Promise.reject(new Left()) },
        live: { publish: (event) => parent.live.publish({ ...event, agent: aid }) },
        budgetPolicy: { ...parent.budgetPolicy, message: scope },
      },
      start,
      [start, ...past],
    ),
    start,
  );
}
