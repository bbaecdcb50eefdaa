// Hooks in code: all events in one message, and what becomes of hooks that throw, hang or cannot keep up.

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import type { Hook, HookEvent, HookGiven } from '../../../orchestrator/hooks/hook.ts';
import { createHooks, NO_HOOKS } from '../../../orchestrator/hooks/run-hooks.ts';
import type { EventOf } from '../../../shared/events.ts';
import type { Json } from '../../../shared/json.ts';
import { createScrub } from '../../../shared/scrub.ts';
import { only, withWorld } from '../../support/odin-world.ts';

const EVENTS: readonly HookEvent[] = [
  ...(['stepStart', 'beforeLLM', 'streamDelta', 'afterLLM', 'toolCall', 'toolResult'] as const),
  ...(['summarize', 'historyChanged', 'done'] as const),
];

const every = (name: string, act: (given: HookGiven) => void | Promise<void>): Hook => ({
  name,
  ...Object.fromEntries(EVENTS.map((event) => [event, act])),
});

/** Looks around, has the context made smaller, and answers. */
const script = (turn: ScriptedTurn): ScriptedAnswer => {
  if (turn.model === 'small') return { text: 'Nothing much happened.' };
  const calls = [
    { name: 'LS', args: { path: '.' } },
    { name: 'ContextSummarizer', args: {} },
  ].at(turn.stepOfMessage);
  return turn.messagesText.includes('summar') || calls === undefined
    ? { text: 'The end.' }
    : { text: 'I look.', toolCalls: [calls] };
};

test('E5: all nine events come, in their order, with the session and the message they are about', async () => {
  const seen: HookGiven[] = [];
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ hooks: [every('all', (given) => void seen.push(given))] });
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'ask', body: 'look around' });
    expect(only(events, 'AgentDone').status).toBe('completed');
    const at = (event: HookEvent) => seen.findIndex((given) => given.event === event);
    expect(EVENTS.filter((event) => at(event) < 0)).toEqual([]);
    for (const [earlier, later] of [
      ['stepStart', 'afterLLM'],
      ['streamDelta', 'afterLLM'],
      ['beforeLLM', 'toolCall'],
      ['toolCall', 'toolResult'],
      ['summarize', 'historyChanged'],
      ['toolResult', 'done'],
    ] as const) {
      expect(at(earlier)).toBeLessThan(at(later));
    }
    for (const given of seen) expect(given).toMatchObject({ session: sid, seq: 1, mode: 'ask' });
    const deltas = seen.flatMap((given) => (given.event === 'streamDelta' ? [given.delta] : []));
    expect(deltas.join('')).toContain('The end.');
  });
});

test('E5: watchers that throw or never come back harm nothing and are reported; the model and the tools do not wait for them', async () => {
  const never = new Promise<void>(() => {});
  const watched = ['stepStart', 'afterLLM', 'streamDelta', 'summarize', 'historyChanged', 'toolResult', 'done'];
  const throwing = every('throws', ({ event }) => {
    if (watched.includes(event)) throw new Error(`no ${event}`);
  });
  const hanging: Hook = { name: 'hangs', timeoutMs: 50, summarize: () => never };
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ hooks: [throwing, hanging] });
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'look around' });
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'The end.' });
    const told = events.flatMap((event) => (event.type === 'HookRan' ? [`${event.name}: ${event.message}`] : []));
    expect(told).toEqual(expect.arrayContaining(['throws: no toolResult', 'throws: no done', 'throws: no stepStart']));
    expect(told).toEqual(expect.arrayContaining([expect.stringMatching(/^throws: it failed \d+ times in all$/)]));
    expect(told).toContain('hangs: it was not through within 0.05 s');
    expect(world.logged).toEqual([]);
  });
});

test('E5: a hook that has a say and throws refuses what it has a say in', async () => {
  const throws = () => {
    throw new Error('out of order');
  };
  await withWorld({ script: (turn) => ({ ...script(turn) }) }, async (world) => {
    const odin = await world.open({ hooks: [{ name: 'guard', toolCall: throws, matches: (tool) => tool === 'LS' }] });
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'look' });
    expect(events.find((event) => event.type === 'ToolResult')).toMatchObject({
      ...{ tool: 'LS', status: 'refused' },
      text: expect.stringMatching(/^The hook "guard" .* did not work: out of order\. So the call was not run/),
    });
    await odin.close();
    const other = await world.open({ hooks: [{ name: 'gate', beforeLLM: throws }] });
    const refused = await world.ask(other, other.newSession(), { mode: 'ask', body: 'look' });
    expect(only(refused, 'AgentError')).toMatchObject({
      code: 'hook_failed',
      message: expect.stringMatching(/"gate"/),
    });
  });
});

/** The hooks of one message, and what they have put into the journal. */
function bound(hooks: readonly Hook[]) {
  const told: EventOf<'hook.ran'>[] = [];
  const runner = createHooks(hooks, {
    place: { session: 'S', seq: 1, mode: 'edit', root: '/project' },
    scrub: createScrub({}),
    clean: (text) => text,
    record: (event) => told.push(event),
    now: () => 7,
  });
  return { runner, told };
}

const secret = ['ghp', '_', 'A1b2'.repeat(9)].join('');
const { signal } = new AbortController();

test('E5 SAFETY 6: a hook that changes one argument leaves a secret in another as it is; one it cannot see it cannot change', async () => {
  const call = (args: Json) => ({ op: '1.1.1' as const, name: 'WriteFile', effect: 'write' as const, args });
  const judge = async (change: (args: Record<string, string>) => Record<string, string>) => {
    const hook: Hook = { name: 'h', toolCall: ({ args }) => ({ args: change(args as Record<string, string>) }) };
    const { runner, told } = bound([hook]);
    return { verdict: await runner.toolCall?.(call({ path: 'a', text: `key ${secret}` }), signal), told };
  };
  const moved = await judge((args) => ({ ...args, path: 'b' }));
  expect(moved.verdict).toMatchObject({ verdict: 'go', changed: { args: { path: 'b', text: `key ${secret}` } } });
  expect(JSON.stringify(moved.told)).not.toContain(secret);
  for (const change of [
    (args: Record<string, string>) => ({ ...args, text: `${args['text']}\n` }),
    ({ path = '', text = '' }: Record<string, string>) => ({ path, other: text }),
  ]) {
    const { verdict, told } = await judge(change);
    expect(verdict).toMatchObject({ verdict: 'refused', failure: { code: 'hook_failed' } });
    expect(told).toMatchObject([{ outcome: 'failed', message: expect.stringMatching(/holds a secret/) }]);
  }
  expect((await judge((args) => ({ ...args }))).verdict).toMatchObject({ verdict: 'go', changed: null });
});

test('E5: a watcher that cannot keep up misses events, and their number is told; nothing is kept beyond the bound', async () => {
  const gate = Promise.withResolvers<void>();
  let count = 0;
  const slow: Hook = {
    name: 'slow',
    streamDelta: async () => {
      count += 1;
      await gate.promise;
    },
  };
  const { runner, told } = bound([slow]);
  for (let i = 0; i < 1_000; i++) runner.observe?.('streamDelta', { step: 1, kind: 'text', delta: 'x' });
  gate.resolve();
  await runner.done?.({ status: 'completed', answer: '', steps: 1, failure: null }, signal);
  expect(count).toBe(256);
  expect(told).toMatchObject([{ event: 'streamDelta', message: 'it was too slow and missed 744 events' }]);
});

test('E5: without hooks there is nothing to call, and without listeners of one kind nothing of that kind', () => {
  expect(bound([]).runner).toBe(NO_HOOKS);
  expect(Object.values(NO_HOOKS).filter(Boolean)).toEqual([]);
  const { runner } = bound([{ name: 'h', done: () => {} }]);
  expect([runner.toolCall, runner.toolResult, runner.beforeLLM, runner.observe]).toEqual([null, null, null, null]);
});
