// What an agent with a worker has to ask its parent for: its questions, which go to the user, and room in the message's budget. The worker is
// as on another machine: a home and a clone of its own.

import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { openAgentQueue } from '../../../orchestrator/agents/remote/queue.ts';
import { openRemoteStore } from '../../../orchestrator/agents/remote/store.ts';
import type { Odin } from '../../../orchestrator/api.ts';
import { jobKeyFile } from '../../../orchestrator/jobs/job-key.ts';
import { beat } from '../../../orchestrator/jobs/workers.ts';
import { keys } from '../../../orchestrator/keys.ts';
import { selfPlace } from '../../../orchestrator/process-identity.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { git } from '../../support/batch-world.ts';
import { only } from '../../support/odin-world.ts';
import { type RemoteWorld, withRemoteWorld } from '../../support/remote-world.ts';
import { until } from '../../support/until.ts';

const isAgent = (turn: ScriptedTurn): boolean => turn.system.includes('You are a subagent');
const results = (turn: ScriptedTurn): string => turn.lastToolResults.map(({ text }) => text).join(' | ');
const agentCall = (title: string, more: object = {}) => ({
  name: 'AgentTool',
  args: { title, prompt: title, ...more },
});

/** The worker's side of another machine: its home has the key, its clone another path. */
function otherMachine({ home, project }: RemoteWorld) {
  const place = join(home, '..', 'other');
  const own = { home: join(place, 'home'), clone: join(place, 'clone') };
  mkdirSync(own.home, { recursive: true, mode: 0o700 });
  copyFileSync(jobKeyFile(home), jobKeyFile(own.home));
  git(place, 'clone', '--quiet', project, own.clone);
  return { ...own, projects: new Map([[project, own.clone]]) };
}

/** Follows a message from its beginning, whoever runs it, to its end. */
async function follow(odin: Odin, sid: string, seq: number): Promise<readonly StreamEvent[]> {
  const stop = new AbortController();
  const events: StreamEvent[] = [];
  for await (const event of odin.follow(sid, { from: '0', signal: stop.signal })) {
    if (event.seq === seq) events.push(event);
    if (event.seq === seq && event.type === 'AgentDone') stop.abort();
  }
  return events;
}

test('O23 O24 C5: the questions of an agent with a worker elsewhere are its user’s, asked once though both sides leave meanwhile, and answered as any other', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (!isAgent(turn)) {
      return turn.stepOfMessage === 0 ? { toolCalls: [agentCall('Settle')] } : { text: `Agent: ${results(turn)}` };
    }
    if (turn.stepOfMessage === 0) {
      return { toolCalls: [{ name: 'WriteFile', args: { file_path: '.vscode/tasks.json', content: '{}\n' } }] };
    }
    if (turn.stepOfMessage === 1) return { toolCalls: [{ name: 'ReadFile', args: { file_path: '/etc/hostname' } }] };
    return { text: `It was told: ${results(turn)}` };
  };
  await withRemoteWorld({ script }, async (world) => {
    const { clone, ...other } = otherMachine(world);
    const runner = () => world.runner({ ...other, permission: { mode: 'ask', timeoutMs: null } });
    const first = await runner();
    const seen: string[] = [];
    const open = () =>
      world.open({
        permission: { mode: 'ask', timeoutMs: null },
        onQuestion: ({ question, answer }) => void (answer === null && seen.push(question.id)),
      });
    const question = async (odin: Odin, about: string) => {
      await until(async () => (await odin.questions()).some(({ title }) => title.includes(about)));
      const [one, ...more] = await odin.questions();
      expect(more).toEqual([]);
      if (!one) throw new Error('no question');
      return one;
    };

    const before = await open();
    const sid = before.newSession();
    await before.submit(sid, { mode: 'edit', body: 'settle it' });
    const write = await question(before, 'tasks.json');
    expect(write).toMatchObject({ agent: 'Settle (a1-1-1)', paths: [{ outside: false, access: 'write' }] });
    expect(write.paths?.[0]?.path).toBe(join(world.project, '.vscode/tasks.json'));
    expect(write.reasons.join()).toContain('it is done by the worker');
    // Both sides leave while it waits.
    await before.close();
    await first.drain(0);
    await runner();
    const odin = await open();
    const asking = follow(odin, sid, 1);
    await until(() => seen.length === 2);
    expect(await question(odin, 'tasks.json')).toMatchObject({ id: write.id });
    // By a process that does not own the session.
    const client = await world.open({ models: false });
    await client.answer(write.id.slice(0, 8), 'allow_session', { by: 'somebody else' });

    const read = await question(odin, '/etc/hostname');
    expect(read.paths).toEqual([{ path: '/etc/hostname', outside: true, why: expect.any(String) }]);
    await odin.answer(read.id, 'deny', { by: 'me', word: 'look in README' });
    const events = await asking;
    expect(only(events, 'AgentEnded')).toMatchObject({ end: 'completed', steps: 3 });
    expect(only(events, 'AgentEnded').answer).toContain('look in README');
    // What was allowed for the session about a file of the project holds where its patch writes it.
    expect(readFileSync(join(world.project, '.vscode/tasks.json'), 'utf8')).toBe('{}\n');
    expect(existsSync(join(clone, '.vscode'))).toBe(false);
    const asked = events.filter((event) => event.type === 'PermissionAsked');
    expect(asked.map((event) => event.questionId)).toEqual([write.id, read.id]);
    const answers = events.flatMap((event) => (event.type === 'PermissionAnswered' ? [event.decision] : []));
    expect(answers).toEqual(['allow_session', 'deny']);
    expect(seen).toEqual([write.id, write.id, read.id]);
    expect(await odin.replay(sid)).toMatchObject({ difference: null, open: null });
    expect(await odin.fsck(false)).toMatchObject({ clean: true });
    expect(await world.handle.client.keys('{odin}:a:*')).toEqual([]);
  });
});

test('E7 C5: an agent whose worker is dead holds no budget that another waits for, on whom the only worker that is left waits', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (isAgent(turn) || turn.stepOfMessage > 0) return { text: 'Done.' };
    return { toolCalls: [agentCall('one'), agentCall('other')] };
  };
  await withRemoteWorld({ script }, async (world) => {
    const { client } = world.handle;
    const info = { id: 'other', host: 'h', pid: 1, startTime: 'x', version: 't', roles: ['agents'] };
    const other = { ...info, roots: [world.project], concurrency: 1, running: 0, done: 0, draining: false, since: 0 };
    await beat(client, other);
    // A worker takes one of the agents, has a call of the model reserved, and is not there any more.
    const store = openRemoteStore(client, world.key);
    const queue = await openAgentQueue(world.handle, {
      ...{ root: world.project, access: 'read', key: world.key, log: () => {} },
    });
    const isOver = Promise.withResolvers<void>();
    queue.work(async ({ id: job, token, data: { rid } }) => {
      const run = { worker: 'gone', host: 'elsewhere', pid: 1, startTime: 'x', job, token };
      const claim = await store.claim(rid, run, 'a place that is gone', 'session');
      if (claim.status !== 'ok') throw new Error(claim.status);
      await store.say(rid, { ...claim, n: 0 }, { k: 'placed', worker: 'gone' });
      const asks = { type: 'llm.req', op: '1.1', model: 'anthropic/scripted', reqHash: 'h', attempt: 1, at: 1 };
      await store.say(rid, { ...claim, n: 1 }, { k: 'ev', event: { ...asks, estimate: 3_000 } });
      await isOver.promise;
      return 'back';
    }, 1);
    const odin = await world.open();
    const sid = odin.newSession();
    const { seq } = await odin.submit(sid, { mode: 'ask', body: 'two', limits: { tokens: 25_000 } });
    const asking = follow(odin, sid, seq);
    await until(async () => (await odin.state(sid)).subAgents.some(({ status }) => status === 'running'));
    const runner = await world.runner({ concurrency: 1 });
    await until(() => runner.load().done === 1);
    isOver.resolve();
    const ends = (await asking).flatMap((event) => (event.type === 'AgentEnded' ? [event.end] : []));
    expect(ends).toEqual(['completed', 'completed']);
    await queue.close();
  });
});

test('O23 O24 O25 E7: a worker that says no is not asked about, nobody who listens is a no, a third dead worker is a crash, and a budget holds for all together', async () => {
  const cap = 9_000;
  const asked: number[] = [];
  let beside = 0;
  let bothWant = async (): Promise<void> => {};
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    const [name = ''] = /\b(strict|lonely|dying|spend)\b/.exec(turn.userText) ?? [];
    if (!isAgent(turn)) {
      const calls = [agentCall(name), ...(name === 'spend' ? [agentCall('spend too')] : [])];
      return turn.stepOfMessage === 0 ? { toolCalls: calls } : { text: results(turn) };
    }
    if (name === 'spend') {
      asked.push(turn.requestIndex);
      if (asked.length === 1) await bothWant();
      return { toolCalls: [{ name: 'LS', args: { path: `.${'/.'.repeat(turn.requestIndex)}` } }] };
    }
    if (turn.stepOfMessage > 0) return { text: `It was told: ${results(turn)}` };
    return { toolCalls: [{ name: 'ReadFile', args: { file_path: '/etc/hostname' } }] };
  };
  await withRemoteWorld({ script }, async (world) => {
    const redis = world.handle.client;
    const open = (mode: 'ask' | 'deny' = 'ask') => world.open({ permission: { mode, timeoutMs: null } });
    const odin = await open();
    const ask = (body: string, more: object = {}) => world.ask(odin, odin.newSession(), { mode: 'ask', body, ...more });

    // The worker's settings deny what they are asked: nobody else hears of it.
    const strict = await world.runner({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const denied = await ask('strict');
    expect(only(denied, 'AgentEnded').answer).toContain('Nobody is here to allow it');
    expect(denied.filter(({ type }) => type.startsWith('Permission'))).toEqual([]);
    await strict.drain(0);

    // Its parent has gone, and nobody has listened for long.
    const runner = await world.runner({ permission: { mode: 'ask', timeoutMs: null } });
    const sid = odin.newSession();
    await odin.submit(sid, { mode: 'ask', body: 'lonely' });
    await until(async () => (await odin.questions()).length === 1);
    await odin.close();
    const { heard } = keys.remoteAgent(`${sid}_a1-1-1`);
    expect(await redis.ttl(heard)).toBeGreaterThan(0);
    await redis.del(heard);
    await until(() => runner.load().done === 1);
    const next = await open();
    const lonely = await follow(next, sid, 1);
    expect(only(lonely, 'AgentEnded')).toMatchObject({ end: 'completed', steps: 2 });
    expect(only(lonely, 'AgentEnded').answer).toContain('Nobody is here to allow it');
    expect(await next.questions()).toEqual([]);

    // Two at once, of a message whose tokens are counted: together they go over it by one call at the most.
    const spending = next.newSession();
    bothWant = async () => {
      const working = async () => (await next.state(spending)).subAgents.filter(({ status }) => status === 'running');
      await until(async () => (await working()).length === 2);
      beside = asked.length;
    };
    const spend = await world.ask(next, spending, { mode: 'ask', body: 'spend', limits: { tokens: cap } });
    // There is no room for a second answer beside the first: that call had not left.
    expect(beside).toBe(1);
    const used = spend.flatMap((event) => (event.type === 'Usage' ? [event.usage.input + event.usage.output] : []));
    const total = used.reduce((sum, one) => sum + one, 0);
    expect(total).toBeGreaterThan(cap / 2);
    expect(total).toBeLessThanOrEqual(cap + Math.max(...used));
    const ends = spend.flatMap((event) => (event.type === 'AgentEnded' ? [[event.end, event.limit]] : []));
    expect(ends).toEqual([
      ['limit', 'tokens'],
      ['limit', 'tokens'],
    ]);
    await runner.drain(0);

    // Somebody seems to be there, until the agent's workers have died three times.
    const info = { id: 'ghost', host: 'h', pid: 1, startTime: 'x', version: 't', roles: ['agents'] };
    const ghost = { ...info, roots: [world.project], concurrency: 1, running: 0, done: 0, draining: false, since: 0 };
    await beat(redis, ghost);
    const breath = setInterval(() => void beat(redis, ghost), 200);
    const dying = next.newSession();
    const crashing = world.ask(next, dying, { mode: 'ask', body: 'dying' });
    const rid = `${dying}_a1-1-1`;
    const store = openRemoteStore(redis, world.key);
    await until(async () => (await store.find(rid)) !== null);
    const dead = { host: selfPlace(), pid: 2 ** 22 + 1, startTime: 'x', job: 'j', token: 't' };
    for (const worker of ['one', 'two', 'three']) {
      expect(await store.claim(rid, { worker, ...dead }, `place of ${worker}`, worker)).toMatchObject({ status: 'ok' });
    }
    await world.runner();
    const crashed = await crashing;
    clearInterval(breath);
    expect(only(crashed, 'AgentEnded')).toMatchObject({ end: 'crashed', steps: 0 });
    expect(only(crashed, 'AgentDone').answer).toContain('Its worker died several times');
    for (const one of [sid, spending, dying])
      expect(await next.replay(one)).toMatchObject({ difference: null, open: null });
    expect(await redis.keys('{odin}:a:*')).toEqual([]);
  });
});
