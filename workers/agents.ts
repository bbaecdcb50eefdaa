// The entry of an agents' thread (SPEC C3): runs the loops of many subagents at once, each over a port of its own. orchestrator/pool.ts
// loads it by URL. What a thread keeps for all of them is its pulse, by which the orchestrator sees that
// it is alive, and the clients of their models.

import { type MessagePort, threadId } from 'node:worker_threads';
import type { AgentTask } from '../shared/agent-frames.ts';
import { runAgent } from './agent-loop.ts';

export interface AgentRequest {
  readonly task: AgentTask;
  readonly port: MessagePort;
  /** One cell a thread, by its id: counts while the thread takes turns. */
  readonly pulse: Int32Array;
}

const PULSE_MS = 500;
let beat: NodeJS.Timeout | undefined;

/** Resolves when the agent's loop has ended, or its port is closed. */
export default async function agents({ task, port, pulse }: AgentRequest): Promise<void> {
  const cell = threadId % pulse.length;
  beat ??= setInterval(() => Atomics.add(pulse, cell, 1), PULSE_MS).unref();
  Atomics.add(pulse, cell, 1);
  await runAgent(task, port);
}
