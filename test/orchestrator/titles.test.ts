// Titles of sessions: asked for once, behind the first answer, with nothing waiting for them.

import { expect, test } from '@jest/globals';
import { chooseModel } from '../../llm/choose-model.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin, OpenOptions } from '../../orchestrator/api.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import type { JournalEvent } from '../../shared/events.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

const titled = ({ model }: ScriptedTurn): ScriptedAnswer =>
  model === 'small' ? { text: '"Retries of the queue".\nMore words.' } : { text: 'An answer.' };

async function openWithTitles(world: World, more: Partial<OpenOptions> = {}): Promise<Odin> {
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: world.server.url };
  const chosen = await chooseModel({ flagModel: 'anthropic/scripted', flagSmallModel: 'anthropic/small', env });
  if (!chosen.ok) throw new Error(chosen.failure.message);
  return await openOdin({ cwd: world.project, home: world.home, models: chosen.value, titles: true, ...more });
}

/** Closes it whatever happens. */
async function withTitles(world: World, more: Partial<OpenOptions>, use: (odin: Odin) => Promise<void>): Promise<void> {
  const odin = await openWithTitles(world, more);
  try {
    await use(odin);
  } finally {
    await odin.close();
  }
}

async function upTo(odin: Odin, sid: string, type: StreamEvent['type']): Promise<StreamEvent> {
  const stop = new AbortController();
  for await (const event of odin.follow(sid, { from: '0', signal: stop.signal })) if (event.type === type) return event;
  throw new Error(`no ${type}`);
}

async function journalOf(odin: Odin, sid: string): Promise<readonly JournalEvent[]> {
  const events: JournalEvent[] = [];
  for await (const line of odin.export(sid)) events.push((line as unknown as { event: JournalEvent }).event);
  return events;
}

const smallCalls = (world: World) =>
  world.server.requests.filter(({ body }) => (JSON.parse(body) as { model: string }).model === 'small').length;

const ASK = { mode: 'ask', body: 'where are the retries?' } as const;

test('O3, E16: after the first message the lesser model names the session, once, and its cost is in the accounts', async () => {
  await withWorld({ script: titled }, async (world) => {
    await withTitles(world, {}, async (odin) => {
      const sid = odin.newSession();
      await world.ask(odin, sid, ASK);
      expect(await upTo(odin, sid, 'SessionTitled')).toMatchObject({ title: 'Retries of the queue', seq: 1 });
      expect((await odin.sessions())[0]?.title).toBe('Retries of the queue');
      const state = await odin.state(sid);
      expect(state.title).toBe('Retries of the queue');
      expect(Object.keys(state.spending)).toContain('anthropic/small');
      await world.ask(odin, sid, { mode: 'ask', body: 'and then?' });
      expect(smallCalls(world)).toBe(1);
      const journal = await journalOf(odin, sid);
      expect(journal.filter(({ type }) => type === 'session.titled' || type === 'aux.used')).toHaveLength(2);
      expect(await odin.replay(sid)).toMatchObject({ difference: null, messages: 2 });
      expect((await odin.state(sid)).title).toBe('Retries of the queue');
      expect(await odin.fsck(false)).toMatchObject({ clean: true });
    });
  });
});

test('O3: no message waits for a title: one that comes while another message runs is journaled with that', async () => {
  const small = Promise.withResolvers<ScriptedAnswer>();
  const second = Promise.withResolvers<void>();
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (turn.model === 'small') return await small.promise;
    if (turn.userText.startsWith('second')) await second.promise;
    return { text: 'An answer.' };
  };
  await withWorld({ script }, async (world) => {
    await withTitles(world, {}, async (odin) => {
      const sid = odin.newSession();
      expect(only(await world.ask(odin, sid, ASK), 'AgentDone').status).toBe('completed');
      const running = world.ask(odin, sid, { mode: 'ask', body: 'second' });
      await upTo(odin, sid, 'StepStarted');
      small.resolve({ text: 'A late name' });
      await new Promise((resolve) => setImmediate(resolve));
      second.resolve();
      expect(only(await running, 'AgentDone').status).toBe('completed');
      expect(await upTo(odin, sid, 'SessionTitled')).toMatchObject({ title: 'A late name' });
      expect((await odin.sessions())[0]?.title).toBe('A late name');
      expect(await odin.replay(sid)).toMatchObject({ difference: null });
    });
  });
});

test.each<readonly [string, Partial<OpenOptions>, object]>([
  ['the settings say no', {}, { titles: false }],
  ['nobody sits at it', { titles: false }, {}],
  ['the budget is spent', { caps: { tokens: 10 } }, {}],
])('O3, E7: a session has the first line of its first message for a title when %s', async (_, more, userConfig) => {
  await withWorld({ script: titled, userConfig }, async (world) => {
    await withTitles(world, more, async (odin) => {
      const sid = odin.newSession();
      await world.ask(odin, sid, ASK);
      await world.ask(odin, sid, { mode: 'ask', body: 'and then?' });
      expect((await odin.sessions())[0]?.title).toBe('where are the retries?');
      expect((await odin.state(sid)).title).toBeUndefined();
      expect(smallCalls(world)).toBe(0);
    });
  });
});

test('O3: a process that leaves while it asks for a title leaves at once, and the session is whole', async () => {
  const asked = Promise.withResolvers<void>();
  const never = Promise.withResolvers<ScriptedAnswer>();
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (turn.model !== 'small') return { text: 'An answer.' };
    asked.resolve();
    return await never.promise;
  };
  await withWorld({ script }, async (world) => {
    let sid = '';
    await withTitles(world, {}, async (odin) => {
      sid = odin.newSession();
      await world.ask(odin, sid, ASK);
      await asked.promise;
    });
    never.resolve({ text: 'too late' });
    const next = await world.open();
    expect(only(await world.ask(next, sid, ASK), 'AgentDone').status).toBe('completed');
    expect((await next.sessions())[0]?.title).toBe('where are the retries?');
  });
});
