// Compaction in whole turns: a real Odin, a real journal, a scripted model that counts what it is sent.

import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import type { Script, ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { startCli } from '../cli/run-cli.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

const WINDOW = 128_000;
const TASK = 'Where does the memory leak?';

/** 39,000 characters: about as much as a tool gives at most, some 12,000 tokens. */
const bigFile = (n: number) =>
  Array.from({ length: 880 }, (_, line) => `file ${n} line ${line}: const value${line} = ${line * n};`).join('\n');
const FILES = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`big-${n}.txt`, bigFile(n)]));
const read = (...numbers: readonly number[]): ScriptedAnswer => ({
  toolCalls: numbers.map((n) => ({ name: 'ReadFile', args: { file_path: `big-${n % 16}.txt` } })),
});

const TODOS = [
  { id: '1', content: 'Find the root of the leak', status: 'in_progress' },
  { id: '2', content: 'Ask the user about Windows', status: 'pending' },
];

/** Sets todos, reads one file a step, answers. The lesser model is asked for summaries alone. */
const reader = (steps: number, summary: Script = () => ({ text: 'SUMMARY: the files hold constants.' })): Script => {
  let step = 0;
  return (turn) => {
    if (isSmall(turn)) return summary(turn);
    step += 1;
    if (step === 1) return { toolCalls: [{ name: 'TodoWrite', args: { todos: TODOS } }] };
    return step <= steps ? read(step) : { text: 'All read.' };
  };
};
const isSmall = ({ model }: ScriptedTurn) => model === 'small';
const summarising = (n = 4) => ({
  'odinconfig.json': JSON.stringify({ context: { processors: [{ use: 'summarizeOlderThanN', n }] } }),
});

const bodies = (world: World, model = 'scripted') =>
  world.server.requests.map(({ body }) => body).filter((body) => JSON.parse(body).model === model);
const tokensOf = (body: string) => Math.ceil(Buffer.byteLength(body) / 4);
const ofType = <T extends StreamEvent['type']>(events: readonly StreamEvent[], type: T) =>
  events.filter((event): event is Extract<StreamEvent, { type: T }> => event.type === type);
const ask = { mode: 'ask', body: TASK, limits: { maxSteps: 60 } } as const;

test('O21, E4: a long run is compacted before the window is full, and todos and cached files are told anew', async () => {
  await withWorld({ script: reader(24), files: FILES }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), ask);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'All read.' });

    const asked = bodies(world);
    for (const body of asked) expect(tokensOf(body)).toBeLessThan(WINDOW);
    const full = ofType(events, 'ContextFull');
    const done = ofType(events, 'ContextCompacted');
    expect(full.length).toBeGreaterThan(0);
    expect(done).toHaveLength(full.length);
    expect(full[0]).toMatchObject({ why: 'window', window: WINDOW });
    for (const { tokensAfter } of done) expect(tokensAfter).toBeLessThan(WINDOW * 0.6);

    const shorter = asked.find((body, at) => tokensOf(body) < tokensOf(asked[at - 1] ?? '')) ?? '';
    const [task] = JSON.parse(shorter).messages;
    expect(JSON.stringify(task)).toContain(TASK);
    const facts = JSON.stringify(JSON.parse(shorter).messages.at(-1));
    for (const { content } of TODOS) expect(facts).toContain(content);
    expect(facts).toContain('cached: big-');
  });
});

test('O21, O3: older messages become a summary of the lesser model, which the next summary builds on; the user’s words stay', async () => {
  let count = 0;
  const summary = () => {
    count += 1;
    return { text: `SUMMARY ${count}: constants only.` };
  };
  await withWorld({ script: reader(24, summary), files: { ...FILES, ...summarising() } }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), ask);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'All read.' });
    const done = ofType(events, 'ContextCompacted');
    expect(done.length).toBeGreaterThan(1);
    for (const { processors, replaced } of done) {
      expect(processors).toEqual(['summarizeOlderThanN']);
      expect(replaced).toBeGreaterThan(4);
    }
    const last = JSON.parse(bodies(world).at(-1) ?? '');
    const opening = String(last.messages[0].content[0].text);
    expect(opening).toContain(`<odin-summary>\nSUMMARY ${count}: constants only.\n</odin-summary>`);
    expect(opening).toContain(`that you are working on:\n${TASK}`);
    expect(
      bodies(world, 'small')
        .at(-1)
        ?.includes(`came before\\nSUMMARY ${count - 1}: constants only.`),
    ).toBe(true);
    expect(ofType(events, 'AuxUsage').map(({ purpose }) => purpose)).toEqual(Array(count).fill('summary'));
  });
});

test('E4: a summary that fails is told, and the results are cut instead: the run goes on', async () => {
  const script = reader(16, () => ({ fault: 'http_401' }));
  await withWorld({ script, files: { ...FILES, ...summarising() } }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), ask);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'All read.' });
    expect(ofType(events, 'ToolProgress').map(({ text }) => text)).toContainEqual(
      expect.stringContaining('No summary of the older messages'),
    );
    for (const body of bodies(world)) expect(tokensOf(body)).toBeLessThan(WINDOW);
  });
});

test('E4: one step whose results fill the window alone is cut until it fits', async () => {
  let step = 0;
  const script: Script = (turn) => {
    if (isSmall(turn)) return { text: 'SUMMARY' };
    step += 1;
    return step === 1 ? read(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) : { text: 'Seen.' };
  };
  await withWorld({ script, files: FILES }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), ask);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'Seen.' });
    expect(only(events, 'ContextCompacted').processors).toContain('cutToFit');
    const [, second = ''] = bodies(world);
    expect(tokensOf(second)).toBeLessThan(WINDOW * 0.6);
    for (let n = 0; n < 12; n++) expect(second).toContain(`file ${n} line 0:`);
  });
});

test('O21: ContextSummarizer compacts before the next step, with its focus, and once', async () => {
  let step = 0;
  const script: Script = (turn) => {
    if (isSmall(turn)) return { text: 'SUMMARY: value7 is the one.' };
    step += 1;
    if (step <= 8) return read(step);
    return step === 9
      ? { toolCalls: [{ name: 'ContextSummarizer', args: { focus: 'value7' } }] }
      : step === 10
        ? read(10)
        : { text: 'Done.' };
  };
  await withWorld({ script, files: FILES }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), ask);
    expect(only(events, 'ContextFull').why).toBe('asked');
    expect(only(events, 'ContextCompacted')).toMatchObject({
      why: 'asked',
      processors: expect.arrayContaining(['summarizeOlderThanN']),
    });
    expect(bodies(world, 'small')[0]).toContain('about this in particular: value7');
    const asked = bodies(world);
    expect(asked[9]).toContain('SUMMARY: value7 is the one.');
    expect(asked[9]).toContain('The older messages are summarised before your next step, with this in mind: value7');
    expect(asked).toHaveLength(11);
  });
});

test('E9, O21: what a provider refuses as too long is made much smaller and asked again; a smaller window is remembered', async () => {
  const refusesAbove = 40_000;
  let refused = 0;
  const steps = reader(14);
  const script: Script = (turn) => {
    if (!isSmall(turn) && tokensOf(JSON.stringify(turn.body)) > refusesAbove) {
      refused += 1;
      return { fault: 'http_400_context' };
    }
    return steps(turn);
  };
  await withWorld({ script, files: FILES }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), ask);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'All read.' });
    // Refused once; from then on it is compacted before it gets there.
    expect(refused).toBe(1);
    const done = ofType(events, 'ContextCompacted');
    expect(done[0]?.why).toBe('too_long');
    expect(done.slice(1).every(({ why }) => why === 'window')).toBe(true);
    const asked = bodies(world).map(tokensOf);
    const at = asked.findIndex((tokens) => tokens > refusesAbove);
    expect(asked[at + 1]).toBeLessThan(0.55 * (asked[at] ?? 0));
  });
});

test('O2, O21: what never fits ends the message with what to do, and the session goes on', async () => {
  let refuses = true;
  const script: Script = (turn) => {
    if (isSmall(turn)) return { text: 'SUMMARY' };
    return refuses ? { fault: 'http_400_context' } : { text: 'Here I am.' };
  };
  await withWorld({ script, files: FILES }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const first = await world.ask(odin, sid, ask);
    expect(only(first, 'AgentDone').status).toBe('planner_failure');
    expect(only(first, 'AgentError')).toMatchObject({
      code: 'context_too_long',
      message: expect.stringContaining('take a model with a larger window (--model)'),
    });
    refuses = false;
    expect(only(await world.ask(odin, sid, ask), 'AgentDone')).toMatchObject({ answer: 'Here I am.' });
  });
});

test('O21: the user’s own message is cut only when nothing else is left, also in a script of one token a character', async () => {
  const script: Script = (turn) => (isSmall(turn) ? { text: 'SUMMARY' } : { text: 'Understood.' });
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const body = `Read this.\n${'説明書の本文です。'.repeat(20_000)}\nAnd say what it is about.`;
    const events = await world.ask(odin, sid, { mode: 'ask', body });
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'Understood.' });
    expect(only(events, 'ContextCompacted').processors).toEqual(['cutToFit']);
    const [first = ''] = bodies(world);
    expect(tokensOf(first)).toBeLessThan(WINDOW);
    expect(first.includes('Read this.') && first.includes('And say what it is about.')).toBe(true);
    // It stays in the state whole, and the next compaction has it from there.
    expect((await odin.state(sid)).messages[0]?.body).toBe(body);
  });
});

test('E11: a cancel while the lesser model summarises ends the message at once', async () => {
  const waiting = Promise.withResolvers<void>();
  const script = reader(24, async () => {
    waiting.resolve();
    return { text: 'half', fault: 'stall' };
  });
  await withWorld({ script, files: { ...FILES, ...summarising() } }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const ended = world.ask(odin, sid, ask);
    await waiting.promise;
    await odin.cancel(sid, 'test');
    const events = await ended;
    expect(only(events, 'AgentDone').status).toBe('cancelled');
    expect(ofType(events, 'ContextCompacted')).toHaveLength(0);
  });
});

test('O21, E14: kill -9 in the middle of a compaction: the next process compacts, and no call is made twice', async () => {
  const summaries: ScriptedTurn[] = [];
  const waiting = Promise.withResolvers<void>();
  const dead = Promise.withResolvers<void>();
  const script = reader(14, async (turn) => {
    summaries.push(turn);
    if (summaries.length === 1) {
      waiting.resolve();
      await dead.promise;
    }
    return { text: 'SUMMARY: constants.' };
  });
  await withWorld({ script, files: { ...FILES, ...summarising() } }, async (world) => {
    const env = {
      ODIN_HOME: world.home,
      ANTHROPIC_API_KEY: 'test-key-of-no-use',
      ANTHROPIC_BASE_URL: world.server.url,
    };
    const models = ['--model', 'anthropic/scripted', '--small-model', 'anthropic/small'];
    const first = startCli(['run', TASK, ...models, '--max-steps', '60'], { cwd: world.project, env });
    await Promise.race([waiting.promise, first.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    const before = bodies(world).length;
    dead.resolve();

    const odin = await world.open();
    const sid = (await odin.lastSession()) ?? '';
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    for await (const event of odin.follow(sid, { signal: stop.signal })) {
      events.push(event);
      if (event.type === 'AgentDone') stop.abort();
    }
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'All read.' });
    expect(ofType(events, 'ContextFull').length).toBe(ofType(events, 'ContextCompacted').length);
    expect(summaries.length).toBeGreaterThan(1);
    expect(ofType(events, 'ToolResult').map(({ op }) => op)).toHaveLength(14);
    expect(new Set(ofType(events, 'ToolResult').map(({ op }) => op)).size).toBe(14);
    const resumed = bodies(world)[before] ?? '';
    expect(resumed).toContain('SUMMARY: constants.');
    for (const { content } of TODOS) expect(resumed).toContain(content);
  });
});
