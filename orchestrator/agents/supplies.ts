// What a turn is given for its subagents.

import type { Mode } from '../../shared/modes.ts';
import type { Todo } from '../../shared/state.ts';
import type { SeenFiles } from '../files/seen-files.ts';
import type { AgentThreads } from '../pool.ts';
import type { GivenTurnDeps } from '../turn.ts';
import type { AgentFile } from './agent-files.ts';
import type { RemoteAgents } from './remote/remote-agents.ts';

/** A turn's deps without what is the turn's own. */
export type TurnSupplies = Omit<GivenTurnDeps, 'sid' | 'root' | 'memory' | 'recorder' | 'live' | 'record' | 'flushed'>;

export interface AgentSupplies {
  readonly threads: AgentThreads;
  /** How to reach a model from a thread; null when this process cannot say. Holds keys. */
  access(model: string): unknown;
  /** Files, commands and tools of an agent's own; questions go to the session's user. */
  forAgent(agentSid: string, mode: Mode, todos: () => readonly Todo[], seen: () => SeenFiles): TurnSupplies;
  /** An agent has ended: nobody can stop or read what it left running, so that ends too. */
  ended(agentSid: string): Promise<void>;
  /** Agents that work with workers; null: there can be none. */
  remote(): Promise<RemoteAgents | null>;
  /** The custom agents. */
  files(): readonly AgentFile[];
}
