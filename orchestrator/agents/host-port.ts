// One subagent at work, wherever it works: what agents.ts can do with it, and what it is given by its parent. agent-host.ts has it in a
// thread of this process, remote/remote-host.ts with a worker.

import type { AgentReport } from '../../shared/agents-port.ts';
import type { Scope } from '../budget/ledger.ts';
import type { GivenTurnDeps } from '../turn.ts';
import type { AgentSupplies } from './supplies.ts';

export interface AgentHost {
  readonly id: string;
  readonly background: boolean;
  cancel(by: string): void;
  /** The user's word to the agent, told with its next request. */
  say(text: string, by: string): void;
  /** The process leaves: nothing more is journaled, the agent can go on elsewhere. */
  abandon(): void;
  /** Rejects with Left when abandoned. */
  readonly end: Promise<AgentReport>;
}

export interface AgentHostDeps {
  /** The parent's. What is recorded through it is in the session's journal. */
  readonly parent: Pick<GivenTurnDeps, 'sid' | 'root' | 'memory' | 'live' | 'record' | 'flushed' | 'budgetPolicy'>;
  readonly supplies: AgentSupplies;
  /** The parent message's: an agent spends within it. */
  readonly scope: Scope;
}
