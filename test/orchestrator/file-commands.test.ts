// Edits through whole turns, and undo, redo and diff as messages of the session.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

const files = { 'a.txt': 'one\r\ntwo\r\nthree\r\n', 'b.txt': 'bee\n' };

/** `first`: edits a.txt twice and makes new/c.txt. `second`: edits b.txt. */
function script(turn: ScriptedTurn): ScriptedAnswer {
  const second = turn.messagesText.includes('second');
  if (turn.toolNames.length === 0) return { text: '{"sufficient": true}' };
  if (second && turn.userText.startsWith('second') && turn.stepOfMessage === 0) {
    return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'b.txt' } }, edit('b.txt', 'bee', 'bee hive')] };
  }
  if (!second && turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] };
  if (!second && turn.stepOfMessage === 1) {
    const write = { name: 'WriteFile', args: { file_path: 'new/c.txt', content: 'sea\n' } };
    return { toolCalls: [edit('a.txt', 'two', '2'), edit('a.txt', 'three', '3'), write] };
  }
  return { text: 'changed' };
}

const edit = (file_path: string, old_string: string, new_string: string) => ({
  name: 'EditTool',
  args: { file_path, old_string, new_string },
});

const read = (world: World, name: string) => readFileSync(join(world.project, name), 'utf8');

async function changed(world: World): Promise<{ readonly odin: Odin; readonly sid: string }> {
  const odin = await world.open();
  const sid = odin.newSession();
  for (const body of ['first', 'second']) {
    expect(only(await world.ask(odin, sid, { mode: 'edit', body }), 'AgentDone').answer).toBe('changed');
  }
  return { odin, sid };
}

const move = (world: World, odin: Odin, sid: string, type: 'undo' | 'redo', count = 1) =>
  world.ask(odin, sid, { mode: 'edit', body: `/${type} ${count}`, command: { type, count } });

test('O15 O16 E12: edits of one step on one file run in order, line endings are kept, and the diff shows the sum', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await changed(world);
    expect(read(world, 'a.txt')).toBe('one\r\n2\r\n3\r\n');
    expect(read(world, 'new/c.txt')).toBe('sea\n');
    const diff = await odin.diff(sid);
    expect(diff.map(({ path, status }) => [path, status])).toEqual([
      ['a.txt', 'changed'],
      ['b.txt', 'changed'],
      ['new/c.txt', 'created'],
    ]);
    expect(diff[0]).toMatchObject({ added: 2, removed: 2 });
    expect(diff[0]?.diff).toContain('-two');
  });
});

test('E14: undo and redo move whole messages back and forth, byte for byte, created files included', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await changed(world);
    const after = read(world, 'a.txt');
    const undone = only(await move(world, odin, sid, 'undo', 2), 'AgentDone');
    expect(undone).toMatchObject({ status: 'completed' });
    expect(undone.answer).toContain('a.txt');
    expect([read(world, 'a.txt'), read(world, 'b.txt')]).toEqual([files['a.txt'], files['b.txt']]);
    expect(existsSync(join(world.project, 'new/c.txt'))).toBe(false);
    expect(await odin.diff(sid)).toEqual([]);
    await move(world, odin, sid, 'redo');
    expect([read(world, 'a.txt'), read(world, 'b.txt')]).toEqual([after, files['b.txt']]);
    await move(world, odin, sid, 'redo');
    expect(read(world, 'b.txt')).toBe('bee hive\n');
    expect(only(await move(world, odin, sid, 'redo'), 'AgentDone')).toMatchObject({ status: 'refused' });
  });
});

test('E14: undo refuses as a whole, with the difference, when somebody else changed a file since', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await changed(world);
    writeFileSync(join(world.project, 'a.txt'), 'one\r\n2\r\nmine\r\n');
    const refused = only(await move(world, odin, sid, 'undo', 2), 'AgentDone');
    expect(refused.status).toBe('refused');
    expect(refused.answer).toContain('+mine');
    expect(read(world, 'b.txt')).toBe('bee hive\n');
    expect(read(world, 'a.txt')).toContain('mine');
    expect(only(await move(world, odin, sid, 'undo'), 'AgentDone').status).toBe('completed');
    expect(read(world, 'b.txt')).toBe(files['b.txt']);
  });
});

test('E14: the planner is told of an undo with the next message, and a new change ends what could be redone', async () => {
  await withWorld({ script, files }, async (world) => {
    const { odin, sid } = await changed(world);
    await move(world, odin, sid, 'undo');
    await world.ask(odin, sid, { mode: 'ask', body: 'what now?' });
    expect(world.server.requests.at(-1)?.body).toContain('undone earlier changes of these files: b.txt');
    const { messages } = await odin.state(sid);
    expect(messages.map((message) => message.body)).toEqual(['first', 'second', '/undo 1', 'what now?']);
  });
});

test('O16: an edit of a file that was not read is refused with what to read', async () => {
  const blind = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? { toolCalls: [edit('a.txt', 'two', '2')] }
      : { text: turn.lastToolResults.map((result) => result.text).join('') };
  await withWorld({ script: blind, files }, async (world) => {
    const odin = await world.open();
    const { answer } = only(await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'x' }), 'AgentDone');
    expect(answer).toContain('read');
    expect(answer).toContain('a.txt');
    expect(read(world, 'a.txt')).toBe(files['a.txt']);
  });
});

test('O23: with nobody to ask, a write outside of the project is refused and nothing happens', async () => {
  const outside = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? { toolCalls: [{ name: 'WriteFile', args: { file_path: '../outside.txt', content: 'x' } }] }
      : { text: turn.lastToolResults.map((result) => result.text).join('') };
  await withWorld({ script: outside, files }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'x' });
    expect(only(events, 'PermissionAsked').detail).toContain('outside.txt');
    expect(only(events, 'PermissionAnswered')).toMatchObject({ decision: 'deny', by: 'nobody' });
    expect(only(events, 'AgentDone').answer).toContain('Nobody is here');
    expect(existsSync(join(world.project, '../outside.txt'))).toBe(false);
  });
});
