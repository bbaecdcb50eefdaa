// Tool middleware: around real tools in whole turns, and its clockwork with a clock of the test's own.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import * as z from 'zod';
import type { ScriptedCall, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { rateLimit } from '../../../orchestrator/middleware/rate-limit.ts';
import { type ChangeCount, countChanges, resultCache } from '../../../orchestrator/middleware/result-cache.ts';
import { type ToolMiddleware, wrapTool } from '../../../orchestrator/middleware/tool-middleware.ts';
import { defineTool, type Tool, type ToolContext, type ToolEffect } from '../../../shared/define-tool.ts';
import { fail, ok } from '../../../shared/outcome.ts';
import { only, withWorld } from '../../support/odin-world.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

/** One call a step. */
const oneByOne =
  (...calls: readonly ScriptedCall[]) =>
  ({ stepOfMessage, lastToolResults }: ScriptedTurn) => {
    const call = calls[stepOfMessage];
    return call ? { toolCalls: [call] } : { text: lastToolResults.map(({ text }) => text).join() };
  };

const glob: ScriptedCall = { name: 'Glob', args: { pattern: '**/*.txt' } };
const write = (file_path: string): ScriptedCall => ({ name: 'WriteFile', args: { file_path, content: 'x\n' } });

test('E17: with cacheMs the same Glob is answered from the cache until something is written or run; other tools and arguments are not', async () => {
  const ls: ScriptedCall = { name: 'ExecuteCommand', args: { command: 'true' } };
  const script = oneByOne(glob, glob, write('b.txt'), glob, glob, ls, glob);
  const userConfig = { tools: { Glob: { cacheMs: 3_600_000 } } };
  await withWorld({ script, userConfig, files: { 'a.txt': 'a\n' } }, async (world) => {
    const ran: string[] = [];
    const outside: ToolMiddleware = {
      name: 'outside',
      async around({ tool }, next) {
        const outcome = await next();
        ran.push(`${tool.name} ${outcome.ok ? outcome.value.description : ''}`);
        return outcome;
      },
    };
    const odin = await world.open({ middleware: [outside] });
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'edit', body: 'look' });
    const globs = ran.filter((line) => line.startsWith('Glob'));
    expect(globs.map((line) => line.endsWith('(as before)'))).toEqual([false, true, false, true, false]);
    expect(globs[2]).toContain('2 files');
    expect(only(events, 'AgentDone').answer).toContain('b.txt');
    // What the user did between two messages is seen.
    writeFileSync(join(world.project, 'c.txt'), 'c\n');
    await world.ask(odin, sid, { mode: 'ask', body: 'look' });
    expect(ran.filter((line) => line.startsWith('Glob'))[5]).toContain('3 files');
  });
});

test('E17: a rate limit of the settings refuses what would have to wait too long, by name and with the time; the gate comes before it', async () => {
  const script = oneByOne(write('a.txt'), write('b.txt'), write('/etc/odin-test'), { name: 'LS', args: { path: '.' } });
  const userConfig = { tools: { WriteFile: { rateLimit: { calls: 1, perSeconds: 3_600 } } } };
  await withWorld({ script, userConfig }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'write' });
    const results = events.flatMap((event) => (event.type === 'ToolResult' ? [event] : []));
    expect(results.map(({ status }) => status)).toEqual(['ok', 'refused', 'refused', 'ok']);
    expect(results[1]?.text).toMatch(/^The settings allow 1 calls of WriteFile in 3600 s, .* Try again in 3600 s/);
    expect(results[2]?.text).toMatch(/Nobody is here to allow it/);
    expect(results[3]?.text).not.toContain('b.txt');
  });
});

test('E17: middleware in code goes before, after or in place of a tool, the first outermost; what breaks is called by its name', async () => {
  const order: string[] = [];
  const tracing = (name: string): ToolMiddleware => ({
    name,
    async around(_call, next) {
      order.push(`${name} before`);
      const outcome = await next();
      order.push(`${name} after`);
      return outcome.ok ? ok({ ...outcome.value, text: `${outcome.value.text} ${name}` }) : outcome;
    },
  });
  const closed: ToolMiddleware = {
    name: 'closed',
    around: async ({ tool }, next) => (tool.name === 'Glob' ? fail('refused', 'closed', 'Closed today.') : next()),
  };
  const broken: ToolMiddleware = {
    name: 'broken',
    async around({ tool }, next) {
      if (tool.name === 'ReadFile') throw new Error('no idea');
      return next();
    },
  };
  const calls: readonly ScriptedCall[] = [
    { name: 'LS', args: { path: '.' } },
    glob,
    { name: 'ReadFile', args: { file_path: 'ODIN.md' } },
  ];
  await withWorld({ script: oneByOne(...calls) }, async (world) => {
    const odin = await world.open({ middleware: [tracing('one'), tracing('two'), closed, broken] });
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'look' });
    const [ls, found, read] = events.flatMap((event) => (event.type === 'ToolResult' ? [event] : []));
    expect(order.slice(0, 4)).toEqual(['one before', 'two before', 'two after', 'one after']);
    expect(ls?.text).toMatch(/ two one$/);
    expect(found).toMatchObject({ status: 'refused', text: 'Closed today.' });
    expect(read).toMatchObject({ status: 'failed', text: 'The middleware "broken" around ReadFile broke: no idea.' });
    const alone = await odin.runTool('LS', { path: '.' }, 'ask', new AbortController().signal);
    expect(alone.ok && alone.value.text).toMatch(/ two one$/);
  });
});

/** A tool that counts its executions, wrapped; its calls run at once. */
function counted(list: readonly ToolMiddleware[], effect: ToolEffect = 'read', reads = true) {
  const state = { runs: 0, background: false, reports: [] as string[] };
  const tool: Tool = defineTool({
    ...{ name: 'Count', version: '1', description: 'Counts.', schema: z.strictObject({ n: z.number() }), effect },
    touches: () => (reads ? [{ path: '/project/a', access: 'read' }] : []),
    execute: async ({ n }) => ok({ text: `${n} ${++state.runs}`, description: 'counted' }),
  });
  const wrapped = wrapTool(tool, list);
  const call = async (n: number, signal = new AbortController().signal) => {
    const parsed = wrapped.parse(JSON.stringify({ n }));
    if (!parsed.ok) throw new Error(parsed.failure.message);
    // What the middleware reaches of a context.
    const context = {
      ...{ root: '/project', mode: 'ask', signal, report: (text: string) => void state.reports.push(text) },
      exec: { list: () => [{ running: state.background }] },
    } as unknown as ToolContext;
    const outcome = await parsed.value.run(context);
    return outcome.ok ? outcome.value.text : outcome.failure.code;
  };
  return { call, state, tool, wrapped };
}

/** Time that passes when somebody waits for it. */
function testClock() {
  const clock = { at: 0, now: () => clock.at, wait: async (ms: number) => void (clock.at += ms) };
  return clock;
}

test('E17: a rate limit lets no more through than it says, in any window, whenever they come; waiting is shown', async () => {
  const random = randomFrom(printedSeed('rate limit'));
  for (let round = 0; round < 50; round++) {
    const clock = testClock();
    const [calls, perSeconds] = [1 + random(5), 1 + random(10)];
    const started: number[] = [];
    const watch: ToolMiddleware = { name: 'watch', around: (_, next) => (started.push(clock.at), next()) };
    const { call, state } = counted([rateLimit({ calls, perSeconds }, clock), watch]);
    for (let i = 0; i < 40; i++) {
      clock.at += random(2_000);
      expect(await call(i)).toBe(`${i} ${i + 1}`);
    }
    for (const at of started) {
      expect(started.filter((other) => other >= at && other < at + perSeconds * 1000).length).toBeLessThanOrEqual(
        calls,
      );
    }
    for (const line of state.reports) expect(line).toMatch(/^Count waits \d+ s: at most \d calls in \d+ s$/);
  }
});

test('E17 E11: a call that waits for its turn can be cancelled, and its place is free again', async () => {
  const { call, state } = counted([rateLimit({ calls: 1, perSeconds: 20 })]);
  await call(1);
  const stop = new AbortController();
  const waiting = call(2, stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  expect(state).toMatchObject({ runs: 1, reports: ['Count waits 20 s: at most 1 calls in 20 s'] });
  // Were its place taken still, this one would have to wait for 40 s and be refused.
  const next = new AbortController();
  const third = call(3, next.signal);
  next.abort();
  await expect(third).rejects.toMatchObject({ name: 'AbortError' });
});

test('E17: the cache keeps good results for their time and forgets those that hang on files when something changes', async () => {
  const clock = testClock();
  const changes: ChangeCount = { count: 0, open: 0 };
  const cache = () => resultCache(() => 1_000, changes, clock.now);
  const onFiles = counted([cache()]);
  expect([await onFiles.call(1), await onFiles.call(1), await onFiles.call(2)]).toEqual(['1 1', '1 1', '2 2']);
  clock.at += 1_000;
  expect(await onFiles.call(1)).toBe('1 3');
  changes.count += 1;
  expect([await onFiles.call(1), await onFiles.call(1)]).toEqual(['1 4', '1 4']);
  onFiles.state.background = true;
  expect([await onFiles.call(1), await onFiles.call(1)]).toEqual(['1 5', '1 6']);
  const onWeb = counted([cache()], 'read', false);
  onWeb.state.background = true;
  expect(await onWeb.call(1)).toBe('1 1');
  changes.count += 1;
  expect(await onWeb.call(1)).toBe('1 1');
  const writing = counted([countChanges(changes), cache()], 'write');
  expect([await writing.call(1), await writing.call(1)]).toEqual(['1 1', '1 2']);
  expect(changes).toEqual({ count: 6, open: 0 });
});

test('E17: a result that came while something was being written is not kept', async () => {
  const changes: ChangeCount = { count: 0, open: 0 };
  const writes: ToolMiddleware = {
    name: 'meanwhile',
    async around(_call, next) {
      changes.count += 1;
      return next();
    },
  };
  const { call } = counted([
    resultCache(
      () => 1_000,
      changes,
      () => 0,
    ),
    writes,
  ]);
  expect([await call(1), await call(1)]).toEqual(['1 1', '1 2']);
  changes.open = 1;
  expect([await call(1), await call(1)]).toEqual(['1 3', '1 4']);
});

test('E17: without middleware a tool is itself; with it, name, schema and gate are the same', () => {
  const { tool, wrapped } = counted([{ name: 'x', around: (_, next) => next() }]);
  expect(wrapTool(tool, [])).toBe(tool);
  expect(wrapped).toMatchObject({ name: 'Count', inputSchema: tool.inputSchema, timeoutMs: tool.timeoutMs });
  expect(wrapped.parse('{"n":"x"}')).toMatchObject({ ok: false, failure: { code: 'bad_arguments' } });
});
