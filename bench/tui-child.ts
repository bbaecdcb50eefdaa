// One run of the interface for bench tui, in a process of its own: a session of 400 turns on a terminal of 120×40 that counts what is
// written, an answer of 5 KB that streams in, then eight subagents that stream while keys are typed. Prints its figures as JSON.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Terminal } from '@earendil-works/pi-tui';
import { startApp } from '../cli/tui/app.ts';
import type { Odin } from '../orchestrator/api.ts';
import type { StreamEvent } from '../shared/stream-events.ts';

const TURNS = 400;
const CHUNKS = 430;
const CHUNK_MS = 5;
const AGENTS = 8;
const KEYS = 40;
const KEY_MS = 50;

const usage = { input: 1000, output: 100, cacheRead: 0, cacheWrite: 0 };
const paragraph =
  'The retry policy lives in `orchestrator/retry-delay.ts`; **every** wait is journaled before it begins, so a crash never waits twice.\n\n';
const code =
  '```ts\nexport function delay(attempt: number): number {\n  return Math.min(8_000, 500 * 2 ** attempt);\n}\n```\n\n';
const list = '- first, the answer is read\n- then the calls are made, in order\n- at last the result is told\n\n';
const answer = `## Where it is decided\n\n${paragraph}${code}${list}`.repeat(12).slice(0, 5_000);

let written = 0;
let onWrite: (data: string) => void = () => {};
let input: (data: string) => void = () => {};
const terminal: Terminal = {
  columns: 120,
  rows: 40,
  kittyProtocolActive: false,
  start(onInput) {
    input = onInput;
  },
  stop() {},
  async drainInput() {},
  write(data) {
    written += Buffer.byteLength(data);
    onWrite(data);
  },
  moveBy() {},
  hideCursor() {},
  showCursor() {},
  clearLine() {},
  clearFromCursor() {},
  clearScreen() {},
  setTitle() {},
  setProgress() {},
};

let n = 0;
const at = (seq: number) => ({ session: 's', id: `1-${n++}`, at: Date.now(), seq });
const event = (seq: number, bare: object): StreamEvent => ({ ...at(seq), ...bare }) as StreamEvent;

function* turn(seq: number): Generator<StreamEvent> {
  yield event(seq, { type: 'MessageStarted', mode: 'ask', body: `question ${seq}`, model: 'm/model' });
  yield event(seq, { type: 'StepStarted', step: 1, attempt: 1 });
  for (let i = 1; i <= 3; i++) {
    const call = { op: `${seq}.1.${i}`, callId: `c${i}`, tool: 'Grep' };
    yield event(seq, { type: 'ToolCallStart', ...call, args: { pattern: `word ${i}` } });
    yield event(seq, { type: 'ToolCallEnd', ...call, status: 'ok', durationMs: 12 });
    yield event(seq, {
      type: 'ToolResult',
      ...call,
      status: 'ok',
      description: 'Found 3 files for word',
      text: 'a\nb',
      affectedFiles: [],
    });
  }
  yield event(seq, { type: 'StepText', step: 2, text: paragraph + list });
  yield event(seq, {
    type: 'AgentDone',
    status: 'completed',
    answer: paragraph + list,
    steps: 2,
    usage,
    costUsd: 0.01,
    spending: [],
  });
}

const measured = Promise.withResolvers<void>();
const typed = Promise.withResolvers<void>();
const figures = { cpuMs: 0, bytes: 0, keyMs: [] as number[] };

async function* follow(): AsyncGenerator<StreamEvent> {
  for (let seq = 1; seq <= TURNS; seq++) yield* turn(seq);
  await sleep(1_000);
  const seq = TURNS + 1;
  const cpu = process.cpuUsage();
  const before = written;
  yield event(seq, { type: 'MessageStarted', mode: 'ask', body: 'where?', model: 'm/model' });
  yield event(seq, { type: 'StepStarted', step: 1, attempt: 1 });
  for (let i = 0; i < CHUNKS; i++) {
    const [from, to] = [Math.floor((i * answer.length) / CHUNKS), Math.floor(((i + 1) * answer.length) / CHUNKS)];
    yield { ...event(seq, { type: 'StreamText', delta: answer.slice(from, to) }), id: null };
    await sleep(CHUNK_MS);
  }
  yield event(seq, { type: 'StepText', step: 1, text: answer });
  await sleep(200);
  const used = process.cpuUsage(cpu);
  figures.cpuMs = (used.user + used.system) / 1_000;
  figures.bytes = written - before;
  measured.resolve();
  for (let i = 0; i < AGENTS; i++) {
    yield event(seq, {
      type: 'AgentSpawned',
      agent: `a${i}`,
      op: '1.1.1',
      title: `agent ${i}`,
      kind: null,
      mode: 'ask',
      model: 'm',
      background: false,
      tools: [],
      prompt: '',
    });
  }
  let isTyped = false;
  void typed.promise.then(() => {
    isTyped = true;
  });
  for (let i = 0; !isTyped; i++) {
    for (let agent = 0; agent < AGENTS; agent++) {
      yield { ...event(seq, { type: 'StreamText', agent: `a${agent}`, delta: 'some words ' }), id: null };
      if (i % 4 === 0)
        yield event(seq, {
          type: 'AgentProgress',
          agent: `a${agent}`,
          step: i,
          doing: `Grep "word ${i}"`,
          tokens: i * 100,
          costUsd: 0,
        });
    }
    yield { ...event(seq, { type: 'StreamText', delta: 'main words ' }), id: null };
    await sleep(CHUNK_MS);
  }
}

const odin = {
  follow,
  root: '/',
  newSession: () => 's',
  sessions: async () => [{ sid: 'S' }],
  lastSession: async () => 'S',
  queued: async () => [],
} as unknown as Odin;

const app = startApp({
  terminal,
  odin: Promise.resolve(odin),
  session: 'S',
  mode: 'ask',
  limits: { maxSteps: 9 },
  models: null,
  cwd: '/',
  env: { ODIN_HOME: process.argv[2], TERM: 'xterm' },
  version: '0',
  sandbox: Promise.resolve('sandbox'),
});
await measured.promise;
for (let i = 0; i < KEYS; i++) {
  await sleep(KEY_MS);
  const key = String.fromCharCode(0x4e00 + i);
  const startedAt = performance.now();
  const shown = new Promise<void>((resolve) => {
    onWrite = (data) => data.includes(key) && resolve();
  });
  input(key);
  await shown;
  figures.keyMs.push(performance.now() - startedAt);
}
typed.resolve();
app.leave();
process.stdout.write(`${JSON.stringify({ ...figures, rssBytes: process.memoryUsage().rss })}\n`);
process.exit(0);
