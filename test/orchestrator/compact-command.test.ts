// `compact` as a message of a session: what it does, and what it does when it is cancelled, out of money or cut off by a crash.

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import type { JournalEvent } from '../../shared/events.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

const LONG = 'lorem ipsum dolor sit amet '.repeat(400);
const SETTINGS = { context: { keepRecent: 2, processors: [{ use: 'summarizeOlderThanN', n: 2 }] } };
const COMPACT = { mode: 'ask', body: '/compact', command: { type: 'compact' } } as const;

const answers = ({ model, userText }: ScriptedTurn): ScriptedAnswer =>
  model === 'small'
    ? { text: 'SUMMARY: the user counts.' }
    : { text: `${[...userText.matchAll(/question (\d)/g)].at(-1)?.[1]}: ${LONG}` };

async function talk(world: World, odin: Odin): Promise<string> {
  const sid = odin.newSession();
  for (let n = 1; n <= 6; n += 1) await world.ask(odin, sid, { mode: 'ask', body: `question ${n}` });
  return sid;
}

async function journalOf(odin: Odin, sid: string): Promise<readonly JournalEvent[]> {
  const events: JournalEvent[] = [];
  for await (const line of odin.export(sid)) events.push((line as unknown as { event: JournalEvent }).event);
  return events;
}

const requestsOf = (world: World, model: string) =>
  world.server.requests.filter(({ body }) => (JSON.parse(body) as { model: string }).model === model);

test('O21: compact makes the context smaller by the lesser model alone, says by how much, and the talk goes on', async () => {
  await withWorld({ script: answers, userConfig: SETTINGS }, async (world) => {
    const odin = await world.open();
    const sid = await talk(world, odin);
    const planned = requestsOf(world, 'scripted').length;
    const events = await world.ask(odin, sid, { ...COMPACT, command: { type: 'compact', focus: 'the NUMBERS' } });
    const { tokensBefore, tokensAfter, why } = only(events, 'ContextCompacted');
    expect(why).toBe('asked');
    expect(tokensAfter).toBeLessThan(tokensBefore / 2);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', steps: 0 });
    expect(only(events, 'AgentDone').answer).toMatch(/^The context was [\d,]+ tokens and is [\d,]+ now\.$/);
    expect(requestsOf(world, 'scripted')).toHaveLength(planned);
    expect(requestsOf(world, 'small')).toHaveLength(1);
    expect(requestsOf(world, 'small')[0]?.body).toContain('the NUMBERS');
    expect(only(events, 'AuxUsage').purpose).toBe('summary');
    expect(only(events, 'AgentDone').spending).toHaveLength(1);

    const next = await world.ask(odin, sid, { mode: 'ask', body: 'question 7' });
    expect(only(next, 'AgentDone').answer).toMatch(/^7: /);
    const sent = world.server.requests.at(-1)?.body ?? '';
    expect(sent).toContain('SUMMARY: the user counts.');
    expect(sent).toContain('question 6');
    expect(sent).not.toContain('/compact');
    expect(await odin.replay(sid)).toMatchObject({ difference: null, messages: 8 });
    expect((await odin.state(sid)).messages.map(({ outside }) => outside)[6]).toBe('command');
  });
});

test('O21: a session without a conversation has nothing to compact, and says so', async () => {
  await withWorld({ script: answers }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), COMPACT);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'refused' });
    expect(world.server.requests).toEqual([]);
  });
});

test('E11, O21: a compaction that is cancelled leaves the context as it was', async () => {
  const asked = Promise.withResolvers<void>();
  const never = Promise.withResolvers<ScriptedAnswer>();
  const script = (turn: ScriptedTurn): ScriptedAnswer | Promise<ScriptedAnswer> => {
    if (turn.model !== 'small') return answers(turn);
    asked.resolve();
    return never.promise;
  };
  await withWorld({ script, userConfig: SETTINGS }, async (world) => {
    const odin = await world.open();
    const sid = await talk(world, odin);
    const ended = world.ask(odin, sid, COMPACT);
    await asked.promise;
    expect(await odin.cancel(sid, 'the test')).toBe(true);
    expect(only(await ended, 'AgentDone')).toMatchObject({
      status: 'cancelled',
      answer: '[Cancelled: the context is as it was.]',
    });
    expect((await journalOf(odin, sid)).filter(({ type }) => type.startsWith('compact.'))).toEqual([]);
    await world.ask(odin, sid, { mode: 'ask', body: 'question 7' });
    expect(world.server.requests.at(-1)?.body).toContain('1: lorem');
    never.resolve({ text: '' });
  });
});

test('E7, O21: without money for the summary none is asked for, and the user is told', async () => {
  await withWorld({ script: answers, userConfig: SETTINGS }, async (world) => {
    const odin = await world.open({ caps: { tokens: 40_000 } });
    const sid = odin.newSession();
    for (let n = 1; n <= 6; n += 1) await world.ask(odin, sid, { mode: 'ask', body: `question ${n}` });
    expect((await odin.state(sid)).messages.at(-1)?.status).toBe('budget');
    const events = await world.ask(odin, sid, COMPACT);
    expect(only(events, 'AgentDone').status).toBe('completed');
    expect(requestsOf(world, 'small')).toEqual([]);
    const told = events.flatMap((event: StreamEvent) => (event.type === 'ToolProgress' ? [event.text] : []));
    expect(told.join('\n')).toMatch(/No summary of the older messages: Not asked: the budget of 40,000 tokens/);
  });
});

test('E7, O21: a limit in time stops a compaction', async () => {
  const never = Promise.withResolvers<ScriptedAnswer>();
  const script = (turn: ScriptedTurn): ScriptedAnswer | Promise<ScriptedAnswer> =>
    turn.model === 'small' ? never.promise : answers(turn);
  await withWorld({ script, userConfig: SETTINGS }, async (world) => {
    const odin = await world.open();
    const sid = await talk(world, odin);
    const events = await world.ask(odin, sid, { ...COMPACT, limits: { timeoutMs: 50 } });
    expect(only(events, 'AgentDone').status).toBe('budget');
    expect(only(events, 'LimitReached').limit).toBe('time');
    never.resolve({ text: '' });
  });
});

test('E1, O21: a compaction that its process left behind is done by the next one, once', async () => {
  const asked = Promise.withResolvers<void>();
  const never = Promise.withResolvers<ScriptedAnswer>();
  let summaries = 0;
  const script = (turn: ScriptedTurn): ScriptedAnswer | Promise<ScriptedAnswer> => {
    if (turn.model !== 'small') return answers(turn);
    summaries += 1;
    if (summaries > 1) return { text: 'SUMMARY of the second process.' };
    asked.resolve();
    return never.promise;
  };
  await withWorld({ script, userConfig: SETTINGS }, async (world) => {
    const odin = await world.open();
    const sid = await talk(world, odin);
    await odin.submit(sid, COMPACT);
    await asked.promise;
    await odin.close();
    never.resolve({ text: '' });

    const next = await world.open();
    const events = await world.ask(next, sid, { mode: 'ask', body: 'question 7' });
    expect(only(events, 'AgentDone').answer).toMatch(/^7: /);
    expect(world.server.requests.at(-1)?.body).toContain('SUMMARY of the second process.');
    const journal = await journalOf(next, sid);
    expect(journal.filter(({ type }) => type === 'compact.done')).toHaveLength(1);
    expect(await next.replay(sid)).toMatchObject({ difference: null });
  });
});
