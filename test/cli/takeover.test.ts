// Two processes in one project, one of them killed in mid-turn: the survivor takes the workspace over and goes on with both messages.

import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { runCli, startCli } from './run-cli.ts';

test('O4 O6: kill -9 of the process that runs both: the other one finishes both messages, and no call is made twice', async () => {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'odin-takeover-')));
  const home = mkdtempSync(join(tmpdir(), 'odin-takeover-home-'));
  writeFileSync(join(project, 'ODIN.md'), 'A project.\n');
  const bothWait = Promise.withResolvers<void>();
  const isDead = Promise.withResolvers<void>();
  const waiting = new Set<string>();
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    const text = turn.userText.split('\n')[0] ?? '';
    if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'ODIN.md' } }] };
    waiting.add(text);
    if (waiting.size === 2) bothWait.resolve();
    await isDead.promise;
    return { text: `Answer to ${text}.` };
  };
  const server = await startScriptedServer({ script });
  const env = { ODIN_HOME: home, ANTHROPIC_API_KEY: 'test-key-of-no-use', ANTHROPIC_BASE_URL: server.url };
  const options = { cwd: project, env };
  try {
    const first = startCli(['run', 'first', '--model', 'anthropic/scripted'], options);
    await first.until(/ReadFile/);
    const second = startCli(['run', 'second', '--model', 'anthropic/scripted'], options);
    await bothWait.promise;
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    isDead.resolve();
    const end = await second.ended;
    expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining('Answer to second.') });
    const { stdout: list } = await runCli(['sessions', 'list', '--json'], options);
    const sessions = list
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { sid: string; title: string; status: string });
    expect(sessions.map(({ title, status }) => [title, status]).toSorted()).toEqual([
      ['first', 'idle'],
      ['second', 'idle'],
    ]);
    for (const { sid } of sessions) {
      const { stdout } = await runCli(['sessions', 'export', sid], options);
      const types = stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { event: { type: string } }).event.type);
      expect(types.filter((type) => type === 'tool.done')).toHaveLength(1);
      expect(types.filter((type) => type === 'msg.done')).toHaveLength(1);
      expect(types.filter((type) => type === 'claim')).toHaveLength(2);
    }
  } finally {
    isDead.resolve();
    await server.close();
    for (const folder of [project, home]) rmSync(folder, { recursive: true, force: true });
  }
});
