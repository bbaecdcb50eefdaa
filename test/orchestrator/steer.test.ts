// A message of the queue that is said to the message that runs: with real Redis, a second process' facade, and an owner that leaves.

import { spawn } from 'node:child_process';
import { expect, test } from '@jest/globals';
import type { Script } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { keys } from '../../orchestrator/keys.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { createSteering } from '../../orchestrator/steering.ts';
import type { EventOf } from '../../shared/events.ts';
import { withWorld } from '../support/odin-world.ts';
import { type OwnerChild, startOwner } from '../support/owner-process.ts';
import { until } from '../support/until.ts';

const TOLD = /The user says, while you work: look into b\.txt too/;

async function journalOf(odin: Odin, sid: string) {
  const events: { readonly type: string; readonly seq?: number; readonly queued?: number; readonly facts?: string }[] =
    [];
  for await (const line of odin.export(sid)) events.push((line as unknown as { event: (typeof events)[0] }).event);
  return events;
}

test('O6: what waits is told to the running message from another process, journaled once with its next request, also past a change of owner; what comes too late stays in the queue and runs', async () => {
  let gates: PromiseWithResolvers<void>[] = [];
  const asked = { count: 0 };
  const script: Script = async ({ userText, stepOfMessage }) => {
    if (!userText.startsWith('work')) return { text: `Answer to <${userText.split('\n\n<')[0]}>` };
    asked.count += 1;
    await gates[stepOfMessage]?.promise;
    return stepOfMessage === 0
      ? { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] }
      : { text: 'Done.' };
  };
  await withWorld({ script, files: { 'a.txt': 'a\n', 'b.txt': 'b\n' } }, async (world) => {
    gates = [Promise.withResolvers(), Promise.withResolvers()];
    const first = await world.open();
    const sid = first.newSession();
    await expect(first.steer(sid, 2, 'test')).rejects.toThrow(/There is no session/);
    await first.submit(sid, { mode: 'ask', body: 'work' });
    await until(() => asked.count === 1);
    const client = await world.open({ models: false });
    for (const body of ['look into b.txt too', 'removed', 'x'.repeat(20_001), 'too late']) {
      await client.submit(sid, { mode: 'edit', body });
    }
    await client.submit(sid, { mode: 'edit', body: '/undo', command: { type: 'undo', count: 1 } });
    await client.removeQueued(sid, 3);
    await expect(client.steer(sid, 1, 'test')).rejects.toThrow(/is running/);
    await expect(client.steer(sid, 3, 'test')).rejects.toThrow(/has been removed/);
    await expect(client.steer(sid, 4, 'test')).rejects.toThrow(/has 20001 characters/);
    await expect(client.steer(sid, 6, 'test')).rejects.toThrow(/is a command/);
    await expect(client.steer(sid, 9, 'test')).rejects.toThrow(/does not exist/);
    expect(await client.steer(sid, 2, 'test')).toBe(1);
    expect(await client.steer(sid, 2, 'test')).toBe(1);
    expect((await client.queued(sid)).map(({ seq, steered }) => `${seq} ${steered ?? false}`)).toEqual([
      '2 true',
      '4 false',
      '5 false',
      '6 false',
    ]);
    await expect(client.editQueued(sid, 2, { body: 'other' })).rejects.toThrow(/on its way/);
    await expect(client.removeQueued(sid, 2)).rejects.toThrow(/on its way/);

    // The owner leaves in the middle of the step; the next one has the request too.
    const taken = () => world.logged.filter((line) => line.includes('is told with the next step')).length;
    await first.close();
    const before = taken();
    const owner = await world.open();
    await until(() => asked.count === 2 && taken() > before);
    gates[0]?.resolve();
    await until(() => asked.count === 3);
    expect(world.server.requests.at(-1)?.body).toMatch(TOLD);
    expect((await client.queued(sid)).map(({ seq }) => seq)).toEqual([4, 5, 6]);

    // The last answer is under way: this one comes too late.
    await client.steer(sid, 5, 'test');
    for (const seq of [4, 6]) await client.removeQueued(sid, seq);
    gates[1]?.resolve();
    await until(async () => (await owner.state(sid)).messages.at(-1)?.status === 'completed');
    await until(async () => (await owner.sessions())[0]?.status === 'idle');

    const { messages, messageQueue } = await owner.state(sid);
    expect(messageQueue).toEqual([]);
    expect(messages.map(({ seq, body, words }) => [seq, body, words])).toEqual([
      [1, 'work', ['look into b.txt too']],
      [5, 'too late', undefined],
    ]);
    const journal = await journalOf(owner, sid);
    const words = journal.filter(({ type }) => type === 'word');
    expect(words).toMatchObject([{ seq: 1, queued: 2, text: 'look into b.txt too', by: 'test' }]);
    const at = journal.findIndex(({ type }) => type === 'word');
    expect(journal[at + 1]).toMatchObject({ type: 'llm.req', facts: expect.stringMatching(TOLD) });
    expect(journal.filter(({ type }) => type === 'msg.start').map(({ seq }) => seq)).toEqual([1, 5]);
    await expect(client.steer(sid, 5, 'test')).rejects.toThrow(/is done already/);
    expect(await owner.replay(sid)).toMatchObject({ difference: null });
  });
});

test('O6: what comes while a request fails is told with its next try, behind what the first had told', async () => {
  const gate = Promise.withResolvers<void>();
  const script: Script = async ({ requestIndex }) => {
    if (requestIndex > 0) return { text: 'Done.' };
    await gate.promise;
    return { fault: 'http_529' };
  };
  await withWorld({ script, files: { 'b.txt': 'b\n' } }, async (world) => {
    const hooks = [{ name: 'hint', beforeLLM: () => ({ note: 'Mind the gap.' }) }];
    const odin = await world.open({ retryDelayMs: () => 1, hooks });
    const sid = odin.newSession();
    const first = world.ask(odin, sid, { mode: 'ask', body: 'work' });
    await until(() => world.server.requests.length === 1);
    await odin.submit(sid, { mode: 'ask', body: 'look into b.txt too' });
    await odin.steer(sid, 2, 'test');
    await until(() => world.logged.some((line) => line.includes('is told with the next step')));
    gate.resolve();
    expect((await first).at(-1)).toMatchObject({ type: 'AgentDone', status: 'completed' });
    await until(async () => (await odin.sessions())[0]?.status === 'idle');
    expect(world.server.requests).toHaveLength(2);
    const requests = (await journalOf(odin, sid)).filter(({ type }) => type === 'llm.req');
    const [before = '', after = ''] = requests.map(({ facts }) => facts);
    expect(before).toContain('Mind the gap.');
    expect(before).not.toMatch(TOLD);
    expect(after.startsWith(`${before}\n`)).toBe(true);
    expect(after.slice(before.length)).toMatch(
      /^\n<facts>\nThe user says, while you work: look into b\.txt too\n<\/facts>$/,
    );
    expect(world.server.requests[1]?.body).toContain(JSON.stringify(after).slice(1, -1));
    expect(await odin.queued(sid)).toEqual([]);
    expect(await odin.replay(sid)).toMatchObject({ difference: null });
  });
});

test('O6: a command that has taken the place of what was to be told is not told: it is carried out when its turn has come', async () => {
  const gate = Promise.withResolvers<void>();
  const script: Script = async ({ stepOfMessage }) => {
    await gate.promise;
    return stepOfMessage === 0
      ? { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] }
      : { text: 'Done.' };
  };
  await withWorld({ script, files: { 'a.txt': 'a\n' } }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const first = world.ask(odin, sid, { mode: 'ask', body: 'work' });
    await until(() => world.server.requests.length === 1);
    await odin.submit(sid, { mode: 'ask', body: '/undo 1', command: { type: 'undo', count: 1 } });
    // As when two change places after the facade has looked at the one, and before the request for it is made.
    const { client, close } = await connectRedis({ home: world.home, notice: () => {} });
    try {
      const { meta, inbox, changes } = keys.session(sid);
      const { ctl } = keys.workspace((await client.hget(meta, 'ws')) ?? '');
      expect(await client.osteer([meta, inbox, changes, ctl], [2, sid, 'test'])).toEqual(['ok', 1]);
      const isTold = () => world.logged.some((line) => line.includes('is told with the next step'));
      await until(async () => isTold() || (await client.xlen(ctl)) === 0);
    } finally {
      await close();
    }
    gate.resolve();
    expect((await first).at(-1)).toMatchObject({ type: 'AgentDone', status: 'completed' });
    await until(async () => (await odin.sessions())[0]?.status === 'idle');
    expect((await odin.state(sid)).messages.map(({ status }) => status)).toEqual(['completed', 'refused']);
    expect((await journalOf(odin, sid)).filter(({ type }) => type === 'word')).toEqual([]);
  });
});

test('O6: a word that was journaled before a crash is not told again, and its message leaves the queue before the next one can run', async () => {
  const word: EventOf<'word'> = { type: 'word', seq: 1, text: 'old', by: 'x', queued: 2, at: 1 };
  const out: number[] = [];
  let isAway = true;
  const takeOut = async (queued: number) => {
    if (isAway) throw new Error('Redis is away');
    out.push(queued);
  };
  const steering = createSteering({ seq: 1, past: [word], takeOut, now: () => 5 });
  steering.add({ queued: 2, text: 'old', by: 'x' });
  steering.add({ queued: 4, text: 'new', by: 'x' });
  steering.add({ queued: 4, text: 'new', by: 'x' });
  const waiting = steering.waiting();
  expect(waiting).toEqual([{ type: 'word', seq: 1, text: 'new', by: 'x', queued: 4, at: 5 }]);
  for (const event of waiting) {
    steering.recorded(event);
    steering.durable(event);
  }
  expect(steering.waiting()).toEqual([]);
  await expect(steering.settled()).rejects.toThrow(/away/);
  isAway = false;
  await steering.settled();
  expect(out.toSorted()).toEqual([2, 4]);
});

test('O6, DURABILITY 15: an owner that is killed when the word is in the journal and not yet out of the queue: the next one tells it, and its message never runs', async () => {
  const gate = Promise.withResolvers<void>();
  const asked = { count: 0 };
  const script: Script = async ({ stepOfMessage }) => {
    asked.count += 1;
    await gate.promise;
    return stepOfMessage < 2
      ? { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt', offset: stepOfMessage + 1 } }] }
      : { text: 'Done.' };
  };
  await withWorld({ script, files: { 'a.txt': 'line\n'.repeat(9) } }, async ({ server, project, home, open }) => {
    const client = await open({ models: false });
    const start = (point: string): OwnerChild =>
      startOwner({ url: server.url, project, home, leaseMs: 2_000 }, ([program = '', ...args], { env }) =>
        spawn(program, args, { env: { ...env, ODIN_KILL_POINTS: point }, stdio: ['pipe', 'pipe', 'inherit'] }),
      );
    let owner = start('at durable:word 1');
    try {
      const sid = await owner.submit({ body: 'work', mode: 'ask' });
      await until(() => asked.count === 1);
      await client.submit(sid, { mode: 'ask', body: 'look into b.txt too' });
      await client.steer(sid, 2, 'test');
      // It has the request: what it asks next takes the word along, and it dies of it.
      await owner.line(/told with the next step/);
      gate.resolve();
      await owner.exited;
      expect(owner.process.signalCode).toBe('SIGKILL');
      owner = start('');
      const isOver = ({ type, seq }: { type: string; seq?: number }) => type === 'msg.done' && seq === 2;
      await until(async () => (await journalOf(client, sid)).some(isOver));
      const journal = await journalOf(client, sid);
      expect(journal.filter(({ type }) => type === 'word')).toMatchObject([{ seq: 1, queued: 2 }]);
      expect(journal.filter(({ type }) => type === 'msg.start').map(({ seq }) => seq)).toEqual([1]);
      expect(journal.filter(({ type }) => type === 'msg.done').map(({ seq }) => seq)).toEqual([1, 2]);
      expect(server.requests.at(-1)?.body).toMatch(TOLD);
      expect(await client.queued(sid)).toEqual([]);
    } finally {
      await owner.end();
    }
  });
});
