// Forks of a session from every one of its events, and its replay, from real turns.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { replayJournal } from '../../orchestrator/replay.ts';
import type { EventOf, JournalEvent, Journaled } from '../../shared/events.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

const files = { 'a.txt': 'one\n', 'src/retry.ts': 'export const attempts = 3;\n' };

/** Message 1 looks with two calls at once, message 2 edits, message 3 only answers. */
const script = ({ userText, messagesText, stepOfMessage, lastToolResults }: ScriptedTurn): ScriptedAnswer => {
  if (messagesText.includes('and now?')) return { text: 'Just this.' };
  if (stepOfMessage > 0) return { text: `done: ${lastToolResults.map(({ text }) => text.slice(0, 20)).join(' | ')}` };
  if (userText.startsWith('look')) {
    return {
      text: 'Looking.',
      toolCalls: [
        { name: 'ReadFile', args: { file_path: 'a.txt' } },
        { name: 'LS', args: { path: '.' } },
      ],
    };
  }
  if (userText.startsWith('change')) {
    return { toolCalls: [{ name: 'WriteFile', args: { file_path: 'b.txt', content: 'two\n' } }] };
  }
  return { text: 'Just this.' };
};

async function session(world: World): Promise<{ readonly odin: Odin; readonly sid: string }> {
  const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
  const sid = odin.newSession();
  await world.ask(odin, sid, { mode: 'ask', body: 'look' });
  await world.ask(odin, sid, { mode: 'edit', body: 'change' });
  await world.ask(odin, sid, { mode: 'ask', body: 'say' });
  return { odin, sid };
}

async function journalOf(odin: Odin, sid: string): Promise<readonly Journaled[]> {
  const log: Journaled[] = [];
  for await (const entry of odin.export(sid)) log.push(entry as unknown as Journaled);
  return log;
}

test('E14: a fork from any event has the journal up to it, no open call and no message under way, and replays', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await session(world);
    const log = await journalOf(odin, sid);
    expect(log.length).toBeGreaterThan(20);
    let cuts = 0;
    for (const [n, { id }] of log.entries()) {
      const forked = await odin.fork(sid, id);
      const copy = await journalOf(odin, forked.sid);
      const [first, ...rest] = copy;
      expect(first).toMatchObject({ id: '0-1', event: { type: 'session.forked', sid: forked.sid, from: sid } });
      const claims = (events: readonly Journaled[]) => events.filter(({ event }) => event.type !== 'claim');
      const wanted = claims(log.slice(0, n + 1));
      expect(claims(rest).slice(0, wanted.length)).toEqual(wanted);
      const state = await odin.state(forked.sid);
      expect(state.isExecuting).toBe(false);
      expect(state.messages.every(({ status }) => status !== 'running')).toBe(true);
      expect(await odin.replay(forked.sid)).toMatchObject({ open: null, difference: null });
      if (forked.cut !== null) cuts += 1;
    }
    expect(cuts).toBeGreaterThan(10);
    expect((await odin.sessions()).find((one) => one.sid !== sid)).toMatchObject({ title: 'look (fork)' });
  });
});

test('E14 O6: a fork goes on by itself: the model is asked with what was before and a result for the call that was cut', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await session(world);
    const log = await journalOf(odin, sid);
    const called = log.find(({ event }) => event.type === 'llm.res' && event.calls.length === 2);
    const forked = await odin.fork(sid, called?.id);
    expect(forked).toMatchObject({ messages: 1, cut: 1, at: called?.id });
    const done = only(await world.ask(odin, forked.sid, { mode: 'ask', body: 'and now?' }), 'AgentDone');
    expect(done).toMatchObject({ seq: 2, status: 'completed', answer: 'Just this.' });
    const asked = JSON.stringify(world.server.requests.at(-1)?.body);
    expect(asked.split('forked before this call had its result')).toHaveLength(3);
    expect(asked).not.toMatch(/"text\\*":\\*"change/);
    // The other session and the files are as they were.
    expect(await journalOf(odin, sid)).toEqual(log);
    expect(readFileSync(join(world.project, 'b.txt'), 'utf8')).toBe('two\n');
  });
});

test('E14: a fork from the end of a message, and what cannot be forked', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await session(world);
    expect(await odin.fork(sid, '2')).toMatchObject({ messages: 2, cut: null });
    await expect(odin.fork(sid, '9')).rejects.toThrow('has no message 9 that is done');
    await expect(odin.fork(sid, '7-7')).rejects.toThrow('has no event 7-7');
    await expect(odin.fork('01AAAAAAAAAAAAAAAAAAAAAAAA')).rejects.toThrow('There is no session');
  });
});

test('O4: the replay of a session asks for exactly what was done, and names the first event that is otherwise', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await session(world);
    const log = await journalOf(odin, sid);
    const report = await odin.replay(sid);
    expect(report).toMatchObject({ events: log.length, messages: 3, open: null, difference: null });
    expect(report.stateHash).toMatch(/^[0-9a-f]{64}$/);

    const changed = <T extends JournalEvent['type']>(type: T, change: (event: EventOf<T>) => JournalEvent) => {
      const at = log.findIndex(({ event }) => event.type === type);
      const next = log.map((entry, n) => (n === at ? { ...entry, event: change(entry.event as EventOf<T>) } : entry));
      return { id: log[at]?.id, ...replayJournal(sid, next) };
    };
    const differs = (replayed: ReturnType<typeof changed>, found: string) => {
      expect(replayed.difference).toMatchObject({ event: replayed.id, found: expect.stringContaining(found) });
      expect(replayed.stateHash).toMatch(/^[0-9a-f]{64}$/);
    };
    differs(
      changed('llm.req', (event) => ({ ...event, attempt: 2 })),
      'try 2',
    );
    differs(
      changed('llm.req', (event) => ({ ...event, model: 'other/model' })),
      'other/model',
    );
    differs(
      changed('tool.start', (event) => ({ ...event, op: '1.1.7' })),
      '(1.1.7)',
    );
    differs(
      changed('tool.done', (event) => ({ ...event, op: '1.9.1' })),
      'which was not called',
    );
    differs(
      changed('msg.done', (event) => ({ ...event, steps: 5 })),
      'after 5 steps',
    );
    differs(
      changed('msg.done', (event) => ({ ...event, status: 'cancelled' })),
      'cancelled after 2',
    );
    const without = (type: JournalEvent['type']) => {
      const at = log.findIndex(({ event }) => event.type === type);
      return replayJournal(sid, log.toSpliced(at, 1)).difference;
    };
    expect(without('llm.req')).toMatchObject({ found: expect.stringContaining('was not asked for') });
    expect(without('llm.res')).not.toBeNull();
    const twice = log.findIndex(({ event }) => event.type === 'tool.done');
    const doubled = replayJournal(sid, log.toSpliced(twice, 0, log[twice] as Journaled));
    expect(doubled.difference?.found).toContain('a second result');
    // The same events in the same order are the same state; other words in one of them are another.
    expect(replayJournal(sid, log).stateHash).toBe(report.stateHash);
    const other = changed('msg.start', (event) => ({ ...event, body: { inline: 'look!' } }));
    expect(other.difference).toBeNull();
    expect(other.stateHash).not.toBe(report.stateHash);
    // What is not done yet is said, not called a difference.
    const half = replayJournal(
      sid,
      log.slice(
        0,
        log.findIndex(({ event }) => event.type === 'tool.done'),
      ),
    );
    expect(half).toMatchObject({ difference: null, open: expect.stringContaining('ReadFile (1.1.1)') });
  });
});
