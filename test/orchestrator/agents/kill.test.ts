// kill -9 of the orchestrator while its subagents work: the next one goes on with all of them, and no call is run twice.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { crashChild } from '../../support/crash-bundle.ts';
import { only, withWorld } from '../../support/odin-world.ts';

const AGENTS = 4;

async function startOwner(order: object): Promise<ChildProcess> {
  const { args, env } = crashChild('turns-child');
  const child = spawn(process.execPath, [...args, JSON.stringify(order)], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

test('C5 O25: kill -9 with agents at work, in the foreground and in the background: all go on, every edit is made once', async () => {
  let killed = false;
  const waiting: (() => void)[] = [];
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (!turn.system.includes('You are a subagent')) {
      if (turn.stepOfMessage > 0) return { text: turn.lastToolResults.map(({ text }) => text).join(' | ') };
      const calls = Array.from({ length: AGENTS }, (_, n) => ({
        name: 'AgentTool',
        args: { title: `Editor ${n}`, prompt: `You are number ${n}.`, background: n === 0 },
      }));
      return { toolCalls: calls };
    }
    const n = /number (\d)/.exec(turn.messagesText)?.[1] ?? '';
    if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'shared.txt' } }] };
    if (turn.stepOfMessage === 1) {
      const args = { file_path: 'shared.txt', old_string: `line ${n}\n`, new_string: `line ${n}\nafter ${n}\n` };
      return { toolCalls: [{ name: 'EditTool', args }] };
    }
    if (killed) return { text: `Edited as number ${n}.` };
    // All have edited; the owner is killed while each waits for its next answer.
    return new Promise<ScriptedAnswer>(() => {
      waiting.push(() => {});
      if (waiting.length === AGENTS) allWait.resolve();
    });
  };
  const allWait = Promise.withResolvers<void>();
  const lines = Array.from({ length: AGENTS }, (_, n) => `line ${n}\n`).join('');
  await withWorld({ script, files: { 'shared.txt': lines } }, async (world) => {
    const order = { url: world.server.url, project: world.project, home: world.home };
    const first = await startOwner(order);
    let second: ChildProcess | null = null;
    try {
      const odin = await world.open({ models: false });
      const sid = odin.newSession();
      const stop = new AbortController();
      const stream = odin.follow(sid, { from: '$', signal: stop.signal });
      await odin.submit(sid, { mode: 'edit', body: 'four agents' });
      const events: StreamEvent[] = [];
      const seen = (async () => {
        for await (const event of stream) {
          events.push(event);
          if (event.type === 'AgentDone') stop.abort();
        }
      })();
      await allWait.promise;
      killed = true;
      first.kill('SIGKILL');
      await once(first, 'exit');
      second = await startOwner(order);
      await seen;
      const expected = Array.from({ length: AGENTS }, (_, n) => `line ${n}\nafter ${n}\n`).join('');
      expect(readFileSync(join(world.project, 'shared.txt'), 'utf8')).toBe(expected);
      const ends = events.filter((event) => event.type === 'AgentEnded').map(({ agent, end }) => [agent, end]);
      expect(ends.toSorted()).toEqual(Array.from({ length: AGENTS }, (_, n) => [`a1-1-${n + 1}`, 'completed']));
      const edits = events.filter((event) => event.type === 'ToolCallStart' && event.tool === 'EditTool');
      expect(edits).toHaveLength(AGENTS);
      const { answer, status } = only(events, 'AgentDone');
      expect(status).toBe('completed');
      for (let n = 1; n < AGENTS; n += 1) expect(answer).toContain(`Edited as number ${n}.`);
      expect(await odin.replay(sid)).toMatchObject({ difference: null, open: null });
      expect(await odin.fsck(false)).toMatchObject({ clean: true });
    } finally {
      first.kill('SIGKILL');
      second?.kill('SIGKILL');
    }
  });
});
