// Subagents through the real parts: threads, ports, the journal, the tools and a scripted model server.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { only, withWorld } from '../../support/odin-world.ts';

const isAgent = (turn: ScriptedTurn): boolean => turn.system.includes('You are a subagent');
const results = (turn: ScriptedTurn): string => turn.lastToolResults.map(({ text }) => text).join(' | ');

test('O19 O25 C3: an agent works in its own conversation, without AgentTool, and its answer is the result of the call', async () => {
  const seen: { readonly tools: readonly string[]; readonly text: string }[] = [];
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (isAgent(turn)) {
      seen.push({ tools: turn.toolNames, text: turn.messagesText });
      if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] };
      return { text: `It says: ${results(turn)}` };
    }
    if (turn.stepOfMessage === 0) {
      return {
        toolCalls: [{ name: 'AgentTool', args: { title: 'Read a', prompt: 'Read a.txt and say what it says.' } }],
      };
    }
    return { text: `The agent: ${results(turn)}` };
  };
  await withWorld({ script, files: { 'a.txt': 'forty-two\n' } }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'ask', body: 'the secret plan: what is in a.txt?' });
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed', steps: 2 });
    expect(only(events, 'AgentDone').answer).toContain('forty-two');
    expect(only(events, 'AgentSpawned')).toMatchObject({
      agent: 'a1-1-1',
      title: 'Read a',
      mode: 'ask',
      background: false,
    });
    expect(only(events, 'AgentEnded')).toMatchObject({ agent: 'a1-1-1', end: 'completed', limit: null, steps: 2 });
    expect(events.find((event) => event.type === 'ToolCallStart' && event.tool === 'ReadFile')).toMatchObject({
      agent: 'a1-1-1',
    });
    expect(seen).toHaveLength(2);
    expect(seen[0]?.tools).not.toContain('AgentTool');
    expect(seen[0]?.tools).toContain('ReadFile');
    expect(seen[0]?.text).not.toContain('secret plan');
    const state = await odin.state(sid);
    expect(state.subAgents).toEqual([]);
    expect(state.agentResults).toMatchObject([{ id: 'a1-1-1', end: 'completed' }]);
    expect(await odin.replay(sid)).toMatchObject({ difference: null, open: null });
    expect(world.logged).toEqual([]);
  });
});

test('O25 O16 E12: eight agents edit one file at once from one message: every result is in, no edit is lost', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (isAgent(turn)) {
      const n = /number (\d)/.exec(turn.messagesText)?.[1] ?? '';
      const args = (i: number) => ({
        file_path: 'shared.txt',
        old_string: `line ${n}.${i}\n`,
        new_string: `done ${n}.${i}\n`,
      });
      if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'shared.txt' } }] };
      if (turn.stepOfMessage <= 3) return { toolCalls: [{ name: 'EditTool', args: args(turn.stepOfMessage) }] };
      return { text: `Edited as number ${n}: ${results(turn)}` };
    }
    if (turn.stepOfMessage > 0) return { text: results(turn) };
    const calls = Array.from({ length: 8 }, (_, i) => ({
      name: 'AgentTool',
      args: { title: `Editor ${i}`, prompt: `You are number ${i}. Edit your three lines.` },
    }));
    return { toolCalls: calls };
  };
  const lines = Array.from({ length: 8 }, (_, n) => [1, 2, 3].map((i) => `line ${n}.${i}\n`).join('')).join('');
  await withWorld({ script, files: { 'shared.txt': lines } }, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'edit', body: 'edit with eight agents' });
    const done = only(events, 'AgentDone');
    expect(done.status).toBe('completed');
    for (let n = 0; n < 8; n += 1) expect(done.answer).toContain(`Edited as number ${n}`);
    expect(readFileSync(join(world.project, 'shared.txt'), 'utf8')).toBe(lines.replaceAll('line', 'done'));
    expect(events.filter(({ type }) => type === 'AgentSpawned')).toHaveLength(8);
    expect(events.filter((event) => event.type === 'AgentEnded' && event.end === 'completed')).toHaveLength(8);
    const [diff] = await odin.diff(sid);
    expect(diff).toMatchObject({ path: 'shared.txt', added: 24, removed: 24 });
    expect(await odin.replay(sid)).toMatchObject({ difference: null });
  });
});
