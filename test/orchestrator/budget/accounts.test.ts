// Who was asked and what it cost, by model: the server's own record against the accounts (SPEC O3, E16).

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { workedMs } from '../../../orchestrator/budget/worked-time.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import { only, withWorld } from '../../support/odin-world.ts';

const files = { 'long.ts': Array.from({ length: 400 }, (_, i) => `const line${i + 1} = ${i + 1};\n`).join('') };

/** Reads a part of a file and edits in it, which the lesser model has to judge, then answers. */
const editsInPart = (turn: ScriptedTurn): ScriptedAnswer => {
  if (turn.model === 'small') return { text: '{"sufficient": true, "reason": "", "ranges": []}' };
  if (turn.stepOfMessage === 0)
    return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'long.ts', offset: 100, limit: 20 } }] };
  if (turn.stepOfMessage === 1) {
    const edit = { file_path: 'long.ts', old_string: 'line110 = 110', new_string: 'line110 = 111' };
    return { toolCalls: [{ name: 'EditTool', args: edit }] };
  }
  return { text: 'Edited.' };
};

test('O3 E16: the planner plans and nothing else, the lesser model does the rest, and each call is in the accounts of its model', async () => {
  const userConfig = { models: { 'anthropic/scripted': { price: [2, 10] }, 'anthropic/small': { price: [0.1, 0.5] } } };
  await withWorld({ script: editsInPart, files, userConfig }, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'edit', body: 'correct line 110' });
    const done = only(events, 'AgentDone');
    expect(done.status).toBe('completed');
    const asked = world.server.requests.map(({ body }) => JSON.parse(body) as { model: string; tools?: unknown[] });
    const of = (model: string) => asked.filter((request) => request.model === model);
    expect([of('scripted').length, of('small').length]).toEqual([3, 1]);
    expect(of('scripted').every(({ tools }) => (tools?.length ?? 0) > 0)).toBe(true);
    expect(of('small').every(({ tools }) => (tools?.length ?? 0) === 0)).toBe(true);
    const check = only(events, 'AuxUsage');
    expect(check).toMatchObject({ purpose: 'edit_check', model: 'anthropic/small', estimated: false });
    expect(done.spending.map(({ model, calls }) => [model, calls])).toEqual([
      ['anthropic/scripted', 3],
      ['anthropic/small', 1],
    ]);
    const steps = events.flatMap((event) => (event.type === 'Usage' ? [event.costUsd ?? Number.NaN] : []));
    const cost = steps.reduce((sum, usd) => sum + usd, check.costUsd ?? Number.NaN);
    expect(done.costUsd).toBeCloseTo(cost, 9);
    const { spending } = await odin.state(sid);
    expect(odin.rates.costOf(spending)).toBeCloseTo(cost, 9);
    expect(spending['anthropic/small']?.usage).toEqual(check.usage);
  });
});

test('E16: tokens are counted without a price, and the sum of money is unknown as soon as a part of it is', async () => {
  const userConfig = { models: { 'anthropic/scripted': { price: [2, 10], context: 50_000 } } };
  await withWorld({ script: editsInPart, files, userConfig }, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const events = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'correct line 110' });
    const done = only(events, 'AgentDone');
    expect(done.costUsd).toBeNull();
    expect(done.spending.map(({ costUsd }) => costUsd === null)).toEqual([false, true]);
    expect(done.spending.every(({ usage }) => usage.input > 0)).toBe(true);
    const windows = events.flatMap((event) => (event.type === 'Usage' ? [event.window] : []));
    expect(windows.map(({ size }) => size)).toEqual([50_000, 50_000, 50_000]);
    expect(windows[2]?.tokens).toBeGreaterThan(windows[0]?.tokens ?? 0);
  });
});

test('E7: the lesser model is kept within the budget too', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (turn.model === 'scripted' && turn.stepOfMessage < 2)
      return { ...editsInPart(turn), thinking: 'x'.repeat(4_000) };
    return editsInPart(turn);
  };
  const run = (tokens: number) =>
    withWorld({ script, files }, async (world) => {
      const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
      const limits = { tokens, maxSteps: 10 };
      const events = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'correct line 110', limits });
      const models = world.server.requests.map(({ body }) => (JSON.parse(body) as { model: string }).model);
      return { events, models };
    });
  const whole = await run(1_000_000);
  const used = whole.events.flatMap((event) =>
    event.type === 'Usage' ? [event.usage.input + event.usage.output] : [],
  );
  // As much as the two steps before the check use: nothing is left for it.
  const { events, models } = await run((used[0] ?? 0) + (used[1] ?? 0));
  expect(models).toEqual(['scripted', 'scripted']);
  expect(only(events, 'AgentDone').status).toBe('budget');
});

test('E7: the time in which no Odin ran does not count', () => {
  const at = (type: 'claim' | 'other', ms: number) =>
    ({ type: type === 'claim' ? 'claim' : 'cancel', at: ms }) as JournalEvent;
  expect(workedMs([])).toBe(0);
  expect(workedMs([at('other', 1_000), at('other', 4_000)])).toBe(3_000);
  expect(workedMs([at('other', 1_000), at('other', 4_000), at('claim', 90_000), at('other', 90_500)])).toBe(3_500);
});
