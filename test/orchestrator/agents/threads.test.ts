// What becomes of subagents when their thread is lost: they go on in another from their journal, or are reported; Odin lives.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import type { OpenOptions } from '../../../orchestrator/api.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { only, type World, withWorld } from '../../support/odin-world.ts';
import { until } from '../../support/until.ts';

const workerUrl = new URL('../../fixtures/agents-odd.ts', import.meta.url);
const isAgent = (turn: ScriptedTurn): boolean => turn.system.includes('You are a subagent');
const results = (turn: ScriptedTurn): string => turn.lastToolResults.map(({ text }) => text).join(' | ');

/** One agent whose thread goes wrong, and one beside it in the same thread. */
const script =
  (how: string) =>
  (turn: ScriptedTurn): ScriptedAnswer => {
    if (isAgent(turn)) {
      const file = turn.messagesText.includes('ODD-') ? 'odd.txt' : 'even.txt';
      if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: file } }] };
      if (turn.stepOfMessage === 1) {
        return { toolCalls: [{ name: 'EditTool', args: { file_path: file, old_string: 'one', new_string: 'two' } }] };
      }
      return { text: `Edited ${file}.` };
    }
    if (turn.stepOfMessage > 0 || turn.userText.includes('and now?')) return { text: results(turn) || 'Fine.' };
    return {
      toolCalls: [
        ...Array.from({ length: how === 'exit-always' ? 3 : 1 }, () => ({
          name: 'AgentTool',
          args: { title: 'Odd', prompt: `ODD-${how} edit odd.txt` },
        })),
        { name: 'AgentTool', args: { title: 'Even', prompt: 'edit even.txt' } },
      ],
    };
  };

async function run(
  how: string,
  agentThreads: { readonly silentMs?: number; readonly memoryMb?: number },
  hooksIn: (world: World) => OpenOptions['hooks'] = () => [],
) {
  return withWorld({ script: script(how), files: { 'odd.txt': 'one\n', 'even.txt': 'one\n' } }, async (world) => {
    const odin = await world.open({
      permission: { mode: 'accept-edits', timeoutMs: null },
      agentThreads: { workerUrl, ...agentThreads },
      hooks: hooksIn(world) ?? [],
    });
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'edit', body: 'two agents' });
    const read = (name: string) => readFileSync(join(world.project, name), 'utf8');
    const { difference } = await odin.replay(sid);
    const again = await world.ask(odin, sid, { mode: 'ask', body: 'and now?' });
    return { events, odd: read('odd.txt'), even: read('even.txt'), difference, again, logged: world.logged };
  });
}

const edits = (events: readonly StreamEvent[], agent: string): readonly string[] =>
  events.flatMap((event) =>
    event.type === 'ToolResult' && event.agent === agent && event.tool === 'EditTool' ? [event.status] : [],
  );

for (const [how, options] of [
  ['exit', {}],
  ['throw', {}],
  ['loop', { silentMs: 3_000 }],
  ['memory', { memoryMb: 48 }],
] as const) {
  test(`C3 C5 O25: a thread lost by ${how}: all its agents go on in another, and no call is run twice`, async () => {
    const { events, odd, even, difference, logged } = await run(how, options);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed' });
    const ends = events.filter((event) => event.type === 'AgentEnded');
    expect(ends.map((event) => event.end)).toEqual(['completed', 'completed']);
    expect([odd, even]).toEqual(['two\n', 'two\n']);
    expect([edits(events, 'a1-1-1'), edits(events, 'a1-1-2')]).toEqual([['ok'], ['ok']]);
    expect(difference).toBeNull();
    expect(logged.some((line) => line.startsWith('the thread of an agent was lost'))).toBe(true);
  });
}

test('C3 C5 O25: a call that ends after its thread was lost, and before the next one asks for it, has one result', async () => {
  const isLost = (line: string) => line.startsWith('the thread of an agent was lost');
  const heldUp = ({ logged }: World) => [
    { name: 'held up', timeoutMs: 300_000, toolResult: () => until(() => logged.some(isLost)) },
  ];
  const { events, odd, difference } = await run('late', {}, heldUp);
  expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed' });
  const results = events.flatMap((event) =>
    event.type === 'ToolResult' && event.agent === 'a1-1-1' ? [`${event.tool} ${event.status}`] : [],
  );
  expect([results, odd, difference]).toEqual([['ReadFile ok', 'EditTool ok'], 'two\n', null]);
});

test('C3 O19: agents that lose every thread are reported as crashed, more of them than threads for one alone; their neighbour, the message and the next one go on', async () => {
  const { events, again } = await run('exit-always', {});
  const ends = events.filter((event) => event.type === 'AgentEnded');
  const endOf = (agent: string) => ends.find((event) => event.agent === agent)?.end;
  expect(['a1-1-1', 'a1-1-2', 'a1-1-3', 'a1-1-4'].map(endOf)).toEqual(['crashed', 'crashed', 'crashed', 'completed']);
  const result = events.find(
    (event) => event.type === 'ToolResult' && event.tool === 'AgentTool' && event.op === '1.1.1',
  );
  expect(result).toMatchObject({ status: 'failed' });
  expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed' });
  expect(only(again, 'AgentDone')).toMatchObject({ status: 'completed' });
});
