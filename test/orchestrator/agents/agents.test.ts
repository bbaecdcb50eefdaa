// Subagents through the real parts: threads, ports, the journal, the tools and a scripted model server.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import type { Odin } from '../../../orchestrator/api.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { runCli } from '../../cli/run-cli.ts';
import { only, withWorld } from '../../support/odin-world.ts';
import { until } from '../../support/until.ts';

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
    const cli = { cwd: world.project, env: { ODIN_HOME: world.home } };
    const list = await runCli(['agents'], cli);
    expect(list.stdout).toMatch(/a1-1-1 +completed +2/);
    const shown = await runCli(['agents', 'show', 'a1-1-1'], cli);
    expect(shown.stdout).toContain('Read a.txt and say what it says.');
    expect(shown.stdout).toContain('completed after 2 steps');
    const late = await runCli(['agents', 'cancel', 'a1-1-1'], cli);
    expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('No agent a1-1-1 works')]);
    expect(world.logged.filter((line) => line.includes('agent'))).toEqual([]);
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

/** A planner that makes these calls, then answers with what they gave; agents do what their prompt says. */
const planner =
  (
    calls: readonly { readonly name: string; readonly args: JsonObject }[],
    agent: (turn: ScriptedTurn) => ScriptedAnswer,
  ) =>
  (turn: ScriptedTurn): ScriptedAnswer => {
    if (isAgent(turn)) return agent(turn);
    return turn.stepOfMessage === 0 ? { toolCalls: calls } : { text: results(turn) };
  };
const agentCall = (args: JsonObject) => ({ name: 'AgentTool', args: { title: 'T', prompt: 'Work.', ...args } });

test('O19 E7: a limit is never a success: steps, tokens, and each says which it was', async () => {
  const endless = (turn: ScriptedTurn): ScriptedAnswer => ({
    text: 'Looking on.',
    toolCalls: [{ name: 'Grep', args: { pattern: `p${turn.requestIndex}` } }],
  });
  const calls = [agentCall({ budget: { max_steps: 2 } }), agentCall({ budget: { tokens: 2000 } })];
  await withWorld({ script: planner(calls, endless) }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'two endless agents' });
    const ends = events.filter((event) => event.type === 'AgentEnded');
    expect(ends.map(({ agent, end, limit }) => [agent, end, limit]).toSorted()).toEqual([
      ['a1-1-1', 'limit', 'steps'],
      ['a1-1-2', 'limit', 'tokens'],
    ]);
    const given = events.filter((event) => event.type === 'ToolResult' && event.tool === 'AgentTool');
    expect(given.map((event) => event.type === 'ToolResult' && event.status)).toEqual(['failed', 'failed']);
    expect(only(events, 'AgentDone').answer).toContain('limit (steps)');
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed' });
  });
});

test('O19 O1: rights narrow downwards: no wider mode, no tool or model that is not there, no agent of an agent', async () => {
  const seen: string[][] = [];
  const agent = (turn: ScriptedTurn): ScriptedAnswer => {
    seen.push([...turn.toolNames]);
    return turn.stepOfMessage === 0
      ? { toolCalls: [agentCall({}), { name: 'WriteFile', args: { file_path: 'x.txt', content: 'x' } }] }
      : { text: results(turn) };
  };
  const calls = [
    agentCall({ mode: 'edit' }),
    agentCall({ tools: ['WriteFile'] }),
    agentCall({ model: 'nowhere/none' }),
    agentCall({ agent: 'nobody' }),
    agentCall({ tools: ['Grep', 'LS'] }),
  ];
  await withWorld({ script: planner(calls, agent) }, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'go' });
    const { answer } = only(events, 'AgentDone');
    expect(answer).toContain('In ask mode no agent can work in edit mode');
    expect(answer).toContain('has no tool "WriteFile"');
    expect(answer).toContain('nowhere/none cannot be asked');
    expect(answer).toContain('no custom agent "nobody"');
    expect(answer).toContain('There is no tool "AgentTool"');
    expect(answer).toContain('There is no tool "WriteFile"');
    expect(seen[0]?.toSorted()).toEqual(['Grep', 'LS']);
    expect(existsSync(join(world.project, 'x.txt'))).toBe(false);
    expect(events.filter(({ type }) => type === 'AgentSpawned')).toHaveLength(1);
  });
});

test('O19 O25: background agents: their ids come at once, their results are told, waited for, and never lost', async () => {
  const gate = Promise.withResolvers<void>();
  const facts: string[] = [];
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (isAgent(turn)) {
      if (turn.messagesText.includes('slow')) await gate.promise;
      return { text: `result of ${turn.messagesText.includes('slow') ? 'slow' : 'fast'}` };
    }
    facts.push(turn.messagesText);
    if (turn.userText.includes('next')) return { text: 'heard' };
    if (turn.stepOfMessage === 0) {
      return {
        toolCalls: [agentCall({ prompt: 'fast', background: true }), agentCall({ prompt: 'slow', background: true })],
      };
    }
    if (turn.stepOfMessage === 1) return { toolCalls: [{ name: 'AgentTool', args: { result_of: 'a1-1-1' } }] };
    setTimeout(() => gate.resolve(), 50);
    return { text: `first: ${results(turn)}` };
  };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'ask', body: 'background' });
    const { answer, status } = only(events, 'AgentDone');
    expect(status).toBe('completed');
    expect(answer).toContain('first: result of fast');
    expect(answer).toContain('result of slow');
    await world.ask(odin, sid, { mode: 'ask', body: 'next' });
    expect(facts.at(-1)).toContain('background agent a1-1-2 (T) has ended: completed');
    expect(await odin.replay(sid)).toMatchObject({ difference: null });
  });
});

test('O19 O25: a cancelled message cancels its agents; one agent can be told something, and be cancelled alone', async () => {
  const words = Promise.withResolvers<string>();
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (!isAgent(turn)) {
      if (turn.stepOfMessage > 0) return { text: results(turn) };
      return { toolCalls: [agentCall({ prompt: 'listener' }), agentCall({ prompt: 'stuck' })] };
    }
    if (turn.messagesText.includes('stuck')) return new Promise(() => {});
    if (turn.userText.includes('hear me')) words.resolve(turn.userText);
    if (turn.messagesText.includes('hear me')) return { text: 'heard you' };
    return { toolCalls: [{ name: 'Grep', args: { pattern: `p${turn.requestIndex}` } }], delayMs: 100 };
  };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    await odin.submit(sid, { mode: 'ask', body: 'go', limits: { maxSteps: 200 } });
    for await (const event of stream) {
      events.push(event);
      if (event.type === 'AgentProgress' && event.step === 1) {
        await odin.agent(sid, 'a1-1-1', { type: 'say', text: 'hear me', by: 'test' });
        await odin.agent(sid, 'a1-1-2', { type: 'cancel', by: 'test' });
      }
      if (event.type === 'AgentDone') stop.abort();
    }
    const ends = events.filter((event) => event.type === 'AgentEnded').map(({ agent, end }) => [agent, end]);
    expect(ends.toSorted()).toEqual([
      ['a1-1-1', 'completed'],
      ['a1-1-2', 'cancelled'],
    ]);
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'completed' });
    await expect(odin.agent(sid, 'a1-1-1', { type: 'cancel', by: 'test' })).rejects.toThrow('No agent a1-1-1 works');
    const long = { type: 'say', text: 'x'.repeat(20_001), by: 'test' } as const;
    await expect(odin.agent(sid, 'a1-1-1', long)).rejects.toThrow('That is 20001 characters');
    const again: StreamEvent[] = [];
    const second = new AbortController();
    const follow = odin.follow(sid, { from: '$', signal: second.signal });
    await odin.submit(sid, { mode: 'ask', body: 'go again', limits: { maxSteps: 200 } });
    for await (const event of follow) {
      again.push(event);
      if (event.type === 'AgentProgress' && event.step === 1) await odin.cancel(sid, 'test');
      if (event.type === 'AgentDone') second.abort();
    }
    expect(only(again, 'AgentDone')).toMatchObject({ status: 'cancelled' });
    expect(again.flatMap((event) => (event.type === 'AgentEnded' ? [event.end] : []))).toEqual([
      'cancelled',
      'cancelled',
    ]);
  });
});

test('O19: agents of the folder and of the user: described to the planner; untrusted text is no order and names no model', async () => {
  const systems: string[] = [];
  const descriptions: string[] = [];
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (isAgent(turn)) {
      systems.push(turn.system);
      return { text: `tools: ${turn.toolNames.join(' ')} model: ${turn.model}` };
    }
    descriptions.push(JSON.stringify(turn.body));
    return turn.stepOfMessage === 0 ? { toolCalls: [agentCall({ agent: 'reviewer' })] } : { text: results(turn) };
  };
  const file =
    '---\ndescription: Reviews a change\nmode: ask\ntools: Grep, ReadFile, WriteFile\nmodel: anthropic/costly\n---\nYou review strictly.\n';
  const files = { '.odin/agents/reviewer.md': file, '.odin/agents/broken.md': 'no front matter' };
  await withWorld({ script, files }, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const events = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'review' });
    expect(descriptions[0]).toContain('reviewer: Reviews a change');
    expect(only(events, 'AgentSpawned')).toMatchObject({ kind: 'reviewer', mode: 'ask', model: 'anthropic/scripted' });
    expect(only(events, 'AgentDone').answer).toContain('tools: Grep ReadFile model: scripted');
    expect(systems[0]).toContain('<project-instructions trusted="no">');
    expect(systems[0]).toContain('You review strictly.');
    expect(world.noticed.some((line) => line.includes('broken.md is left out'))).toBe(true);
  });
});

test('O24 O25: an agent asks the user by its title; what is allowed it does, and the answer is in the journal once', async () => {
  const agent = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? { toolCalls: [{ name: 'WriteFile', args: { file_path: '.env', content: 'A=1\n' } }] }
      : { text: results(turn) };
  await withWorld({ script: planner([agentCall({ title: 'Maker' })], agent) }, async (world) => {
    const odin = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
    const sid = odin.newSession();
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    await odin.submit(sid, { mode: 'edit', body: 'make it' });
    for await (const event of stream) {
      events.push(event);
      if (event.type === 'PermissionAsked') await odin.answer(event.questionId, 'allow', { by: 'test' });
      if (event.type === 'AgentDone') stop.abort();
    }
    expect(only(events, 'PermissionAsked')).toMatchObject({ agent: 'Maker (a1-1-1)' });
    expect(only(events, 'PermissionAnswered')).toMatchObject({ decision: 'allow', by: 'test', agent: 'a1-1-1' });
    expect(existsSync(join(world.project, '.env'))).toBe(true);
    expect(await odin.questions()).toEqual([]);
    expect(await odin.replay(sid)).toMatchObject({ difference: null });
  });
});

test('O25: the words of an agent’s model are seen as they come, in the agent’s name, and never journaled', async () => {
  const text = 'word '.repeat(200);
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (isAgent(turn)) return { text, fault: 'stall' };
    return turn.stepOfMessage === 0 ? { toolCalls: [agentCall({})] } : { text: 'Done.' };
  };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    // Another process sees the same.
    const client = await world.open({ models: false });
    const sid = odin.newSession();
    await odin.submit(sid, { mode: 'ask', body: 'speak' });
    const seenBy = async (follower: Odin) => {
      const stop = new AbortController();
      for await (const event of follower.follow(sid, { from: '0', signal: stop.signal })) {
        if (event.type !== 'StreamText') continue;
        stop.abort();
        return event;
      }
      return null;
    };
    for (const event of await Promise.all([seenBy(odin), seenBy(client)])) {
      expect(event).toMatchObject({ agent: 'a1-1-1', seq: 1, id: null });
      expect(text.startsWith(event?.delta ?? '-')).toBe(true);
    }
    await odin.agent(sid, 'a1-1-1', { type: 'cancel', by: 'me' });
    await until(async () => (await odin.state(sid)).agentResults.length === 1);
    expect(JSON.stringify(await Array.fromAsync(odin.export(sid)))).not.toContain('word word');
  });
});
