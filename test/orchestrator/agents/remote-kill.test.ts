// kill -9 of workers, and parents that leave, while an agent is with a worker: it goes on, and what it did is in the project once.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import type { Odin } from '../../../orchestrator/api.ts';
import { beat } from '../../../orchestrator/jobs/workers.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { only } from '../../support/odin-world.ts';
import { withRemoteWorld } from '../../support/remote-world.ts';
import { until } from '../../support/until.ts';

test('C5 O24 O25: with kill -9 of its worker, in a question and in mid-work, and a parent that begins anew an agent goes on; it is asked for once, and its edit is made once', async () => {
  const held = { a: 0, b: 0 };
  const gate = Promise.withResolvers<void>();
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (!turn.system.includes('You are a subagent')) {
      if (turn.stepOfMessage > 0) return { text: turn.lastToolResults.map(({ text }) => text).join(' | ') };
      const file = /\b([ab]\.txt)\b/.exec(turn.userText)?.[1] ?? '';
      return { toolCalls: [{ name: 'AgentTool', args: { title: 'Editor', prompt: `Edit ${file}.` } }] };
    }
    const file = /\b([ab]\.txt)\b/.exec(turn.userText)?.[1] ?? '';
    if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: file } }] };
    if (turn.stepOfMessage === 1) {
      const args = { file_path: file, old_string: 'two', new_string: 'two\nadded' };
      return { toolCalls: [{ name: 'EditTool', args }] };
    }
    if (turn.stepOfMessage === 2 && file === 'a.txt') {
      return { toolCalls: [{ name: 'WriteFile', args: { file_path: '.vscode/a.json', content: '{}\n' } }] };
    }
    // What is asked for the second file is answered when the test says so; of the first file what its dead worker had asked never is.
    held[file === 'a.txt' ? 'a' : 'b'] += 1;
    if (file === 'b.txt' || held.a === 1) await gate.promise;
    return { text: `Edited ${file}.` };
  };
  const lines = 'one\ntwo\nthree\n';
  await withRemoteWorld({ script, files: { 'b.txt': lines } }, async (world) => {
    const open = (): Promise<Odin> => world.open({ permission: { mode: 'ask', timeoutMs: null } });
    const end = async (odin: Odin, sid: string, seq: number): Promise<readonly StreamEvent[]> => {
      const stop = new AbortController();
      const events: StreamEvent[] = [];
      for await (const event of odin.follow(sid, { from: '0', signal: stop.signal })) {
        if (event.seq === seq) events.push(event);
        if (event.seq === seq && event.type === 'AgentDone') stop.abort();
      }
      return events;
    };
    const check = (events: readonly StreamEvent[], file: string, steps: number) => {
      expect(events.filter((event) => event.type === 'ToolCallStart' && event.tool === 'EditTool')).toHaveLength(1);
      expect(events.filter((event) => event.type === 'ToolCallStart' && event.tool === 'AgentPatch')).toHaveLength(1);
      expect(only(events, 'AgentPlaced').worker).not.toBeNull();
      expect(only(events, 'AgentEnded')).toMatchObject({ end: 'completed', steps });
      expect(readFileSync(join(world.project, file), 'utf8')).toBe('one\ntwo\nadded\nthree\n');
    };
    const areThere = (count: number) => until(async () => (await beat(world.handle.client, null)).length >= count);

    const first = world.worker();
    await areThere(1);
    const odin = await open();
    const sid = odin.newSession();
    await odin.submit(sid, { mode: 'edit', body: 'edit a.txt' });
    // Another of the same machine will find its copy and its session.
    const second = world.worker();
    await areThere(2);
    await until(async () => (await odin.questions()).length === 1);
    const [question] = await odin.questions();
    first.kill('SIGKILL');
    await once(first, 'exit');
    await odin.answer(question?.id ?? '', 'allow_session', { by: 'me' });
    await until(() => held.a > 0);
    world.worker();
    await until(async () =>
      (await beat(world.handle.client, null)).some(({ pid }) => ![first.pid, second.pid].includes(pid)),
    );
    second.kill('SIGKILL');
    await once(second, 'exit');
    const one = await end(odin, sid, 1);
    check(one, 'a.txt', 4);
    expect(only(one, 'PermissionAsked').questionId).toBe(question?.id);
    expect(readFileSync(join(world.project, '.vscode/a.json'), 'utf8')).toBe('{}\n');
    expect(await odin.replay(sid)).toMatchObject({ difference: null, open: null });

    await odin.submit(sid, { mode: 'edit', body: 'edit b.txt' });
    await until(() => held.b > 0);
    await until(async () => (await odin.state(sid)).subAgents.some(({ steps }) => steps === 2));
    await odin.close();
    // Its worker knows nothing of that, and comes to the end alone.
    gate.resolve();
    const next = await open();
    const two = await end(next, sid, 2);
    check(two, 'b.txt', 3);
    expect(await next.replay(sid)).toMatchObject({ difference: null, open: null });
    expect(await next.fsck(false)).toMatchObject({ clean: true });
    expect(await world.handle.client.keys('{odin}:a:*')).toEqual([]);
  });
});
