// What a message does when the provider does not: waits, asks another model, says why it ends (docs/troubles.md). faults.test.ts has the
// faults themselves.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { retryDelayMs } from '../../agent/retry-delay.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { MAX_ATTEMPTS_BEFORE_FALLBACK } from '../../machines/agent/machine.ts';
import { REPEATS_STOPPED } from '../../machines/agent/repeats.ts';
import type { Odin } from '../../orchestrator/api.ts';
import type { JournalEvent } from '../../shared/events.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { withEnoughTime } from '../support/enough-time.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';
import { printedSeed, randomFrom } from '../support/seed.ts';

const soon = () => 1;
const other = (world: World) => ({ other: { kind: 'openai-chat', baseURL: `${world.server.url}/v1` } as const });

async function journalOf(odin: Odin, sid: string): Promise<readonly JournalEvent[]> {
  const events: JournalEvent[] = [];
  for await (const line of odin.export(sid)) events.push((line as unknown as { event: JournalEvent }).event);
  return events;
}

/** Follows a session up to an event of a type. */
async function upTo(odin: Odin, sid: string, type: StreamEvent['type'], from = '$'): Promise<StreamEvent> {
  const stop = new AbortController();
  for await (const event of odin.follow(sid, { from, signal: stop.signal })) if (event.type === type) return event;
  throw new Error(`no ${type}`);
}

test('E9 G7: a model that stays away is replaced by its fallback at another provider, which gets a history it can take', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (turn.userText.startsWith('again')) return { text: `from ${turn.api}` };
    if (turn.api === 'anthropic' && turn.stepOfMessage > 0) return { fault: 'http_529' };
    if (turn.api === 'chat') return { text: `from ${turn.api}` };
    return { thinking: 'Let me see.', text: 'I look.', toolCalls: [{ name: 'LS', args: { path: '.' } }] };
  };
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ providers: other(world), retryDelayMs: soon });
    const sid = odin.newSession();
    const ask = { mode: 'ask', fallbackModels: ['other/big'] } as const;
    const events = await world.ask(odin, sid, { ...ask, body: 'go' });
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'from chat', steps: 2 });
    expect(only(events, 'ModelChanged')).toMatchObject({
      from: 'anthropic/scripted',
      to: 'other/big',
      code: 'overloaded',
    });
    const types = events.map((event) => event.type);
    expect(types.filter((type) => type === 'RetryScheduled')).toHaveLength(MAX_ATTEMPTS_BEFORE_FALLBACK - 1);
    expect(types.indexOf('ModelChanged')).toBe(types.lastIndexOf('StepStarted') - 1);
    const last = JSON.parse(world.server.requests.at(-1)?.body ?? '') as { model: string; messages: object[] };
    expect(last.model).toBe('big');
    expect(JSON.stringify(last.messages)).not.toContain('Let me see');
    expect(last.messages.map((message) => (message as { role: string }).role)).toEqual([
      ...['system', 'user', 'assistant', 'tool'],
    ]);
    const next = await world.ask(odin, sid, { ...ask, body: 'again' });
    expect(only(next, 'AgentDone').answer).toBe('from anthropic');
    expect(next.filter((event) => event.type === 'ModelChanged')).toEqual([]);
  });
});

test('E9: a key that is refused is not asked again: the fallback takes over at once; without one it is the end', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.api === 'chat' ? { text: 'from chat' } : { fault: 'http_401' };
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ providers: other(world), retryDelayMs: soon });
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'ask', body: 'go', fallbackModels: ['other/big'] });
    expect(only(events, 'AgentDone')).toMatchObject({ answer: 'from chat', steps: 1 });
    expect(only(events, 'ModelChanged').code).toBe('auth');
    const alone = await world.ask(odin, sid, { mode: 'ask', body: 'go' });
    expect(only(alone, 'AgentDone').answer).toMatch(/^\[Failed at step 1: auth: /);
  });
});

test('E9: a fallback that cannot be reached from here says so, by its name', async () => {
  await withWorld({ script: () => ({ fault: 'http_401' }) }, async (world) => {
    const odin = await world.open({ retryDelayMs: soon });
    const ask = { mode: 'ask', body: 'go', fallbackModels: ['openai/gpt-6.1-sol'] } as const;
    const events = await world.ask(odin, odin.newSession(), ask);
    expect(only(events, 'ModelChanged')).toMatchObject({ to: 'openai/gpt-6.1-sol', code: 'auth' });
    expect(only(events, 'AgentError')).toMatchObject({ code: 'unknown_model' });
    expect(only(events, 'AgentError').message).toContain('OPENAI_API_KEY');
  });
});

test('E11 E9: a wait is told with its end and its try, and a cancel ends it at once', async () => {
  await withWorld({ script: () => ({ fault: 'http_429', retryAfter: 100 }) }, async (world) => {
    const odin = await world.open({ retryDelayMs });
    const sid = odin.newSession();
    const told = upTo(odin, sid, 'RetryScheduled');
    const done = upTo(odin, sid, 'AgentDone');
    await odin.submit(sid, { mode: 'ask', body: 'go' });
    const wait = (await told) as Extract<StreamEvent, { type: 'RetryScheduled' }>;
    expect(wait).toMatchObject({ code: 'rate_limit', attempt: 2, attempts: 6 });
    expect(wait.dueAt - wait.at).toBeGreaterThanOrEqual(100_000);
    expect(wait.dueAt - wait.at).toBeLessThanOrEqual(100_500);
    await odin.cancel(sid, 'test');
    expect(await done).toMatchObject({ status: 'cancelled' });
  });
});

test('E9: a wait that is longer than the limit is the end, and both are said', async () => {
  await withWorld({ script: () => ({ fault: 'http_429', retryAfter: 900 }) }, async (world) => {
    const odin = await world.open({ retryDelayMs: soon });
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'go' });
    expect(only(events, 'AgentError')).toMatchObject({ code: 'rate_limit', step: 1 });
    expect(only(events, 'AgentDone').answer).toContain('It asks to wait 15 min; that is over the limit of 2 min.');
    expect(world.server.requests).toHaveLength(1);
  });
});

test('E9 E14: a wait outlives the process: the next one asks again when it was due, and not anew', async () => {
  let isFirst = true;
  const script = (): ScriptedAnswer => {
    const answer: ScriptedAnswer = isFirst ? { fault: 'http_529' } : { text: 'at last' };
    isFirst = false;
    return answer;
  };
  await withWorld({ script }, async (world) => {
    // So long that the first process has left by then.
    const { sid, requests } = await withEnoughTime(400, async (delayMs) => {
      isFirst = true;
      const before = await world.open({ retryDelayMs: () => delayMs });
      const one = before.newSession();
      const told = upTo(before, one, 'RetryScheduled');
      const already = world.server.requests.length;
      await before.submit(one, { mode: 'ask', body: 'go' });
      await told;
      await before.close();
      return world.server.requests.length === already + 1 ? { sid: one, requests: already } : undefined;
    });
    const asked: number[] = [];
    const after = await world.open({ retryDelayMs: (attempt) => asked.push(attempt) });
    expect(await upTo(after, sid, 'AgentDone', '0')).toMatchObject({ status: 'completed', answer: 'at last' });
    expect(asked).toEqual([]);
    const events = await journalOf(after, sid);
    const set = events.filter((event) => event.type === 'timer.set');
    const fired = events.filter((event) => event.type === 'timer.fired');
    expect([set.length, fired.length]).toEqual([1, 1]);
    expect(fired[0]?.at).toBeGreaterThanOrEqual(set[0]?.dueAt ?? Number.POSITIVE_INFINITY);
    expect(world.server.requests).toHaveLength(requests + 2);
  });
});

test('E9: waits begin short and grow, are spread by chance, and are never shorter than the provider asks', () => {
  const below = randomFrom(printedSeed('retry delays'));
  const random = () => below(1_000_000) / 1_000_000;
  const ceilings = [500, 1_500, 4_500, 13_500, 30_000, 30_000];
  for (let round = 0; round < 200; round += 1) {
    for (const [index, ceiling] of ceilings.entries()) {
      const delay = retryDelayMs(index + 1, undefined, random);
      expect(delay).toBeGreaterThanOrEqual(ceiling / 2);
      expect(delay).toBeLessThanOrEqual(ceiling);
      expect(retryDelayMs(index + 1, 60_000, random)).toBeGreaterThanOrEqual(60_000);
      expect(retryDelayMs(index + 1, 60_000, random)).toBeLessThanOrEqual(60_500);
    }
  }
  expect(retryDelayMs(1, 0, () => 0)).toBe(250);
});

test('E8 E7: tokens of an answer that broke off are journaled with its failure, and count', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.requestIndex === 0 ? { text: 'a long answer that is cut', fault: 'cut' } : { text: 'whole' };
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ retryDelayMs: soon });
    const sid = odin.newSession();
    await world.ask(odin, sid, { mode: 'ask', body: 'go' });
    const events = await journalOf(odin, sid);
    const failed = events.find((event) => event.type === 'llm.fail');
    const answered = events.find((event) => event.type === 'llm.res');
    expect(failed?.usage?.input).toBeGreaterThan(0);
    const { spending } = await odin.state(sid);
    const spent = (failed?.usage?.input ?? 0) + (answered?.usage.input ?? 0);
    expect(spending['anthropic/scripted']).toMatchObject({ calls: 2, usage: { input: spent } });
  });
});

test('E8: a call that is cancelled says what it has cost before the message ends', async () => {
  await withWorld({ script: () => ({ text: 'a long answer', fault: 'stall' }) }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const streams = upTo(odin, sid, 'StreamText');
    const done = upTo(odin, sid, 'AgentDone');
    await odin.submit(sid, { mode: 'ask', body: 'go' });
    await streams;
    await odin.cancel(sid, 'test');
    expect(await done).toMatchObject({ status: 'cancelled' });
    const events = await journalOf(odin, sid);
    expect(events.find((event) => event.type === 'llm.fail')?.usage?.input).toBeGreaterThan(0);
    expect(events.at(-1)?.type).toBe('msg.done');
  });
});

test('E11: an answer that drips on and on is ended by the time limit of a step', async () => {
  const script = (): ScriptedAnswer => ({ text: 'x'.repeat(40_000), chunkSize: 1, pieceDelayMs: 5 });
  await withWorld({ script }, async (world) => {
    let messages = 0;
    const { events, ms } = await withEnoughTime(1_000, async (stepTimeoutMs) => {
      messages += 1;
      writeFileSync(join(world.project, 'odinconfig.json'), JSON.stringify({ stepTimeoutMs }));
      const odin = await world.open({ retryDelayMs: soon });
      const seen = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'go' });
      await odin.close();
      return world.server.requests.length > 0 ? { events: seen, ms: stepTimeoutMs } : undefined;
    });
    expect(only(events, 'AgentError')).toMatchObject({ code: 'step_timeout', step: 1 });
    expect(only(events, 'AgentError').message).toContain(`after ${ms / 1000} s`);
    // Not asked again. One that was given up on its way may still be heard.
    expect(world.server.requests.length).toBeLessThanOrEqual(messages);
  });
});

test('O2: a model that goes round in circles of two is told and then stopped', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.requestIndex % 2 === 0
      ? { toolCalls: [{ name: 'LS', args: { path: '.' } }] }
      : { toolCalls: [{ name: 'Glob', args: { pattern: '*.md' } }] };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const done = only(await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'x' }), 'AgentDone');
    expect(done).toMatchObject({ status: 'repeated_calls', steps: 2 * (REPEATS_STOPPED + 1) });
    const told = world.server.requests.findIndex(({ body }) => body.includes('times in a row'));
    expect(told).toBe(6);
  });
});

test('G4, DURABILITY 5: a message of a session of which a part is missing ends with a word about it, and does not come again', async () => {
  await withWorld({ script: () => ({ text: 'Yes.' }) }, async (world) => {
    const first = await world.open();
    const sid = first.newSession();
    await world.ask(first, sid, { mode: 'ask', body: 'x'.repeat(20_000) });
    await first.close();
    rmSync(join(world.home, 'blobs'), { recursive: true });
    const odin = await world.open();
    const end = only(await world.ask(odin, sid, { mode: 'ask', body: 'and now?' }), 'AgentDone');
    expect(end).toMatchObject({ status: 'planner_failure', steps: 0 });
    expect(end.answer).toContain('A part of this session is missing');
    expect((await odin.sessions())[0]).toMatchObject({ sid, status: 'idle', queued: 0 });
    // Another session is none the worse for it.
    const other = only(await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'hello' }), 'AgentDone');
    expect(other.status).toBe('completed');
  });
});
