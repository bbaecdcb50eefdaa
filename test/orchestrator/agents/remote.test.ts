// Subagents that work with workers, through the real parts: signed jobs, clones, journals, patches.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { seal } from '../../../orchestrator/agents/remote/seal.ts';
import type { Odin } from '../../../orchestrator/api.ts';
import { type SignedJob, signJob } from '../../../orchestrator/jobs/sign-job.ts';
import { beat } from '../../../orchestrator/jobs/workers.ts';
import { agentsQueue, keys } from '../../../orchestrator/keys.ts';
import { openQueue } from '../../../orchestrator/queue.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { git } from '../../support/batch-world.ts';
import { only } from '../../support/odin-world.ts';
import { change, type RemoteWorld, withRemoteWorld } from '../../support/remote-world.ts';
import { until } from '../../support/until.ts';

const isAgent = (turn: ScriptedTurn): boolean => turn.system.includes('You are a subagent');
const results = (turn: ScriptedTurn): string => turn.lastToolResults.map(({ text }) => text).join(' | ');
const agentCall = (prompt: string, more: object = {}) => ({
  name: 'AgentTool',
  args: { title: prompt, prompt, ...more },
});
const open = (world: RemoteWorld): Promise<Odin> =>
  world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
const fileOf = (world: RemoteWorld, name: string): string | null => {
  const path = join(world.project, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
};

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
    const odin = await open(world);
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
    // When its parent has heard of the end, it still clears up.
    await until(() => runner.load().done === 1);
    expect(runner.load()).toEqual({ running: 0, done: 1 });
    expect(git(world.project, 'status', '--porcelain')).toBe(' M a.txt\n?? new/\n');
    expect(world.refused.filter((line) => !line.includes('used before'))).toEqual([]);
  });
});

/** Answers of the model that wait until a test lets them go. */
function gates() {
  const open = new Map<string, PromiseWithResolvers<void>>();
  const reached = new Set<string>();
  const gate = (name: string) => {
    const known = open.get(name) ?? Promise.withResolvers<void>();
    open.set(name, known);
    return known;
  };
  return {
    async pass(name: string) {
      reached.add(name);
      await gate(name).promise;
    },
    reached: (name: string) => until(() => reached.has(name)),
    release: (name: string) => gate(name).resolve(),
  };
}

test('O19 O25: conflict, word, cancel, a worker that leaves and none at all: each is told as it is, and nothing is half in the project', async () => {
  const { pass, reached, release } = gates();
  const heard: string[] = [];
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (!isAgent(turn)) {
      if (turn.stepOfMessage > 0) return { text: `Agent: ${results(turn)}` };
      const [, prompt = '', ask] = /\b(conflict|cancel|leave|look)( ask)?\b/.exec(turn.userText) ?? [];
      return { toolCalls: [agentCall(prompt, ask === undefined ? {} : { mode: 'ask' })] };
    }
    const name = /\b(conflict|cancel|leave|look)\b/.exec(turn.userText)?.[1] ?? 'none';
    heard.push(turn.messagesText);
    if (name === 'look') return { text: `Tools: ${turn.toolNames.join(' ')}` };
    if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] };
    if (turn.stepOfMessage === 1) {
      return {
        toolCalls: [
          { name: 'EditTool', args: { file_path: 'a.txt', old_string: 'two', new_string: name } },
          { name: 'WriteFile', args: { file_path: `${name}.txt`, content: `by ${name}\n` } },
        ],
      };
    }
    if (turn.stepOfMessage === 2) {
      await pass(name);
      if (name === 'cancel') return { toolCalls: [{ name: 'LS', args: { path: '.' } }] };
    }
    if (name === 'cancel') await pass('never');
    return { text: `Did ${name}.` };
  };
  await withRemoteWorld({ script }, async (world) => {
    const first = await world.runner();
    const odin = await open(world);
    const ask = async (body: string, meanwhile: (sid: string) => Promise<void>): Promise<readonly StreamEvent[]> => {
      const sid = odin.newSession();
      const [events] = await Promise.all([world.ask(odin, sid, { mode: 'edit', body }), meanwhile(sid)]);
      expect(await odin.replay(sid)).toMatchObject({ difference: null, open: null });
      return events;
    };

    // The same line is changed by somebody else: the agent's other file does not come in either.
    const conflict = await ask('conflict', async () => {
      await reached('conflict');
      change(world, 'a.txt', 'one\nmine\nthree\n');
      release('conflict');
    });
    expect(only(conflict, 'AgentEnded')).toMatchObject({ end: 'failed', steps: 3 });
    expect(only(conflict, 'AgentEnded').answer).toMatch(
      /Did conflict[^]*a\.txt was changed here meanwhile[^]*as a patch in/,
    );
    const kept = /patch in (\S+\.patch)/.exec(only(conflict, 'AgentEnded').answer)?.[1] ?? '';
    expect(readFileSync(kept, 'utf8')).toContain('+by conflict');
    expect([fileOf(world, 'a.txt'), fileOf(world, 'conflict.txt')]).toEqual(['one\nmine\nthree\n', null]);
    change(world, 'a.txt', 'one\ntwo\nthree\n');

    // A word reaches it with its next step, a cancel ends it, and its copy is not taken over.
    const cancel = await ask('cancel', async (sid) => {
      await reached('cancel');
      await odin.agent(sid, 'a1-1-1', { type: 'say', text: 'mind the tests', by: 'somebody' });
      // It is in the worker's journal by then.
      await until(async () => JSON.stringify(await Array.fromAsync(odin.export(sid))).includes('mind the tests'));
      release('cancel');
      await reached('never');
      await odin.agent(sid, 'a1-1-1', { type: 'cancel', by: 'somebody' });
    });
    expect(heard.at(-1)).toContain('mind the tests');
    expect(cancel.find(({ type }) => type === 'UserWord')).toMatchObject({ agent: 'a1-1-1', text: 'mind the tests' });
    expect(only(cancel, 'AgentEnded').end).toBe('cancelled');
    expect([fileOf(world, 'a.txt'), fileOf(world, 'cancel.txt')]).toEqual(['one\ntwo\nthree\n', null]);

    // A mode that is narrower has no tool that writes, there as here.
    const look = await ask('look ask', async () => {});
    expect(only(look, 'AgentPlaced').worker).not.toBeNull();
    expect(only(look, 'AgentEnded').answer).not.toContain('WriteFile');

    // Its worker leaves in the middle of its work: it begins anew here.
    const leave = await ask('leave', async (sid) => {
      await reached('leave');
      expect((await odin.state(sid)).subAgents[0]).toMatchObject({
        worker: expect.stringContaining(first.id.slice(-6)),
      });
      await first.drain(0);
      release('leave');
    });
    const places = leave.filter((event) => event.type === 'AgentPlaced');
    expect(places.map(({ worker, why }) => [worker === null, why])).toEqual([
      [false, ''],
      [true, 'no worker is there any more'],
    ]);
    expect(only(leave, 'AgentEnded')).toMatchObject({ end: 'completed', steps: 3 });
    expect([fileOf(world, 'a.txt'), fileOf(world, 'leave.txt')]).toEqual(['one\nleave\nthree\n', 'by leave\n']);

    const alone = await ask('look', async () => {});
    expect(alone.some((event) => event.type === 'ToolProgress' && event.text.includes('No worker takes agents'))).toBe(
      true,
    );
    expect(alone.filter(({ type }) => type === 'AgentPlaced')).toEqual([]);
    expect(await world.handle.client.keys('{odin}:a:*')).toEqual([]);
    // A job that was added while the one before it came to its end finds nothing to do.
    expect(world.refused.filter((line) => !line.includes('used before'))).toEqual([]);
  });
});

test('O19 O24 E5: what an agent with a worker changed is asked about here, and seen by hooks over edits; a cancel ends that too, and what cannot be taken is kept', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    const name = /\b(asked|odd|guarded)\b/.exec(turn.userText)?.[1] ?? '';
    if (isAgent(turn) && name === 'guarded' && turn.stepOfMessage === 0) {
      return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] };
    }
    if (turn.stepOfMessage > (isAgent(turn) && name === 'guarded' ? 1 : 0))
      return { text: isAgent(turn) ? `Did ${name}.` : `Agent: ${results(turn)}` };
    if (!isAgent(turn)) return { toolCalls: [agentCall(name)] };
    if (name === 'guarded') {
      const edit = { file_path: 'a.txt', old_string: 'two', new_string: 'TWO' };
      const write = { file_path: 'guarded.txt', content: 'by an agent\n' };
      return {
        toolCalls: [
          { name: 'EditTool', args: edit },
          { name: 'WriteFile', args: write },
        ],
      };
    }
    const content = name === 'odd' ? 'half a letter: \uFFFD\n' : 'by an agent\n';
    return { toolCalls: [{ name: 'WriteFile', args: { file_path: `${name}.txt`, content } }] };
  };
  await withRemoteWorld({ script }, async (world) => {
    await world.runner();
    const guard = {
      name: 'guard',
      matches: (tool: string) => tool === 'AgentPatch',
      toolCall: () => ({ decision: 'ask', reason: 'all of it' }) as const,
    };
    const seen: (readonly [hook: string, tool: string, args: unknown])[] = [];
    // As a user writes them who knows of the tools alone, not of patches.
    const keepOut = (name: string, tools: readonly string[]) => ({
      name,
      matches: (tool: string) => tools.includes(tool),
      toolCall: ({ tool, args }: { readonly tool: string; readonly args: unknown }) => {
        seen.push([name, tool, args]);
        return JSON.stringify(args).includes('guarded.txt') ? ({ decision: 'deny', reason: 'keep out' } as const) : {};
      },
    });
    const hooks = [guard, keepOut('writes', ['WriteFile']), keepOut('edits', ['EditTool', 'MultiEditTool'])];
    const odin = await world.open({ permission: { mode: 'ask', timeoutMs: null }, hooks });
    const sid = odin.newSession();
    const asking = world.ask(odin, sid, { mode: 'edit', body: 'asked' });
    await until(async () => (await odin.questions()).some(({ title }) => title === 'Run AgentPatch?'));
    await odin.cancel(sid, 'somebody');
    const asked = await asking;
    expect(only(asked, 'AgentDone').status).toBe('cancelled');
    expect(only(asked, 'AgentEnded').end).toBe('cancelled');
    const patch = /patch in (\S+\.patch)/.exec(only(asked, 'AgentEnded').answer)?.[1] ?? '';
    expect(readFileSync(patch, 'utf8')).toContain('+by an agent');
    expect([fileOf(world, 'asked.txt'), await odin.questions()]).toEqual([null, []]);
    expect(await odin.replay(sid)).toMatchObject({ difference: null, open: null });

    seen.length = 0;
    const guarded = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'guarded' });
    expect(only(guarded, 'AgentEnded')).toMatchObject({ end: 'failed' });
    expect(only(guarded, 'AgentEnded').answer).toMatch(/hook "edits" of the user does not allow[^]*keep out/);
    expect([fileOf(world, 'a.txt'), fileOf(world, 'guarded.txt')]).toEqual(['one\ntwo\nthree\n', null]);
    const path = (name: string) => join(world.project, name);
    // Each hook is asked once about a file, in the form of a tool that it is for.
    expect(seen).toEqual([
      [
        'edits',
        'EditTool',
        { file_path: path('a.txt'), old_string: 'one\ntwo\nthree\n', new_string: 'one\nTWO\nthree\n' },
      ],
      ['writes', 'WriteFile', { file_path: path('a.txt'), content: 'one\nTWO\nthree\n' }],
      ['edits', 'EditTool', { file_path: path('guarded.txt'), old_string: '', new_string: 'by an agent\n' }],
    ]);

    const odd = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'odd' });
    expect(only(odd, 'AgentEnded')).toMatchObject({ end: 'failed' });
    const [, copy = ''] = /The working copy stays: (\S+) on /.exec(only(odd, 'AgentEnded').answer) ?? [];
    await until(() => existsSync(copy));
    // The next worker clears away what belongs to no agent, and that alone.
    const left = ['0gone.1', 'gone.2.new', 'zone.1'].map((name) => join(copy, '..', name));
    for (const folder of left) mkdirSync(folder);
    await world.runner();
    await until(() => !left.some((folder) => existsSync(folder)));
    expect(readFileSync(join(copy, 'odd.txt'), 'utf8')).toContain('half a letter');
  });
});

test('SAFETY 6: a job or a word that is forged, changed, replayed, oversized or of another project runs nothing, and is told of', async () => {
  let asked = 0;
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (isAgent(turn)) asked += 1;
    if (isAgent(turn)) return { text: 'Looked.' };
    return turn.stepOfMessage === 0 ? { toolCalls: [agentCall('look')] } : { text: `Agent: ${results(turn)}` };
  };
  await withRemoteWorld({ script }, async (world) => {
    const { key, handle, project, refused } = world;
    const redis = handle.client;
    const odin = await open(world);
    const sid = odin.newSession();
    const name = agentsQueue(project, 'read');
    const queue = await openQueue(handle, name);
    try {
      // The order waits: its worker is there, as far as anybody can see, and takes nothing yet.
      const info = {
        id: 'ghost',
        host: 'h',
        pid: 1,
        startTime: 'x',
        version: 't',
        roles: ['agents'],
        roots: [project],
      };
      const ghost = { ...info, concurrency: 1, running: 0, done: 0, draining: false, since: 0 };
      const breath = setInterval(() => void beat(redis, ghost), 200);
      await beat(redis, ghost);
      const asking = world.ask(odin, sid, { mode: 'ask', body: 'look' });
      const rid = `${sid}_a1-1-1`;
      const jobId = `${rid}_0`;
      await until(async () => (await queue.getJob(jobId)) !== undefined);
      const data = (await queue.getJob(jobId))?.data as SignedJob;
      const { meta, stream, words } = keys.remoteAgent(rid);
      const order = (await redis.hget(meta, 'order')) ?? '';
      const clear = JSON.stringify(await redis.hgetall(meta)) + JSON.stringify(data);
      expect(clear).not.toContain(key.toString('hex'));
      const put = (id: string, job: unknown) => queue.add('task', job, { jobId: id });

      const never = Date.now() + 3_600_000;
      const other = Buffer.alloc(32, 1);
      await put('forged', signJob(other, { queue: name, jobId: 'forged' }, data.data, never));
      await put('moved', data);
      await put('oversized', { ...data, data: { rid: 'x'.repeat(300_000) } });
      await put('late', signJob(key, { queue: name, jobId: 'late' }, data.data, 1));
      await put(
        'unknown',
        signJob(key, { queue: name, jobId: 'unknown' }, { rid: 'nobody', hash: 'a'.repeat(64) }, never),
      );
      const edits = await openQueue(handle, agentsQueue(project, 'edit'));
      const place = { queue: agentsQueue(project, 'edit'), jobId: 'wider' };
      await edits.add('task', signJob(key, place, data.data, never), { jobId: 'wider' });
      // An end that no worker has given, and a word that no parent has said.
      const lie = {
        k: 'end',
        end: 'completed',
        limit: null,
        answer: 'LIES',
        failure: null,
        steps: 1,
        patch: null,
        unable: false,
      };
      const { text, code } = seal(other, [rid, 'out', '1-0'], lie);
      await redis.xadd(stream, '0-5', 'd', text, 's', code);
      await redis.xadd(words, '0-5', 'd', JSON.stringify({ k: 'say', text: 'LIES', by: 'x' }), 's', 'f'.repeat(64));
      // What was ordered is changed, and put back.
      await redis.hset(meta, 'order', order.replace('look', 'LIES'));
      const early = await world.runner({ access: 'read' });
      await until(() => refused.some((line) => line.startsWith(jobId)));
      await early.drain(0);
      await redis.hset(meta, 'order', order);
      await world.runner();
      const events = await asking;
      clearInterval(breath);
      expect(only(events, 'AgentDone').answer).toContain('Looked.');
      expect(JSON.stringify(events)).not.toContain('LIES');
      expect(asked).toBe(1);
      const why = (id: string) => refused.find((line) => line.startsWith(`${id}: `)) ?? '';
      await until(() => ['forged', 'moved', 'oversized', 'late', 'unknown', 'wider'].every((id) => why(id) !== ''));
      expect(why('forged')).toContain('signature');
      expect(why('moved')).toContain('signature');
      expect(why('oversized')).toContain('bytes');
      expect(why('late')).toContain('its time was over');
      expect(why('unknown')).toContain('there is no such agent');
      expect(why('wider')).toMatch(/not its own|no such agent/);
      expect(refused.some((line) => line.startsWith(`${rid} 0-5`))).toBe(true);
      expect(world.logged.some((line) => line.startsWith('a word about an agent was refused'))).toBe(true);

      // The very same job and order once more, when all is over.
      await redis.hset(meta, 'order', order);
      await queue.remove(jobId);
      await put(jobId, data);
      await until(() => refused.filter((line) => line.startsWith(jobId)).length > 1);
      expect(refused.at(-1)).toContain('it was used before');
      expect(asked).toBe(1);
      await edits.close();
    } finally {
      await queue.close();
    }
  });
});
