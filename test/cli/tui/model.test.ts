// The view that is folded from the stream, without a terminal.

import { expect, test } from '@jest/globals';
import { reduce } from '../../../cli/tui/model.ts';
import { EMPTY_VIEW, type View } from '../../../cli/tui/view.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';

const base = { session: 's', id: '1-1', at: 1_000, seq: 1 };
const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 };
const event = (bare: object): StreamEvent => ({ ...base, ...bare }) as StreamEvent;
const folded = (view: View, ...events: readonly object[]): View =>
  events.reduce<View>((now, bare) => reduce(now, event(bare)), view);

const begun = folded(
  EMPTY_VIEW,
  { type: 'MessageStarted', mode: 'edit', body: 'do it', model: 'm/x' },
  { type: 'StepStarted', step: 1, attempt: 1 },
);
const items = (view: View) => view.turns.at(-1)?.items ?? [];

test('G4: what streams grows one item, and the whole text of the step takes its place when chunks were lost', () => {
  const streaming = folded(begun, { type: 'StreamText', delta: 'Hel' }, { type: 'StreamText', delta: 'lo' });
  expect(items(streaming)).toEqual([{ kind: 'text', text: 'Hello', isOpen: true }]);
  const whole = folded(streaming, { type: 'StepText', step: 1, text: 'Hello, world' });
  expect(items(whole)).toEqual([{ kind: 'text', text: 'Hello, world', isOpen: false }]);
  const done = {
    type: 'AgentDone',
    status: 'completed',
    answer: 'Hello, world',
    steps: 1,
    usage,
    costUsd: 1,
    spending: [],
  };
  expect(items(folded(whole, done)).filter(({ kind }) => kind === 'text')).toHaveLength(1);
  expect(items(folded(begun, done)).filter(({ kind }) => kind === 'text')).toHaveLength(1);
});

test('E16: the money of finished messages and of the running one is counted once, and an unknown price stays unknown', () => {
  const call = {
    type: 'Usage',
    step: 1,
    model: 'm/x',
    usage,
    estimated: false,
    costUsd: 0.25,
    window: { tokens: 15, size: 100 },
  };
  const running = folded(begun, call, {
    type: 'AuxUsage',
    purpose: 'summary',
    model: 's',
    usage,
    estimated: true,
    costUsd: 0.25,
  });
  expect([running.doneUsd, running.liveUsd, running.isEstimated]).toEqual([0, 0.5, true]);
  const end = { type: 'AgentDone', status: 'completed', answer: '', steps: 1, usage, spending: [] };
  expect(folded(running, { ...end, costUsd: 0.5 })).toMatchObject({ doneUsd: 0.5, liveUsd: 0, running: null });
  expect(folded(begun, { ...call, costUsd: null }, { ...end, costUsd: null }).doneUsd).toBeNull();
});

test('O25: what a subagent does is told on its own line and never in the conversation', () => {
  const spawned = folded(begun, {
    ...{ type: 'AgentSpawned', agent: 'a1', op: '1.1.1', title: 'look', kind: null, mode: 'ask', model: 'm' },
    ...{ background: false, tools: [], prompt: 'look' },
  });
  const worked = folded(
    spawned,
    { type: 'StreamText', agent: 'a1', delta: 'text of the agent' },
    { type: 'ToolCallStart', agent: 'a1', op: '1.1.1', callId: 'c', tool: 'Grep', args: { pattern: 'x' } },
    { type: 'TodosChanged', agent: 'a1', todos: [{ id: '1', content: 'its own', status: 'pending' }] },
    { type: 'AgentProgress', agent: 'a1', step: 2, doing: 'Grep "x"', tokens: 100, costUsd: null },
  );
  expect(items(worked)).toEqual([]);
  expect(worked.todos).toEqual([]);
  expect(worked.agents).toMatchObject([
    { title: 'look', step: 2, doing: 'Grep "x"', end: null, todos: [{ content: 'its own' }] },
  ]);
  const ended = { type: 'AgentEnded', agent: 'a1', title: 'look', end: 'limit', limit: 'steps', answer: '', steps: 3 };
  expect(folded(worked, { ...ended, durationMs: 1, costUsd: null, background: false }).agents).toMatchObject([
    { end: 'limit' },
  ]);
});

test('G1: a long session keeps its newest turns and says how many it folded; what did not change keeps its identity', () => {
  let view = EMPTY_VIEW;
  for (let seq = 1; seq <= 200; seq++) {
    view = reduce(view, { ...event({ type: 'MessageStarted', mode: 'ask', body: `${seq}`, model: 'm' }), seq });
  }
  expect(view.turns.length).toBeLessThanOrEqual(60);
  expect(view.turns.length + view.folded).toBe(200);
  expect(view.turns.at(-1)?.body).toBe('200');
  const before = view.turns.slice(0, -1);
  const after = folded(view, { type: 'StreamText', delta: 'x' }).turns.slice(0, -1);
  expect(after.every((turn, i) => turn === before[i])).toBe(true);
  expect(reduce(view, event({ type: 'SomethingNew' }))).toBe(view);
});
