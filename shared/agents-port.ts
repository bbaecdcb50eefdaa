// What AgentTool may ask for (SPEC O19): agents are started, waited for and asked for their results. The orchestrator supplies it to the
// main agent's calls, and to nobody else's.

import type { AgentEndKind } from './agents.ts';
import type { OpId } from './ids.ts';
import type { LimitKind } from './limits.ts';
import type { Mode } from './modes.ts';
import type { Outcome } from './outcome.ts';

export interface AgentOrder {
  readonly title: string;
  readonly prompt: string;
  /** Name of an agent file. */
  readonly kind?: string;
  readonly mode?: Mode;
  /** `provider/name`; absent: the parent's. */
  readonly model?: string;
  /** A part of the mode's tools; absent: all of them. */
  readonly tools?: readonly string[];
  readonly budget?: {
    readonly maxSteps?: number;
    readonly usd?: number;
    readonly tokens?: number;
    readonly timeoutMs?: number;
  };
}

export interface AgentReport {
  readonly id: string;
  readonly title: string;
  readonly end: AgentEndKind;
  readonly limit: LimitKind | 'steps' | null;
  readonly answer: string;
  readonly steps: number;
}

export interface AgentsPort {
  /** Starts the agent of a call, or finds it when the call was made before a crash. Its id. */
  start(op: OpId, order: AgentOrder, background: boolean): Promise<Outcome<string>>;
  /** Waits for an agent's end; the signal's abort cancels a foreground one. */
  result(id: string, signal: AbortSignal): Promise<Outcome<AgentReport>>;
}
