// Subagents that work with workers, through the real parts: signed jobs, clones, journals, patches, worker processes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { git } from '../../support/batch-world.ts';
import { only } from '../../support/odin-world.ts';
import { change, withRemoteWorld } from '../../support/remote-world.ts';

const isAgent = (turn: ScriptedTurn): boolean => turn.system.includes('You are a subagent');
const results = (turn: ScriptedTurn): string => turn.lastToolResults.map(({ text }) => text).join(' | ');
const agentCall = (prompt: string, more: object = {}) => ({
  name: 'AgentTool',
  args: { title: prompt, prompt, ...more },
});

test('C5 O19 O25: an agent with a worker sees the uncommitted files, is shown as a local one, and its changes are in the project once', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (!isAgent(turn)) {
      return turn.stepOfMessage === 0 ? { toolCalls: [agentCall('edit')] } : { text: `Agent: ${results(turn)}` };
    }
    const path = (name: string) => join(/working folder\W+(\S+)/i.exec(turn.system)?.[1] ?? '', name);
    switch (turn.stepOfMessage) {
      case 0:
        return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] };
      case 1:
        return {
          toolCalls: [
            { name: 'EditTool', args: { file_path: 'a.txt', old_string: 'DIRTY', new_string: 'edited' } },
            { name: 'WriteFile', args: { file_path: 'new/b.txt', content: 'from afar\n' } },
          ],
        };
      default:
        return { text: `Done in ${path('')}: ${results(turn)}` };
    }
  };
  await withRemoteWorld({ script }, async (world) => {
    change(world, 'a.txt', 'one\nDIRTY\nthree\n');
    const runner = await world.runner();
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'edit', body: 'let an agent edit' });
    expect(only(events, 'AgentPlaced')).toMatchObject({ agent: 'a1-1-1', why: '' });
    expect(only(events, 'AgentEnded')).toMatchObject({ agent: 'a1-1-1', end: 'completed', steps: 3 });
    expect(readFileSync(join(world.project, 'a.txt'), 'utf8')).toBe('one\nedited\nthree\n');
    expect(readFileSync(join(world.project, 'new/b.txt'), 'utf8')).toBe('from afar\n');
    expect(await odin.replay(sid)).toMatchObject({ difference: null, open: null });
    expect((await odin.diff(sid)).map(({ path, status }) => [path, status])).toEqual([
      ['a.txt', 'changed'],
      ['new/b.txt', 'created'],
    ]);
    expect(runner.load()).toEqual({ running: 0, done: 1 });
    expect(git(world.project, 'status', '--porcelain')).toBe(' M a.txt\n?? new/\n');
    expect(world.refused).toEqual([]);
  });
});
