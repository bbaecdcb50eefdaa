// What makes a long journal cheap to resume, and old events readable: snapshots and upcasts.

import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { kept, openSnapshots } from '../../orchestrator/journal-snapshot.ts';
import { createUpcast, upcast } from '../../orchestrator/journal-upcast.ts';
import { stateHash } from '../../orchestrator/replay.ts';
import { emptyMemory, remember, type SessionMemory } from '../../orchestrator/session-memory.ts';
import { createRecall } from '../../orchestrator/session-recall.ts';
import { JOURNAL_VERSION, type Journaled } from '../../shared/events.ts';
import { ulid } from '../../shared/ids.ts';
import { only, withWorld } from '../support/odin-world.ts';
import { tempHome } from '../support/redis.ts';
import { update } from '../support/redis-session.ts';

const fold = (sid: string, log: readonly Journaled[]): SessionMemory => {
  const memory = emptyMemory(sid);
  for (const { id, event } of log) remember(memory, event, id);
  return memory;
};

const script = (turn: ScriptedTurn): ScriptedAnswer =>
  turn.stepOfMessage === 0
    ? { toolCalls: [{ name: 'WriteFile', args: { file_path: `${turn.requestIndex}.txt`, content: 'text\n' } }] }
    : { text: `done ${turn.requestIndex}` };

/** The events of a real session of two messages. */
async function realJournal(): Promise<{ readonly sid: string; readonly log: readonly Journaled[] }> {
  return withWorld({ script }, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const sid = odin.newSession();
    for (const body of ['first', 'second']) only(await world.ask(odin, sid, { mode: 'edit', body }), 'AgentDone');
    const log: Journaled[] = [];
    for await (const entry of odin.export(sid)) log.push(entry as unknown as Journaled);
    return { sid, log };
  });
}

test('DURABILITY 5.3, E14: a snapshot and the events after it come to what the whole journal comes to', async () => {
  const [{ sid, log }, { home, remove }] = await Promise.all([realJournal(), tempHome()]);
  const snapshots = openSnapshots(home);
  const cut = log.findIndex(({ event }) => event.type === 'msg.done') + 1;
  snapshots.write(sid, fold(sid, log.slice(0, cut)));
  const memory = snapshots.read(sid) as SessionMemory;
  expect(kept(memory)).toEqual(kept(fold(sid, log.slice(0, cut))));
  for (const { id, event } of log.slice(cut)) remember(memory, event, id);
  expect(kept(memory)).toEqual(kept(fold(sid, log)));
  expect(stateHash(memory)).toBe(stateHash(fold(sid, log)));
  await remove();
});

test('DURABILITY 5.3: a snapshot that is damaged, half, or made by other folds is ignored', async () => {
  const [{ sid, log }, { home, remove }] = await Promise.all([realJournal(), tempHome()]);
  const snapshots = openSnapshots(home);
  expect(snapshots.read(sid)).toBeNull();
  snapshots.write(sid, fold(sid, log));
  const path = join(home, 'snapshots', sid);
  const whole = readFileSync(path);
  appendFileSync(path, 'x');
  expect(snapshots.read(sid)).toBeNull();
  writeFileSync(path, whole.subarray(0, whole.length / 2));
  expect(snapshots.read(sid)).toBeNull();
  writeFileSync(path, Buffer.from(whole.toString('latin1').replace('folds@', 'folds@9'), 'latin1'));
  expect(snapshots.read(sid)).toBeNull();
  writeFileSync(path, whole);
  expect(snapshots.read(sid)?.upTo).toBe(log.at(-1)?.id);
  await remove();
});

test('DURABILITY 5.3: a long session is snapshotted between messages, and taken up from there', async () => {
  const { home, remove } = await tempHome();
  const sid = ulid();
  const deps = { blobs: openBlobs(home), snapshots: openSnapshots(home), isRunning: () => false, isIdle: () => true };
  const recall = createRecall(deps);
  expect(recall.knownUpTo(sid)).toBeUndefined();
  const log = Array.from({ length: 1500 }, (_, n): Journaled => {
    return { id: `1-${n}`, event: { type: 'update', seq: 1, text: `line ${n}`, at: n } };
  });
  await recall.recall({ sid, seq: 2 }, '0', log.slice(0, 600));
  recall.ended(sid, 10);
  recall.save();
  expect(openSnapshots(home).read(sid)).toBeNull();
  await recall.recall({ sid, seq: 2 }, '1-599', log.slice(600));
  recall.save();
  const fresh = createRecall(deps);
  expect(fresh.knownUpTo(sid)).toBe('1-1499');
  const start = { type: 'claim', seq: 2, pid: 1, startTime: '', host: '', journal: 1, machines: '', at: 1 } as const;
  const { memory, past } = await fresh.recall({ sid, seq: 2 }, '1-1499', [{ id: '2-0', event: start }]);
  expect(memory.upTo).toBe('2-0');
  expect(past).toEqual([]);
  // A journal that does not have the event any more is folded from its beginning.
  expect((await fresh.recall({ sid, seq: 2 }, '0', log.slice(0, 3))).memory.upTo).toBe('1-2');
  expect(readdirSync(join(home, 'snapshots'))).toEqual([sid]);
  await remove();
});

test('DURABILITY 5.3: who had to read a long journal to go on with a message leaves a snapshot of what was before it', async () => {
  const { home, remove } = await tempHome();
  const sid = ulid();
  const deps = { blobs: openBlobs(home), snapshots: openSnapshots(home), isRunning: () => true, isIdle: () => false };
  const at = (id: string, event: Journaled['event']): Journaled => ({ id, event });
  const before = Array.from({ length: 1200 }, (_, n) => at(`1-${n}`, update(1, `line ${n}`)));
  const limits = { maxSteps: 1 };
  const start = {
    seq: 2,
    mid: 'm',
    mode: 'ask',
    body: { inline: 'go' },
    model: 'a/b',
    smallModel: 'a/b',
    limits,
    at: 1,
  } as const;
  const own = [at('2-1', { type: 'msg.start', ...start }), at('2-2', update(2, 'on it'))];
  const { memory, past } = await createRecall(deps).recall({ sid, seq: 2 }, '0', [...before, ...own]);
  expect(past).toHaveLength(2);
  const next = createRecall(deps);
  expect(next.knownUpTo(sid)).toBe('1-1199');
  const again = await next.recall({ sid, seq: 2 }, '1-1199', own);
  expect([kept(again.memory), again.past]).toEqual([kept(memory), past]);
  await remove();
});

test('DURABILITY 5.3: short sessions stay in memory by the hundred; of very long ones the oldest are let go', async () => {
  const { home, remove } = await tempHome();
  const limits = { maxSteps: 1 };
  const keptOf = async (chars: number, sessions: number): Promise<readonly boolean[]> => {
    const deps = { blobs: openBlobs(home), snapshots: openSnapshots(home), isRunning: () => false, isIdle: () => true };
    const recall = createRecall(deps);
    const body = { inline: 'x'.repeat(chars) };
    const start = { seq: 1, mid: 'm', mode: 'ask', body, model: 'a/b', smallModel: 'a/b', limits, at: 1 } as const;
    const sids = Array.from({ length: sessions }, () => ulid());
    for (const sid of sids) {
      await recall.recall({ sid, seq: 2 }, '0', [{ id: '1-1', event: { type: 'msg.start', ...start } }]);
      recall.ended(sid, 1);
    }
    return sids.map((sid) => recall.knownUpTo(sid) === '1-1');
  };
  expect(await keptOf(100, 300)).toEqual(Array.from({ length: 300 }, () => true));
  // However long they are, the newest 32 are kept.
  expect(await keptOf(1_000_000, 40)).toEqual(Array.from({ length: 40 }, (_, i) => i >= 8));
  await remove();
});

test('DURABILITY 13: an event of an old journal is lifted step by step to the shape of today, and a newer one is refused', () => {
  const read = createUpcast(
    [
      (event) => (event['type'] === 'note' ? { ...event, type: 'update' } : event),
      (event) => (event['type'] === 'update' ? { ...event, seq: event['message'] ?? 0 } : event),
    ],
    3,
  );
  expect(read({ type: 'note', text: 'x', message: 4 }, 1)).toEqual({ type: 'update', text: 'x', message: 4, seq: 4 });
  expect(read({ type: 'note', text: 'x', message: 4 }, 2)).toEqual({ type: 'note', text: 'x', message: 4 });
  expect(read({ type: 'update', text: 'x', seq: 4 }, 3)).toEqual({ type: 'update', text: 'x', seq: 4 });
  expect(() => read({ type: 'update' }, 4)).toThrow('written by a newer Odin');
  expect(() => upcast({ type: 'update' }, JOURNAL_VERSION + 1)).toThrow('Update Odin');
});
