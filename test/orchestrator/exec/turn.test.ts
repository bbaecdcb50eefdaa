// Commands in whole turns: queue, journal, machines, gate, permission, sandbox, process.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { processesWith, sandboxHere } from '../../support/exec-bench.ts';
import { only, withWorld } from '../../support/odin-world.ts';
import { until } from '../../support/until.ts';

const commands =
  (...list: readonly string[]) =>
  (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? { toolCalls: list.map((command) => ({ name: 'ExecuteCommand', args: { command } })) }
      : { text: turn.lastToolResults.map((result) => result.text).join(' | ') };

test('O18 E12: commands of one step run in order, share the folder, and answer the model with code and output', async () => {
  const script = commands('pwd; cd src', 'cat a.txt; ls nothing', 'grep -c x a.txt');
  await withWorld({ script, files: { 'src/a.txt': 'xylophone\n' } }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'edit', body: 'look' });
    const [first, second, third] = only(events, 'AgentDone').answer.split(' | ');
    expect(first).toMatch(/^Exit code 0[\s\S]*\/project\n$/);
    expect(second).toMatch(/^Exit code 2[\s\S]*\/project\/src\nxylophone\n/);
    expect(third).toMatch(/^Exit code 0[\s\S]*\n1\n$/);
    const intents: unknown[] = [];
    for await (const { event } of odin.export(sid) as AsyncIterable<{ event: { type: string } }>) {
      if (event.type === 'tool.intent') intents.push(event);
    }
    expect(intents).toHaveLength(3);
  });
});

test('G8 O23: ask mode does not write, and with nobody to ask nothing that needs a yes is run', async () => {
  const script = commands('echo x > made', 'rm -rf src', 'sudo ls');
  for (const mode of ['ask', 'edit'] as const) {
    await withWorld({ script, files: { 'src/a.txt': 'x\n' } }, async (world) => {
      const odin = await world.open();
      const events = await world.ask(odin, odin.newSession(), { mode, body: 'do' });
      const answer = only(events, 'AgentDone').answer;
      expect(answer).toMatch(mode === 'ask' ? /ask mode runs only commands that read/ : /Nobody is here to allow it/);
      expect(answer).toMatch(/never run/);
      expect(existsSync(join(world.project, 'src/a.txt'))).toBe(true);
      const confined = (await sandboxHere()) !== null;
      expect(existsSync(join(world.project, 'made'))).toBe(mode === 'edit' && confined);
    });
  }
});

test('DURABILITY 8: a command that Odin leaves in the middle of is stopped, and the next Odin says so and runs it no second time', async () => {
  const script = commands('cat ODIN.md; ls >> /dev/null; tail -f ODIN.md');
  await withWorld({ script }, async (world) => {
    const before = await world.open();
    const sid = before.newSession();
    await before.submit(sid, { mode: 'ask', body: 'x' });
    const out = () => join(world.home, 'commands', sid, '1.1.1', 'out');
    await until(() => existsSync(out()) && readFileSync(out(), 'utf8').includes('# Test project\n# Test project'));
    await before.close();
    const after = await world.open();
    const stop = new AbortController();
    for await (const event of after.follow(sid, { from: '0', signal: stop.signal })) {
      if (event.type !== 'AgentDone') continue;
      expect(event.answer).toMatch(/interrupted while this ran\.\nStopped when Odin left/);
      expect(event.answer).toContain('# Test project');
      stop.abort();
    }
  });
});

test('E11 DURABILITY 8: a message that was cancelled right before Odin left ends as cancelled with the next Odin', async () => {
  const word = `odin-cancelled-${Math.random()}`;
  await withWorld({ script: commands(`touch up; tail -f up # ${word}`) }, async (world) => {
    const permission = { mode: 'ask', timeoutMs: null, allow: [] } as const;
    const before = await world.open({ permission });
    const sid = before.newSession();
    const stream = before.follow(sid, { from: '0', signal: AbortSignal.timeout(300_000) });
    await before.submit(sid, { mode: 'edit', body: 'x' });
    if (!(await sandboxHere())) {
      for await (const event of stream) {
        if (event.type !== 'PermissionAsked') continue;
        await before.answer(event.questionId, 'allow', { by: 'test' });
        break;
      }
    }
    await until(() => processesWith(word).length > 0);
    expect(await before.cancel(sid, 'test')).toBe(true);
    // The cancel is journaled; what it has done is not.
    await before.close();
    expect(processesWith(word)).toEqual([]);
    const after = await world.open();
    for await (const event of after.follow(sid, { from: '0', signal: AbortSignal.timeout(300_000) })) {
      if (event.type !== 'AgentDone') continue;
      expect(event.status).toBe('cancelled');
      break;
    }
  });
});
