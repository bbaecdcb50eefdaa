// Messages that kill the process they run in (DURABILITY 15, test 15), with real processes, each killed by SIGKILL from inside.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { openMarks } from '../../orchestrator/journal-marks.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { withInlinePayload } from '../../orchestrator/payloads.ts';
import { createQuarantine } from '../../orchestrator/quarantine.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { replayJournal } from '../../orchestrator/replay.ts';
import type { JournalEvent } from '../../shared/events.ts';
import { ulid } from '../../shared/ids.ts';
import { type OwnerChild, startOwner } from '../support/owner-process.ts';
import { startTestRedis } from '../support/redis.ts';
import { ask, claimed, inboxOf, WS } from '../support/redis-session.ts';
import { until } from '../support/until.ts';

const DIED_ALONE = /^log a process that ran a message alone has died/;

test('DURABILITY 15.15: a message that kills its process is isolated within 6 crashes, ends with a word about it, and no innocent one does', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'odin-quarantine-'));
  const project = join(folder, 'project');
  mkdirSync(project);
  for (const name of ['ODIN.md', 'poison.md', 'fine.md']) writeFileSync(join(project, name), 'text\n');
  const held = Promise.withResolvers<void>();
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    const word = turn.userText.split('\n')[0] ?? '';
    if (turn.stepOfMessage > 0 && word.startsWith('poison')) return { text: `survived: ${word}` };
    if (turn.stepOfMessage > 0) {
      // Those that did nothing wrong are there at every crash.
      await held.promise;
      return { text: `done: ${word}` };
    }
    const file = word.startsWith('poison') ? 'poison.md' : 'fine.md';
    return { toolCalls: [{ name: 'ReadFile', args: { file_path: join(project, file) } }] };
  };
  const server = await startScriptedServer({ script });
  const order = { url: server.url, project, home: join(folder, 'home'), dieOn: 'poison.md', alone: true };
  const handle = await connectRedis({ home: order.home, notice: () => {} });
  let owner: OwnerChild | null = null;
  let crashes = 0;
  try {
    owner = startOwner(order);
    const innocent: string[] = [];
    for (let n = 0; n < 2; n += 1) innocent.push(await owner.submit({ body: 'innocent' }));
    // So long that it is a blob in the journal.
    const poisoned = await owner.submit({ body: `poison\n${'x'.repeat(20_000)}` });
    for (;;) {
      await Promise.race([owner.exited, owner.line(DIED_ALONE).catch(() => {})]);
      if (owner.process.signalCode === null) break;
      crashes += 1;
      if (crashes === 3) held.resolve();
      owner = startOwner(order);
      await owner.line(/^open/);
    }
    // The process that everything runs in stays from here on, and takes new messages.
    await owner.submit({ sid: poisoned });
    const beside = await owner.submit({ body: 'a new one' });
    await owner.line(new RegExp(`^done ${beside} completed done: a new one`));
    for (const sid of innocent) await owner.submit({ sid });
    for (const sid of [poisoned, ...innocent]) await owner.line(new RegExp(`^done ${sid}`));
    const bad = await eventsOf(poisoned);
    expect(bad.filter(({ type }) => type === 'msg.done')).toMatchObject([
      { status: 'planner_failure', failure: { code: 'process_crashed' } },
    ]);
    expect(isBalanced(bad)).toBe(true);
    const blobs = openBlobs(order.home);
    const whole = (event: JournalEvent) => withInlinePayload(event, (blob) => blobs.getPayload({ blob }));
    const log = (await readLog(handle.client, poisoned, '0')).map(async ({ id, event }) => ({
      id,
      event: await whole(event),
    }));
    expect(replayJournal(poisoned, await Promise.all(log)).difference).toBeNull();
    for (const sid of [beside, ...innocent]) {
      const done = (await eventsOf(sid)).filter(({ type }) => type === 'msg.done');
      expect(done).toMatchObject([{ status: 'completed' }]);
    }
    expect(crashes).toBe(3);
    expect(owner.lines.filter((line) => DIED_ALONE.test(line))).toHaveLength(3);
    // The session itself goes on.
    await owner.submit({ sid: poisoned, body: 'what now?' });
    await owner.line(new RegExp(`^done ${poisoned} completed`));
  } finally {
    held.resolve();
    await owner?.end();
    await handle.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }

  async function eventsOf(sid: string): Promise<JournalEvent[]> {
    return (await readLog(handle.client, sid, '0')).map(({ event }) => event);
  }
});

test('DURABILITY 0.9: a process that cannot be started for a suspect message takes nobody along', async () => {
  const { handle, home, close } = await startTestRedis();
  const logged: string[] = [];
  const open = (nameHelper: () => Promise<void>) =>
    createQuarantine({
      redis: handle.client,
      ws: WS,
      marks: openMarks(home),
      command: [join(home, 'no-such-program')],
      orderFor: () => '',
      nameHelper,
      relay: (_turn, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      publish: async () => {},
      ended: () => {},
      now: Date.now,
      log: (message, detail) => logged.push(`${message} ${JSON.stringify(detail)}`),
    });
  try {
    const sid = ulid();
    await inboxOf(handle.client, home).submit(ask(sid, 'suspect'));
    const turn = { sid, seq: 1, mode: 'ask', gen: 0 } as const;
    const claim = { ...(await claimed(handle.client, sid, 1)), crashes: 3 };
    // Here Redis is slower than the system is to say no: a rejection that nobody had taken by then would end the process, as it ends the test.
    open(() => new Promise(() => {})).takes(turn, claim);
    const quarantine = open(() => Promise.resolve());
    expect(quarantine.takes(turn, claim)).toBe(true);
    await until(() => logged.length > 0);
    expect(logged.join()).toMatch(/could not be run alone.*ENOENT/);
    await quarantine.close();
    expect(quarantine.has(turn)).toBe(false);
  } finally {
    await close();
  }
});

/** Whether each call of the model has exactly one result. */
function isBalanced(events: readonly JournalEvent[]): boolean {
  const calls = events.flatMap((event) => (event.type === 'llm.res' ? event.calls.map(({ op }) => op) : []));
  const results = events.flatMap((event) => (event.type === 'tool.done' ? [event.op] : []));
  return calls.length > 0 && JSON.stringify(calls.toSorted()) === JSON.stringify(results.toSorted());
}
