// What waiting subagents cost (DURABILITY 15 #22): so many loops at once in their threads, each at its model's door, driven over their ports
// by the smallest host there is. Memory and processor time are those of this process above what it had before.

import { MessageChannel } from 'node:worker_threads';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { openAgentThreads } from '../../orchestrator/pool.ts';
import { type AgentTask, FRAMES_VERSION, type ThreadFrame } from '../../shared/agent-frames.ts';

export interface WaitingAgents {
  readonly agents: number;
  /** From the first start to the last request at the model. */
  readonly upMs: number;
  /** Resident memory above that of the process before; the model's server, which is in the process too, is part of both. */
  readonly extraBytes: number;
  /** Share of one processor while all wait. */
  readonly cpuShare: number;
}

/** Starts the agents, lets them wait for `watchMs`, and ends them. */
export async function measureWaitingAgents(agents: number, watchMs = 3_000): Promise<WaitingAgents> {
  const allWait = Promise.withResolvers<void>();
  let requests = 0;
  const server = await startScriptedServer({
    keepBodies: false,
    script: () => {
      requests += 1;
      if (requests === agents) allWait.resolve();
      return new Promise(() => {});
    },
  });
  const threads = openAgentThreads();
  const ports: MessageChannel['port1'][] = [];
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const startedAt = performance.now();
  const running: Promise<unknown>[] = [];
  for (let n = 0; n < agents; n += 1) {
    const { port1, port2 } = new MessageChannel();
    ports.push(port1);
    port1.on('message', (frame: ThreadFrame) => {
      const head = { v: FRAMES_VERSION, aid: frame.aid, inc: frame.inc };
      if (frame.k === 'evt') port1.postMessage({ ...head, k: 'ack', n: frame.n, near: null });
      if (frame.k === 'req') port1.postMessage({ ...head, k: 'res', id: frame.id, body: 4_096 });
    });
    running.push(threads.run(taskOf(n, server.url), port2).catch(() => {}));
  }
  try {
    await allWait.promise;
    const upMs = performance.now() - startedAt;
    const extraBytes = process.memoryUsage.rss() - before;
    const cpu = process.cpuUsage();
    const from = performance.now();
    await new Promise((resolve) => setTimeout(resolve, watchMs));
    const used = process.cpuUsage(cpu);
    const cpuShare = (used.user + used.system) / 1000 / (performance.now() - from);
    return { agents, upMs, extraBytes, cpuShare };
  } finally {
    for (const port of ports) port.close();
    await threads.close();
    await Promise.all(running);
    await server.close();
  }
}

function taskOf(n: number, url: string): AgentTask {
  const model = 'anthropic/scripted';
  const provider = {
    name: 'anthropic',
    kind: 'anthropic',
    options: { name: 'anthropic', apiKey: 'test', baseURL: url },
  };
  return {
    ...{ aid: `a1-1-${n}`, inc: 1, sid: `bench_a1-1-${n}`, root: '/project' },
    start: {
      ...{ type: 'msg.start', seq: 1, mid: `m${n}`, mode: 'ask', body: { inline: `Task ${n}` } },
      ...{ model, smallModel: model, limits: { maxSteps: 5 }, at: Date.now() },
    },
    ...{
      past: [],
      specs: [],
      instructions: '',
      role: '',
      stepTimeoutMs: 600_000,
      cached: [],
      near: null,
      asksHooks: false,
    },
    models: { [model]: { provider, window: 200_000, maxOutputTokens: 4_096 } },
    context: { compactAt: 0.8, target: 0.4, keepRecent: 6, summaryTimeoutMs: 60_000 },
  };
}
