// bench context: what a long conversation costs before each request, and what a step of many tools costs besides its tools.
// Building: everything between the last tool result and the bytes for the provider, for a history of 1,000 messages, in each API's dialect;
// floor: the same messages through JSON.stringify. Parallel tools: eight that take 100 ms each in one step of a real Odin; floor: eight timers.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFit } from '../agent/context-fit.ts';
import { promptHash } from '../agent/memory.ts';
import { anthropicRequest } from '../llm/anthropic-request.ts';
import { chooseModel } from '../llm/choose-model.ts';
import { buildRequest } from '../llm/context/build-request.ts';
import { renderFacts } from '../llm/context/facts.ts';
import { chatRequest } from '../llm/openai-chat-request.ts';
import { responsesRequest } from '../llm/openai-responses-request.ts';
import { sealed } from '../llm/request-text.ts';
import { startScriptedServer } from '../llm/scripted/server.ts';
import { openOdin } from '../orchestrator/odin.ts';
import { emptyMemory, remember, type SessionMemory } from '../orchestrator/session-memory.ts';
import { toolSpec } from '../shared/define-tool.ts';
import type { EventOf, JournalEvent } from '../shared/events.ts';
import { opId } from '../shared/ids.ts';
import type { ModelRequest } from '../shared/messages.ts';
import { getModeTools } from '../tools/registry.ts';
import { atMost, type BenchReport, median, report } from './report.ts';

const MESSAGES = 1_000;
const RESULT_CHARS = 2_000;
const TOOLS = 8;
const TOOL_MS = 100;
const STEPS = 5;

/** Steps and builds are measured in `rounds` turns; medians. */
export async function benchContext(options: { readonly rounds: number }): Promise<BenchReport> {
  const cold: number[] = [];
  const warm: Record<Api, number[]> = { anthropic: [], responses: [], chat: [] };
  const floor: number[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    const sessions = APIS.map((api) => ({ api, memory: longSession() }));
    const [first = 0] = sessions.map(({ api, memory }) => timed(() => build(memory, api)));
    const bare = timed(() => JSON.stringify(sessions[0]?.memory.history.messages));
    const later = sessions.map(({ api, memory }) => [api, timed(() => addStepAndBuild(memory, api))] as const);
    // The first round compiles.
    if (round === 0) continue;
    cold.push(first);
    floor.push(bare);
    for (const [api, ms] of later) warm[api].push(ms);
  }
  const steps = await timeParallelSteps(options.rounds);
  const bareMs = median(floor);
  const built = APIS.map((api) => ({ name: `building, 1,000 messages, ${api}`, odin: median(warm[api]) }));
  const figures = [
    ...built.map((one) => ({ ...one, unit: 'ms', floor: bareMs })),
    { name: 'building, the first time in a process', unit: 'ms', odin: median(cold), floor: bareMs },
    { name: 'step of 8 tools that take 100 ms each', unit: 'ms', odin: median(steps), floor: await timeTimers() },
  ];
  return report('context', figures, [
    ...built.map(({ name, odin }) => atMost(name, odin, 20, 'ms')),
    atMost('8 × 100 ms tools in one step', median(steps), 130, 'ms'),
  ]);
}

const APIS = ['anthropic', 'responses', 'chat'] as const;
type Api = (typeof APIS)[number];

const RENDER: Readonly<Record<Api, (request: ModelRequest) => string>> = {
  anthropic: (request) => anthropicRequest(request).body,
  responses: (request) => JSON.stringify(responsesRequest(request).body),
  chat: (request) => JSON.stringify(chatRequest(request)),
};

const specs = getModeTools('edit', false).map(toolSpec);
const MODEL = 'bench/gpt-bench';

/** As callModel does it: facts, fit, hash, request, dialect. */
function build(memory: SessionMemory, api: Api): number {
  const cached = Array.from({ length: 60 }, (_, n) => ({
    filePath: `/p/src/file-${n}.ts`,
    size: 2_000,
    totalLines: 60,
    mtimeMs: n,
    cachedAt: n,
    isModified: false,
    truncated: false,
    ranges: [],
  }));
  const { text, told } = renderFacts(
    memory.told,
    { date: '2026-11-20', cached, todos: memory.state.todos, agents: [], questions: [], repeats: 0, root: '/p' },
    2,
  );
  memory.told = told;
  const parts = {
    sid: 's',
    mode: 'edit' as const,
    root: '/p',
    instructions: memory.state.customInstructions,
    model: 'gpt-bench',
    tools: specs,
    maxOutputTokens: 32_000,
  };
  const op = opId(1, MESSAGES, 0);
  const contextSettings = { compactAt: 0.8, target: 0.4, keepRecent: 6, summaryTimeoutMs: 1 };
  const deps = { memory, contextSettings, contextWindow: () => 2_000_000, now: () => 0 };
  const request = buildRequest({ ...parts, history: memory.history });
  const { tokens, maxOutputTokens } = checkFit(deps, { op, model: MODEL, request, facts: text });
  const reqHash = promptHash(memory, MODEL, text);
  const event: EventOf<'llm.req'> = { type: 'llm.req', op, model: MODEL, reqHash, attempt: 1, estimate: tokens, at: 0 };
  remember(memory, text === null ? event : { ...event, facts: text }, null);
  return RENDER[api](buildRequest({ ...parts, maxOutputTokens, history: memory.history })).length;
}

function addStepAndBuild(memory: SessionMemory, api: Api): number {
  for (const event of stepOf(MESSAGES)) remember(memory, event, null);
  return build(memory, api);
}

/** A session with as many messages as told, folded from its journal. */
function longSession(): SessionMemory {
  const memory = emptyMemory('s');
  remember(memory, { type: 'session.opened', sid: 's', root: '/p', cwd: '/p', instructions: '', at: 0 }, null);
  remember(
    memory,
    {
      type: 'msg.start',
      seq: 1,
      mid: 'm',
      mode: 'edit',
      body: { inline: 'Go through all of it.' },
      model: MODEL,
      smallModel: MODEL,
      limits: { maxSteps: MESSAGES },
      at: 0,
    },
    null,
  );
  for (let turn = 1; memory.history.messages.length < MESSAGES; turn++) {
    for (const event of stepOf(turn)) remember(memory, event, null);
  }
  return memory;
}

/** An answer that thinks, says something and reads a file, and the file. */
function stepOf(turn: number): readonly JournalEvent[] {
  const op = opId(1, turn, 0);
  const callId = `call-${turn}`;
  const line = `export const value${turn} = compute(${turn}, "some text", { option: ${turn % 7} });\n`;
  const block = { type: 'thinking', thinking: 'Hm.', signature: 's'.repeat(400) };
  const tokens = 1_000 + 700 * turn;
  return [
    { type: 'llm.req', op, model: MODEL, reqHash: 'h', attempt: 1, estimate: tokens, at: 0 },
    {
      type: 'llm.res',
      op,
      parts: {
        inline: [
          { type: 'thinking', text: 'Hm.', opaque: sealed('anthropic', 'none', block) },
          { type: 'text', text: `I read file ${turn} now.` },
          { type: 'tool_call', callId, name: 'ReadFile', rawArgs: `{"file_path":"src/file-${turn % 60}.ts"}` },
        ],
      },
      calls: [{ op: opId(1, turn, 1), callId, name: 'ReadFile', argsHash: 'h' }],
      stop: 'tool_calls',
      usage: { input: tokens, output: 50, cacheRead: 0, cacheWrite: 0 },
      model: 'gpt-bench',
      at: 0,
    },
    {
      type: 'tool.done',
      op: opId(1, turn, 1),
      callId,
      name: 'ReadFile',
      kind: 'ok',
      text: { inline: line.repeat(Math.ceil(RESULT_CHARS / line.length)) },
      description: 'Read a file',
      affectedFiles: [],
      resultHash: 'h',
      durationMs: 1,
      at: 0,
    },
  ];
}

/** From the last byte of the model's answer to the arrival of the next request. */
async function timeParallelSteps(rounds: number): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'odin-bench-context-'));
  for (let n = 0; n < TOOLS; n++) writeFileSync(join(folder, `f${n}.txt`), `file ${n}\n`);
  const answeredAt: bigint[] = [];
  const calls = Array.from({ length: TOOLS }, (_, n) => ({ name: 'ReadFile', args: { file_path: `f${n}.txt` } }));
  const steps = STEPS * Math.max(1, rounds);
  const server = await startScriptedServer({
    script: ({ requestIndex }) =>
      requestIndex < steps ? { text: `Step ${requestIndex}.`, toolCalls: calls } : { text: 'Done.' },
    onAnswered: () => void answeredAt.push(process.hrtime.bigint()),
    keepBodies: false,
  });
  try {
    const env = { ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: server.url };
    const models = await chooseModel({ flagModel: 'anthropic/scripted', flagSmallModel: 'anthropic/small', env });
    if (!models.ok) throw new Error(models.failure.message);
    let run = 0;
    const odin = await openOdin({
      cwd: folder,
      home: join(folder, 'home'),
      models: models.value,
      middleware: [
        {
          name: 'slow',
          async around(_call, next) {
            await sleep(TOOL_MS);
            run += 1;
            const outcome = await next();
            // Never the same result twice: repeated steps would end the message.
            return outcome.ok
              ? { ok: true, value: { ...outcome.value, text: `${run} ${outcome.value.text}` } }
              : outcome;
          },
        },
      ],
    });
    const sid = odin.newSession();
    const stop = new AbortController();
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    await odin.submit(sid, { mode: 'ask', body: 'Read them.', limits: { maxSteps: steps + 1 } });
    for await (const event of stream) if (event.type === 'AgentDone') stop.abort();
    await odin.close();
    const { requests } = server;
    if (requests.length !== steps + 1 || run !== steps * TOOLS)
      throw new Error(`${requests.length} requests, ${run} calls`);
    return requests.slice(1).map(({ arrivedAt }, at) => Number(arrivedAt - (answeredAt[at] as bigint)) / 1e6);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timeTimers(): Promise<number> {
  const from = performance.now();
  await Promise.all(Array.from({ length: TOOLS }, () => sleep(TOOL_MS)));
  return performance.now() - from;
}

function timed(run: () => unknown): number {
  const from = performance.now();
  run();
  return performance.now() - from;
}
