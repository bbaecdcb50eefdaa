// Whole turns through the real parts: queue, journal, machines, tools, the SDK and a scripted model server.

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { keys, workspaceId } from '../../orchestrator/keys.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { only, withWorld } from '../support/odin-world.ts';

const files = { 'src/retry.ts': 'export const attempts = 3; // retry policy\n', 'README.md': '# Retry\n' };

/** Looks, then answers with what the tools gave. */
const lookThenAnswer = (turn: ScriptedTurn): ScriptedAnswer =>
  turn.stepOfMessage === 0
    ? {
        text: 'Looking.',
        toolCalls: [
          { name: 'Grep', args: { pattern: 'retry policy' } },
          { name: 'ReadFile', args: { file_path: 'src/retry.ts' } },
          { name: 'LS', args: { path: '.' } },
        ],
      }
    : { text: `I saw: ${turn.lastToolResults.map((result) => result.text).join(' | ')}` };

test('O2 E3 C1: a question is answered from the files, calls run together and results keep their order', async () => {
  await withWorld({ script: lookThenAnswer, files }, async (world) => {
    const odin = await world.open();
    const events = await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'where is the retry policy?' });
    const done = only(events, 'AgentDone');
    expect(done).toMatchObject({ status: 'completed', steps: 2 });
    const [grep, read, ls] = done.answer.split(' | ');
    expect(grep).toContain('src/retry.ts');
    expect(read).toContain('attempts = 3');
    expect(ls).toContain('README.md');
    expect(events.filter((event) => event.type === 'ToolCallStart')).toHaveLength(3);
    expect(world.logged).toEqual([]);
  });
});

test('O4 O5: the state is the fold of the journal: messages, history of tools, usage; updates are gone in the end', async () => {
  await withWorld({ script: lookThenAnswer, files }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    await world.ask(odin, sid, { mode: 'ask', body: 'where?' });
    const state = await odin.state(sid);
    expect(state).toMatchObject({ agentMode: 'ask_mode', isExecuting: false, messageQueue: [] });
    expect(state.customInstructions).toContain('Test project');
    const [message] = state.messages;
    expect(message).toMatchObject({ body: 'where?', status: 'completed', updates: [], steps: 2 });
    expect(message?.toolHistory.map((entry) => entry.toolName).sort()).toEqual(['Grep', 'LS', 'ReadFile']);
    expect(state.usage.input).toBeGreaterThan(0);
    const [session] = await odin.sessions();
    expect(session).toMatchObject({ sid, title: 'where?', status: 'idle', messages: 1 });
  });
});

test('O6 O1: messages sent while one runs are processed in order, each with its own mode, prompt and tools', async () => {
  const first = Promise.withResolvers<void>();
  const seen: { readonly question: string; readonly mode: string; readonly tools: readonly string[] }[] = [];
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    const mode = /^Mode: (\w+)/m.exec(turn.system)?.[1] ?? '';
    seen.push({ question: turn.userText.split('\n')[0] ?? '', mode, tools: turn.toolNames });
    if (turn.requestIndex === 0) await first.promise;
    return { text: `done ${turn.requestIndex}` };
  };
  await withWorld({ script, files }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const stop = new AbortController();
    const ended: StreamEvent[] = [];
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    await odin.submit(sid, { mode: 'ask', body: 'first' });
    expect(await odin.submit(sid, { mode: 'ask', body: 'second' })).toMatchObject({ seq: 2, position: 1 });
    await odin.submit(sid, { mode: 'edit', body: 'third' });
    await odin.submit(sid, { mode: 'plan', body: 'fourth' });
    first.resolve();
    for await (const event of stream) {
      if (event.type === 'AgentDone') ended.push(event);
      if (ended.length === 4) stop.abort();
    }
    expect(ended.map((event) => event.seq)).toEqual([1, 2, 3, 4]);
    expect(seen.map(({ question, mode }) => [question, mode])).toEqual([
      ['first', 'ask'],
      ['second', 'ask'],
      ['third', 'edit'],
      ['fourth', 'plan'],
    ]);
    expect(seen[0]?.tools).not.toContain('WriteFile');
    expect(seen[2]?.tools).toContain('WriteFile');
    expect(seen[3]?.tools).toEqual(seen[0]?.tools);
  });
});

test('O6: a waiting message can be changed and removed, a running one cannot', async () => {
  const first = Promise.withResolvers<void>();
  const asked: string[] = [];
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    asked.push(turn.userText.split('\n')[0] ?? '');
    if (turn.requestIndex === 0) await first.promise;
    return { text: 'ok' };
  };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const stop = new AbortController();
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    for (const body of ['one', 'two', 'three']) await odin.submit(sid, { mode: 'ask', body });
    expect((await odin.queued(sid)).map((message) => message.body)).toEqual(['two', 'three']);
    await odin.removeQueued(sid, 2);
    await odin.editQueued(sid, 3, { body: 'three, better', mode: 'plan' });
    await expect(odin.removeQueued(sid, 1)).rejects.toThrow('is running');
    first.resolve();
    for await (const event of stream) if (event.type === 'AgentDone' && event.seq === 3) stop.abort();
    expect(asked).toEqual(['one', 'three, better']);
    const { messages } = await odin.state(sid);
    expect(messages.map((message) => [message.body, message.mode])).toEqual([
      ['one', 'ask'],
      ['three, better', 'plan'],
    ]);
  });
});

test('E11: cancelled in mid-answer the turn ends by name, the journal says by whom, and the session goes on', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.requestIndex === 0 ? { text: 'a long answer', fault: 'stall' } : { text: 'fresh' };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const stop = new AbortController();
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    await odin.submit(sid, { mode: 'ask', body: 'long' });
    const types: string[] = [];
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'StreamText' && !types.includes('CancelRequested')) await odin.cancel(sid, 'test');
      if (event.type === 'AgentDone') {
        expect(event.status).toBe('cancelled');
        stop.abort();
      }
    }
    expect(types).toContain('CancelRequested');
    expect(only(await world.ask(odin, sid, { mode: 'ask', body: 'next' }), 'AgentDone').answer).toBe('fresh');
  });
});

test('E9: a transient fault is retried and told, a permanent one ends the message with its reason', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (turn.userText.startsWith('bad')) return { fault: 'http_401' };
    return turn.requestIndex === 0 ? { fault: 'http_529' } : { text: 'at last' };
  };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const retried = await world.ask(odin, sid, { mode: 'ask', body: 'good' });
    expect(only(retried, 'RetryScheduled').code).toBe('overloaded');
    expect(only(retried, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'at last', steps: 1 });
    const failed = await world.ask(odin, sid, { mode: 'ask', body: 'bad' });
    expect(only(failed, 'AgentError').code).toBe('auth');
    expect(only(failed, 'AgentDone').status).toBe('planner_failure');
  });
});

test('G3: the step limit ends the message by name, and its open calls are closed before the next message', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    !turn.messagesText.includes('go on')
      ? { toolCalls: [{ name: 'LS', args: { path: `.`, ignore: [`x${turn.requestIndex}`] } }] }
      : { text: 'fine' };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'ask', body: 'loop', limits: { maxSteps: 3 } });
    expect(only(events, 'AgentDone')).toMatchObject({ status: 'step_limit', steps: 3 });
    expect(only(events, 'AgentDone').answer).toContain('limit of 3 steps');
    const next = await world.ask(odin, sid, { mode: 'ask', body: 'go on' });
    expect(only(next, 'AgentDone').answer).toBe('fine');
    expect(world.server.requests.at(-1)?.body).toContain('Not run: the message ended');
  });
});

test('O2: a model that repeats itself is told and then stopped', async () => {
  const script = (): ScriptedAnswer => ({ toolCalls: [{ name: 'LS', args: { path: '.' } }] });
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const done = only(await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'x' }), 'AgentDone');
    expect(done).toMatchObject({ status: 'repeated_calls', steps: 5 });
    expect(world.server.requests.at(-1)?.body).toContain('times in a row');
  });
});

test('E10 E18: unknown tools and wrong arguments reach the planner as text it can act on', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? {
          toolCalls: [
            { name: 'Nope', args: {} },
            { name: 'ReadFile', args: { path: 'x' } },
            { name: 'LS', args: '{"pa' },
          ],
        }
      : { text: turn.lastToolResults.map((result) => result.text).join('\n---\n') };
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const { answer } = only(await world.ask(odin, odin.newSession(), { mode: 'ask', body: 'x' }), 'AgentDone');
    const [unknown, wrong, broken] = answer.split('\n---\n');
    expect(unknown).toContain('The tools are: LS');
    expect(wrong).toContain('file_path');
    expect(broken).toContain('not valid JSON');
  });
});

test('O8: over a long message every request begins with the whole request before it, on one connection', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage < 8
      ? {
          toolCalls: [
            { name: 'ReadFile', args: { file_path: 'src/retry.ts', offset: 1, limit: 1 + turn.stepOfMessage } },
          ],
        }
      : { text: 'done' };
  await withWorld({ script, files }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    await world.ask(odin, sid, { mode: 'ask', body: 'a' });
    await world.ask(odin, sid, { mode: 'ask', body: 'b' });
    const bodies = world.server.requests.map((request) => request.body);
    expect(bodies).toHaveLength(18);
    bodies.slice(1).forEach((body, i) => {
      expect(body.startsWith((bodies[i] ?? '').replace(/[\]}]+$/, ''))).toBe(true);
    });
    expect(world.server.connections()).toBe(1);
  });
});

test('O4: what is over 16 KB lies in the blob store, and the state has it whole', async () => {
  const long = 'word '.repeat(20_000);
  await withWorld({ script: () => ({ text: long }) }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const body = `question ${'x'.repeat(30_000)}`;
    expect(only(await world.ask(odin, sid, { mode: 'ask', body }), 'AgentDone').answer).toBe(long);
    const [message] = (await odin.state(sid)).messages;
    expect(message).toMatchObject({ body, answerSummary: long });
  });
});

test('O4: a message whose process leaves in mid-turn is finished by the next one, without asking again what was answered', async () => {
  const reached = Promise.withResolvers<void>();
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'README.md' } }] };
    if (turn.requestIndex === 1) {
      reached.resolve();
      return { text: 'never ends', fault: 'stall' };
    }
    return { text: 'finished' };
  };
  await withWorld({ script, files }, async (world) => {
    const before = await world.open();
    const sid = before.newSession();
    await before.submit(sid, { mode: 'ask', body: 'x' });
    await reached.promise;
    await before.close();
    const after = await world.open();
    const stop = new AbortController();
    const types: string[] = [];
    for await (const event of after.follow(sid, { from: '0', signal: stop.signal })) {
      types.push(event.type);
      if (event.type === 'AgentDone') {
        expect(event).toMatchObject({ status: 'completed', answer: 'finished', steps: 2 });
        stop.abort();
      }
    }
    expect(types.filter((type) => type === 'MessageStarted')).toHaveLength(1);
    expect(types.filter((type) => type === 'ToolResult')).toHaveLength(1);
    expect(world.server.requests).toHaveLength(3);
  });
});

test('O4 O6: a second process without models submits and follows through Redis; the owner runs its message', async () => {
  await withWorld(
    { script: () => ({ text: 'from the owner', chunkSize: 2, pieceDelayMs: 5 }), files },
    async (world) => {
      const owner = await world.open();
      const client = await world.open({ models: false });
      expect([owner.owner, client.owner]).toEqual([true, false]);
      const events = await world.ask(client, client.newSession(), { mode: 'ask', body: 'hello' });
      expect(only(events, 'AgentDone').answer).toBe('from the owner');
      expect(events.filter((event) => event.type === 'StreamText').length).toBeGreaterThan(0);
    },
  );
});

test('O4: a secret in a file or a message reaches neither the model nor the journal', async () => {
  const secret = ['ghp', '_', 'A1b2'.repeat(9)].join('');
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0 ? { toolCalls: [{ name: 'ReadFile', args: { file_path: 'notes.txt' } }] } : { text: 'ok' };
  await withWorld({ script, files: { 'notes.txt': `token ${secret}\n` } }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    await world.ask(odin, sid, { mode: 'ask', body: `my token is ${secret}` });
    const exported = JSON.stringify(await Array.fromAsync(odin.export(sid)));
    expect(exported).toContain('redacted:github-token');
    expect(exported).not.toContain(secret);
    expect(world.server.requests.map((request) => request.body).join('')).not.toContain(secret);
  });
});

test('O3 O6: a message sent by another process is answered by the model that its sender named', async () => {
  await withWorld({ script: (turn) => ({ text: `I am ${turn.model}` }), files }, async (world) => {
    await world.open();
    const client = await world.open({ models: false });
    const sid = client.newSession();
    const named = await world.ask(client, sid, { mode: 'ask', body: 'who?', model: 'anthropic/other' });
    expect(only(named, 'AgentDone').answer).toBe('I am other');
    const unnamed = await world.ask(client, sid, { mode: 'ask', body: 'who?' });
    expect(only(unnamed, 'AgentDone').answer).toBe('I am scripted');
    const unknown = await world.ask(client, sid, { mode: 'ask', body: 'who?', model: 'nowhere/x' });
    expect(only(unknown, 'AgentDone').status).toBe('planner_failure');
    expect(only(unknown, 'AgentError').message).toContain('nowhere');
  });
});

test('E12 O18: a command of a step runs after the writes before it and before the writes behind it', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? {
          toolCalls: [
            { name: 'WriteFile', args: { file_path: 'n.txt', content: 'one\n' } },
            { name: 'ExecuteCommand', args: { command: 'cat n.txt' } },
            { name: 'WriteFile', args: { file_path: 'm.txt', content: 'two\n' } },
            { name: 'ExecuteCommand', args: { command: 'cat m.txt n.txt' } },
          ],
        }
      : { text: turn.lastToolResults.map((result) => result.text).join('\n---\n') };
  await withWorld({ script, files }, async (world) => {
    const odin = await world.open();
    const done = only(await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'x' }), 'AgentDone');
    const [, first, , second] = done.answer.split('\n---\n');
    expect(first).toContain('one');
    expect(second).toContain('two');
  });
});

test('E11: a cancel from another process ends the turn, and its request is gone once that is in the journal', async () => {
  await withWorld({ script: () => ({ text: 'long', fault: 'stall' }), files }, async (world) => {
    const owner = await world.open();
    const client = await world.open({ models: false });
    const sid = owner.newSession();
    const stop = new AbortController();
    const stream = owner.follow(sid, { from: '$', signal: stop.signal });
    await owner.submit(sid, { mode: 'ask', body: 'x' });
    for await (const event of stream) {
      if (event.type === 'StreamText') expect(await client.cancel(sid, 'the other one')).toBe(true);
      if (event.type === 'CancelRequested') expect(event.by).toBe('the other one');
      if (event.type === 'AgentDone') {
        expect(event.status).toBe('cancelled');
        stop.abort();
      }
    }
    const redis = await connectRedis({ home: world.home, notice: () => {} });
    const { ctl } = keys.workspace(workspaceId(owner.root, redis.scope));
    let left = await redis.client.xlen(ctl);
    for (let looks = 0; left > 0 && looks < 5_000; looks++) left = await redis.client.xlen(ctl);
    await redis.close();
    expect(left).toBe(0);
  });
});
