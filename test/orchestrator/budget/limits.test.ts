// The limits of a message through whole turns: a scripted model with real usage, the journal, the machines.

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { UserError } from '../../../shared/outcome.ts';
import { tokensIn } from '../../../shared/spending.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { withEnoughTime } from '../../support/enough-time.ts';
import { only, withWorld } from '../../support/odin-world.ts';

/** Reads one part of a file after the other and never comes to an end. */
const readsOn = (turn: ScriptedTurn): ScriptedAnswer => ({
  text: `Step ${turn.stepOfMessage}.`,
  toolCalls: [
    { name: 'ReadFile', args: { file_path: `f${turn.stepOfMessage % 5}.txt`, offset: turn.stepOfMessage + 1 } },
  ],
});

const files = Object.fromEntries(
  Array.from({ length: 5 }, (_, i) => [`f${i}.txt`, `line of file ${i}\n`.repeat(200)] as const),
);

/** USD per million tokens that are easy to follow. */
const PRICED = { models: { 'anthropic/scripted': { price: [1, 1] }, 'anthropic/small': { price: [1, 1] } } } as const;

const callsOf = (events: readonly StreamEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'Usage' ? [event.usage.input + event.usage.output] : []));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test('E7 O2: a budget in tokens stops the message, says how much was used and overshoots by less than one call', async () => {
  await withWorld({ script: readsOn, files }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const limits = { tokens: 60_000, maxSteps: 100 };
    const events = await world.ask(odin, sid, { mode: 'ask', body: 'read on', limits });
    const done = only(events, 'AgentDone');
    expect(done.status).toBe('budget');
    expect(only(events, 'LimitReached').limit).toBe('tokens');
    expect(only(events, 'AgentError').code).toBe('budget_tokens');
    expect(done.answer).toMatch(
      /Stopped: the budget of 60,000 tokens for this message is spent: .*used.*--budget-tokens 60000/,
    );
    const calls = callsOf(events);
    expect(sum(calls)).toBeGreaterThanOrEqual(60_000);
    expect(sum(calls)).toBeLessThan(60_000 + Math.max(...calls));
    expect(done.spending).toMatchObject([{ model: 'anthropic/scripted', calls: calls.length, estimated: false }]);
    expect(world.logged).toEqual([]);
  });
});

test('E7 O2: a budget in money stops the message, and the session goes on with a new one', async () => {
  let hasBudget = false;
  const script = (turn: ScriptedTurn): ScriptedAnswer => (hasBudget ? { text: 'Done.' } : readsOn(turn));
  await withWorld({ script, files, userConfig: PRICED }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const limits = { usd: 0.05, maxSteps: 100 };
    const first = await world.ask(odin, sid, { mode: 'ask', body: 'read on', limits });
    const done = only(first, 'AgentDone');
    expect(done.status).toBe('budget');
    expect(done.answer).toMatch(/the budget of \$0\.05 for this message is spent: \$0\.0\d+ and [\d,]+ tokens used/);
    expect(done.costUsd).toBeCloseTo(sum(callsOf(first)) / 1e6, 9);
    const before = world.server.requests.length;
    hasBudget = true;
    const second = only(await world.ask(odin, sid, { mode: 'ask', body: 'go on', limits }), 'AgentDone');
    expect(second).toMatchObject({ status: 'completed', answer: 'Done.' });
    expect(world.server.requests[before]?.body).toContain('read on');
    expect((await odin.state(sid)).messages.map(({ status }) => status)).toEqual(['budget', 'completed']);
  });
});

test('E7: where a whole answer no longer fits the budget, it is asked to be shorter', async () => {
  await withWorld({ script: () => ({ text: 'short' }) }, async (world) => {
    const odin = await world.open();
    const ask = (tokens: number) =>
      world.ask(odin, odin.newSession(), { mode: 'ask', body: 'hi', limits: { tokens, maxSteps: 5 } });
    await ask(1_000_000);
    await ask(9_000);
    await ask(10);
    const [whole = 0, shorter = 0, least] = world.server.requests.map(
      ({ body }) => JSON.parse(body).max_tokens as number,
    );
    expect(whole).toBe(8_192);
    expect(shorter).toBeLessThan(whole);
    expect(shorter).toBeGreaterThan(1_024);
    expect(least).toBe(1_024);
  });
});

test('E7 O2 E11: the time for a message runs out in the middle of a tool, which is cancelled', async () => {
  const script = (): ScriptedAnswer => ({
    toolCalls: [{ name: 'ExecuteCommand', args: { command: 'sleep 60', description: 'waits' } }],
  });
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ permission: { mode: 'deny', timeoutMs: null, allow: ['sleep'] } });
    // So long that the tool has begun by then.
    const events = await withEnoughTime(1_500, async (timeoutMs) => {
      const limits = { timeoutMs, maxSteps: 5 };
      const seen = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'wait', limits });
      return seen.some(({ type }) => type === 'ToolCallStart') ? seen : undefined;
    });
    expect(only(events, 'LimitReached').limit).toBe('time');
    expect(only(events, 'ToolCallEnd').status).toBe('cancelled');
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'budget', steps: 1 });
    expect(only(events, 'AgentDone').answer).toContain('--timeout');
  });
});

test('E7: the budget of a session holds over its messages', async () => {
  const userConfig = { ...PRICED, budget: { sessionUsd: 0.012 } };
  await withWorld({ script: () => ({ text: 'Here.' }), userConfig }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const ends: string[] = [];
    for (let i = 0; i < 8 && !ends.includes('budget'); i++) {
      ends.push(only(await world.ask(odin, sid, { mode: 'ask', body: `question ${i}` }), 'AgentDone').status);
    }
    expect(ends.length).toBeGreaterThan(1);
    expect(ends.at(-1)).toBe('budget');
    const [last] = (await odin.state(sid)).messages.slice(-1);
    expect(last?.answerSummary).toContain('raise budget.sessionUsd');
    expect(only(await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'new' }), 'AgentDone').status).toBe(
      'completed',
    );
  });
});

test('E7: money without a known price is refused when the message is sent, with what to do', async () => {
  await withWorld({ script: () => ({ text: 'never' }) }, async (world) => {
    const odin = await world.open();
    const submit = odin.submit(odin.newSession(), { mode: 'ask', body: 'hi', limits: { usd: 1 } });
    await expect(submit).rejects.toThrow(UserError);
    await expect(submit).rejects.toThrow(
      /anthropic\/scripted and anthropic\/small is not known\. Use a budget in tokens/,
    );
    expect(world.server.requests).toHaveLength(0);
  });
});

test('E7: a fallback model without a price ends a message that has a budget in money', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.model === 'scripted' ? { fault: 'http_401' } : { text: 'never' };
  await withWorld({ script, userConfig: PRICED }, async (world) => {
    const odin = await world.open();
    const submit = { mode: 'ask', body: 'hi', limits: { usd: 1 }, fallbackModels: ['anthropic/unpriced'] } as const;
    const done = only(await world.ask(odin, odin.newSession(), submit), 'AgentDone');
    expect(done.status).toBe('budget');
    expect(done.answer).toContain('the price of anthropic/unpriced is not known');
    expect(world.server.requests).toHaveLength(1);
  });
});

test('E7: from 80 % on the planner is told, once', async () => {
  const told: string[] = [];
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    const lines = turn.messagesText.match(/budget: \d+ % of [\d,]+ tokens used/g) ?? [];
    told.push(lines.join('|'));
    return readsOn(turn);
  };
  await withWorld({ script, files }, async (world) => {
    const odin = await world.open();
    const limits = { tokens: 120_000, maxSteps: 100 };
    await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'read on', limits });
  });
  expect(told[0]).toBe('');
  expect(told.at(-1)).toMatch(/^budget: [89]\d % of 120,000 tokens used$/);
});

test('E7 E16: a message that is resumed after its process went has the budget that was left, and lost calls count', async () => {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (turn.requestIndex === 4) {
      reached.resolve();
      await gate.promise;
    }
    return readsOn(turn);
  };
  await withWorld({ script, files }, async (world) => {
    const first = await world.open();
    const sid = first.newSession();
    await first.submit(sid, { mode: 'ask', body: 'read on', limits: { tokens: 60_000, maxSteps: 100 } });
    await reached.promise;
    await first.close();
    gate.resolve();
    const second = await world.open();
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    for await (const event of second.follow(sid, { from: '0', signal: stop.signal })) {
      events.push(event);
      if (event.type === 'AgentDone') stop.abort();
    }
    const done = only(events, 'AgentDone');
    expect(done.status).toBe('budget');
    const calls = callsOf(events);
    const [message] = (await second.state(sid)).messages;
    const spent = tokensIn(message?.spending ?? {});
    // That of the first process is lost, and on a slow machine perhaps one more.
    let asked = 0;
    for await (const { event } of second.export(sid) as AsyncIterable<{ event?: { type: string } }>) {
      if (event?.type === 'llm.req') asked += 1;
    }
    expect(asked).toBeGreaterThan(calls.length);
    expect(done.spending).toMatchObject([{ calls: asked, estimated: true }]);
    expect(spent).toBeGreaterThan(sum(calls));
    expect(spent).toBeGreaterThanOrEqual(60_000);
    expect(spent).toBeLessThan(60_000 + Math.max(...calls));
  });
});

test('E7: a server that counts nothing is not free: its tokens are estimated, and said to be', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => ({ ...readsOn(turn), fault: 'no_usage' });
  await withWorld({ script, files }, async (world) => {
    const odin = await world.open();
    const limits = { tokens: 60_000, maxSteps: 100 };
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'read on', limits });
    const done = only(events, 'AgentDone');
    expect(done.status).toBe('budget');
    expect(done.spending.every(({ estimated }) => estimated)).toBe(true);
    for (const event of events) if (event.type === 'Usage') expect(event).toMatchObject({ estimated: true });
    expect(Math.min(...callsOf(events))).toBeGreaterThan(1_000);
  });
});
