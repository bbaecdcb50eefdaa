// An Odin in a process of its own for a long session: runs the messages it is told to, and says how much memory it had at the 20th step
// and at the end. Started with --expose-gc, against a model server that somebody else runs.

import { chooseModel } from '../../llm/choose-model.ts';
import { openOdin } from '../../orchestrator/odin.ts';

export interface LongSessionOrder {
  readonly url: string;
  readonly project: string;
  readonly home: string;
  readonly bodies: readonly string[];
  readonly maxSteps: number;
}

export interface LongSessionReport {
  readonly ends: readonly string[];
  readonly steps: number;
  readonly compactions: number;
  readonly processors: readonly string[];
  readonly heapAt20: number;
  readonly heapAtEnd: number;
  readonly rssAt20: number;
  readonly rssAtEnd: number;
}

const order = JSON.parse(process.argv[2] ?? '') as LongSessionOrder;
const collect = (globalThis as { gc?: () => void }).gc;
if (!collect) throw new Error('Start it with --expose-gc.');

const memory = () => {
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
};

const chosen = await chooseModel({
  flagModel: 'anthropic/scripted',
  flagSmallModel: 'anthropic/small',
  env: { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: order.url },
});
if (!chosen.ok) throw new Error(chosen.failure.message);
const odin = await openOdin({ cwd: order.project, home: order.home, models: chosen.value });
const sid = odin.newSession();
const stop = new AbortController();
const ends: string[] = [];
const processors = new Set<string>();
let steps = 0;
let compactions = 0;
let early = memory();
const stream = odin.follow(sid, { from: '$', signal: stop.signal });
for (const body of order.bodies) {
  await odin.submit(sid, { mode: 'ask', body, limits: { maxSteps: order.maxSteps } });
}
for await (const event of stream) {
  if (event.type === 'StepStarted') {
    steps += 1;
    if (steps === 20) early = memory();
  }
  if (event.type === 'ContextCompacted') {
    compactions += 1;
    for (const name of event.processors) processors.add(name);
  }
  if (event.type !== 'AgentDone') continue;
  ends.push(`${event.status}: ${event.answer.slice(0, 200)}`);
  if (ends.length === order.bodies.length) stop.abort();
}
const late = memory();
await odin.close();
const report: LongSessionReport = {
  ends,
  steps,
  compactions,
  processors: [...processors],
  heapAt20: early.heap,
  heapAtEnd: late.heap,
  rssAt20: early.rss,
  rssAtEnd: late.rss,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
