// Questions and their answers in whole turns: real Redis, journal, tools and files; the model is scripted.

import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin, OpenQuestion, PermissionPolicy } from '../../orchestrator/api.ts';
import { findSandbox } from '../../orchestrator/exec/sandbox.ts';
import type { PermissionDecision } from '../../shared/events.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';
import { until } from '../support/until.ts';

const ASK: PermissionPolicy = { mode: 'ask', timeoutMs: null };

type Call = { readonly name: string; readonly args: JsonObject };
/** One array of calls a step, then an answer with the results. */
const steps =
  (...all: readonly (readonly Call[])[]) =>
  (turn: ScriptedTurn): ScriptedAnswer => {
    const toolCalls = all[turn.stepOfMessage];
    if (toolCalls) return { text: `Step ${turn.stepOfMessage}.`, toolCalls };
    return { text: turn.lastToolResults.map(({ text }) => text).join('\n---\n') };
  };
const read = (path: string): Call => ({ name: 'ReadFile', args: { file_path: path } });
const write = (path: string, content: string): Call => ({ name: 'WriteFile', args: { file_path: path, content } });

/** A folder beside the project; its name stands for itself in scripts, which are made before the world is. */
function outsideOf(world: World): string {
  const folder = join(world.project, '..', 'outside');
  mkdirSync(folder, { recursive: true });
  for (const name of ['a.txt', 'b.txt', '.env']) writeFileSync(join(folder, name), `text of ${name}\n`);
  return folder;
}

/** Runs a message, answering each question as it is asked. */
async function asking(
  odin: Odin,
  sid: string,
  mode: 'ask' | 'edit',
  answer: (event: Extract<StreamEvent, { type: 'PermissionAsked' }>) => unknown,
): Promise<readonly StreamEvent[]> {
  const stop = new AbortController();
  const events: StreamEvent[] = [];
  const stream = odin.follow(sid, { from: '$', signal: stop.signal });
  const { seq } = await odin.submit(sid, { mode, body: 'go' });
  for await (const event of stream) {
    if (event.seq !== seq) continue;
    events.push(event);
    if (event.type === 'PermissionAsked') await answer(event);
    if (event.type === 'AgentDone') stop.abort();
  }
  return events;
}

const ofType = <T extends StreamEvent['type']>(events: readonly StreamEvent[], type: T) =>
  events.filter((event): event is Extract<StreamEvent, { type: T }> => event.type === type);

test('O24 G6: calls of a step that are exactly the same are asked about once, others each; the question says who asks and what is outside', async () => {
  let calls: Call[] = [];
  await withWorld({ script: (turn) => steps(calls)(turn) }, async (world) => {
    const folder = outsideOf(world);
    calls = [read(`${folder}/a.txt`), read(`${folder}/a.txt`), read(`${folder}/b.txt`)];
    const odin = await world.open({ permission: ASK });
    const client = await world.open({ models: false });
    const open: (readonly OpenQuestion[])[] = [];
    const events = await asking(odin, odin.newSession(), 'ask', async ({ questionId, detail }) => {
      open.push(await client.questions());
      const decision = detail.includes('a.txt') ? 'allow' : 'deny';
      await odin.answer(questionId, decision, { by: 'test', ...(decision === 'deny' ? { word: 'not that one' } : {}) });
    });
    const asked = ofType(events, 'PermissionAsked');
    expect(asked).toHaveLength(2);
    expect(asked[0]).toMatchObject({ agent: 'main', rule: null, paths: [{ outside: true, access: 'read' }] });
    expect(open[0]?.[0]).toMatchObject({ id: asked[0]?.questionId, tool: 'ReadFile', agent: 'main' });
    expect(
      ofType(events, 'PermissionAnswered')
        .map(({ decision, by }) => `${decision} by ${by}`)
        .toSorted(),
    ).toEqual(['allow by test', 'deny by test']);
    const { answer } = only(events, 'AgentDone');
    expect(answer.match(/text of a\.txt/g)).toHaveLength(2);
    expect(answer).toContain('The user says: not that one');
    expect(await client.questions()).toEqual([]);
  });
});

test('G6 O24: an answer for the session closes the other questions of the step that it covers', async () => {
  let calls: Call[] = [];
  await withWorld({ script: (turn) => steps(calls)(turn) }, async (world) => {
    const folder = outsideOf(world);
    calls = [read(`${folder}/a.txt`), read(`${folder}/b.txt`), write(`${folder}/new.txt`, 'one')];
    const odin = await world.open({ permission: ASK });
    let asked = 0;
    const events = await asking(odin, odin.newSession(), 'edit', async () => {
      asked += 1;
      if (asked < 3) return;
      const open = await odin.questions();
      const first = open.find(({ detail }) => detail.includes('a.txt'));
      await odin.answer(first?.id ?? '', 'allow_session', { by: 'test' });
      // The journal has the answers moments later.
      await until(async () => (await odin.questions()).length === 1);
      const left = await odin.questions();
      expect(left.map(({ detail }) => detail)).toEqual([expect.stringContaining('new.txt')]);
      await odin.answer(left[0]?.id ?? '', 'deny', { by: 'test' });
    });
    const { answer } = only(events, 'AgentDone');
    expect(answer).toContain('text of a.txt');
    expect(answer).toContain('text of b.txt');
    expect(existsSync(`${folder}/new.txt`)).toBe(false);
  });
});

test('DURABILITY 8: another process answers through the durable control stream; an answer binds to its call, and other arguments are another question', async () => {
  let calls: Call[][] = [];
  await withWorld({ script: (turn) => steps(...calls)(turn) }, async (world) => {
    const folder = outsideOf(world);
    const [one, two] = [write(`${folder}/new.txt`, 'one'), write(`${folder}/new.txt`, 'two')];
    // Asked; allowed once, so asked again; denied, so not asked again in this message.
    calls = [[one], [two], [two], [one]];
    const odin = await world.open({ permission: ASK });
    const client = await world.open({ models: false });
    expect(client.owner).toBe(false);
    const answers = ['allow', 'deny', 'deny'] as const;
    let next = 0;
    const events = await asking(odin, odin.newSession(), 'edit', ({ questionId }) =>
      client.answer(questionId.slice(0, 10), answers[next++] ?? 'deny', { by: 'elsewhere' }),
    );
    const asked = ofType(events, 'PermissionAsked');
    expect(asked.map(({ detail }) => (detail.includes('+two') ? 'two' : 'one'))).toEqual(['one', 'two', 'one']);
    expect(new Set(asked.map(({ questionId }) => questionId)).size).toBe(3);
    expect(asked[0]?.detail).toContain('+one');
    expect(readFileSync(`${folder}/new.txt`, 'utf8')).toBe('one');
    const gone = asked[0]?.questionId ?? '';
    await expect(client.answer(gone, 'allow', { by: 'late' })).rejects.toThrow('There is no open question');
    await expect(client.answer('', 'allow', { by: 'late' })).rejects.toThrow('There is no open question');
  });
});

test('G6: an answer for the session covers its folder and no secrets, in that session alone, also after a restart', async () => {
  let calls: Call[] = [];
  await withWorld({ script: (turn) => steps(calls)(turn) }, async (world) => {
    const folder = outsideOf(world);
    const first = await world.open({ permission: ASK });
    const sid = first.newSession();
    calls = [read(`${folder}/a.txt`)];
    const session = ({ questionId }: { questionId: string }) =>
      first.answer(questionId, 'allow_session', { by: 'test' });
    await asking(first, sid, 'edit', session);
    await first.close();
    const odin = await world.open({ permission: ASK });
    const asked = async (of: string, ...given: Call[]) => {
      calls = given;
      const deny = ({ questionId }: { questionId: string }) => odin.answer(questionId, 'deny', { by: 'test' });
      return ofType(await asking(odin, of, 'edit', deny), 'PermissionAsked').map(({ title }) => title);
    };
    expect(await asked(sid, read(`${folder}/b.txt`), read(`${folder}/.env`))).toEqual([`Read ${folder}/.env?`]);
    expect(await asked(sid, write(`${folder}/c.txt`, 'x'))).toEqual([`Write ${folder}/c.txt?`]);
    expect(await asked(odin.newSession(), read(`${folder}/b.txt`))).toEqual([`Read ${folder}/b.txt?`]);
  });
});

test('SAFETY 2.3: nobody in time is a no, nobody at all too, and what cannot be a rule cannot be allowed for always', async () => {
  let calls: Call[] = [];
  await withWorld({ script: (turn) => steps(calls)(turn) }, async (world) => {
    const folder = outsideOf(world);
    calls = [read(`${folder}/a.txt`)];
    const patient = await world.open({ permission: ASK });
    let refused = '';
    await asking(patient, patient.newSession(), 'ask', async ({ questionId }) => {
      refused = await patient.answer(questionId, 'allow_always', { by: 'test' }).then(String, String);
      await patient.answer(questionId, 'deny', { by: 'test' });
    });
    expect(refused).toContain('No rule is narrow enough');
    await patient.close();
    const odin = await world.open({ permission: { mode: 'ask', timeoutMs: 150 } });
    const begun = Date.now();
    const events = await asking(odin, odin.newSession(), 'ask', ({ expiresAt }) => {
      expect(expiresAt).toBeGreaterThanOrEqual(begun + 150);
    });
    expect(only(events, 'PermissionAnswered')).toMatchObject({ decision: 'deny', by: 'timeout' });
    expect(only(events, 'AgentDone').answer).toContain('Nobody answered in time');
    await odin.close();
    const alone = await world.open();
    const denied = await asking(alone, alone.newSession(), 'ask', () => {});
    expect(only(denied, 'PermissionAnswered')).toMatchObject({ decision: 'deny', by: 'nobody' });
  });
});

test('E11: a cancelled message closes its question', async () => {
  let calls: Call[] = [];
  await withWorld({ script: (turn) => steps(calls)(turn) }, async (world) => {
    calls = [read(`${outsideOf(world)}/a.txt`)];
    const odin = await world.open({ permission: ASK });
    const sid = odin.newSession();
    const events = await asking(odin, sid, 'ask', () => odin.cancel(sid, 'test'));
    expect(only(events, 'AgentDone').status).toBe('cancelled');
    expect(ofType(events, 'ToolResult').map(({ status }) => status)).toEqual(['cancelled']);
    expect(await odin.questions()).toEqual([]);
  });
});

test('the settings rule tools: ask makes a question, deny refuses, allow covers the inside, and no word lifts what is forbidden', async () => {
  let calls: Call[] = [];
  const config = '{"permissions": {"WriteFile": "allow", "EditTool": "deny", "LS": "ask"}}';
  await withWorld({ script: (turn) => steps(calls)(turn) }, async (world) => {
    const folder = outsideOf(world);
    mkdirSync(world.home, { recursive: true });
    writeFileSync(join(world.home, 'config.json'), config);
    calls = [
      write(join(world.project, '.mcp.json'), '{}'),
      write(join(world.project, 'odinconfig.json'), '{}'),
      write(`${folder}/new.txt`, 'x'),
      { name: 'EditTool', args: { file_path: join(world.project, 'ODIN.md'), old_string: 'Test', new_string: 'x' } },
      { name: 'LS', args: { path: '.' } },
    ];
    const odin = await world.open({ permission: ASK });
    const asked: string[] = [];
    const events = await asking(odin, odin.newSession(), 'edit', ({ questionId, title }) => {
      asked.push(title);
      return odin.answer(questionId, title === 'Run LS?' ? 'allow' : 'deny', { by: 'test' });
    });
    expect(asked.toSorted()).toEqual(['Run LS?', `Write ${folder}/new.txt?`]);
    const ends = Object.fromEntries(
      ofType(events, 'ToolResult').map(({ op, status, text }) => [op.at(-1), { status, text }]),
    );
    expect(ends['1']).toMatchObject({ status: 'ok' });
    expect(ends['2']).toMatchObject({ status: 'refused', text: expect.stringContaining('belongs to Odin itself') });
    expect(ends['3']).toMatchObject({ status: 'refused' });
    expect(ends['4']).toMatchObject({ status: 'refused', text: expect.stringContaining('The settings deny EditTool') });
    expect(ends['5']).toMatchObject({ status: 'ok', text: expect.stringContaining('ODIN.md') });
  });
});

test('accept-edits lets file tools write inside the project; what is protected or outside is denied without a question to anybody', async () => {
  let calls: Call[] = [];
  await withWorld({ script: (turn) => steps(calls)(turn) }, async (world) => {
    const folder = outsideOf(world);
    mkdirSync(world.home, { recursive: true });
    writeFileSync(join(world.home, 'config.json'), '{"permissions": {"WriteFile": "ask"}}');
    const [inside, steering, outside] = [
      join(world.project, 'src/a.ts'),
      join(world.project, '.mcp.json'),
      `${folder}/n`,
    ];
    calls = [write(inside, 'x'), write(steering, '{}'), write(outside, 'x')];
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const events = await asking(odin, odin.newSession(), 'edit', () => {});
    expect([inside, steering, outside].map((path) => existsSync(path))).toEqual([true, false, false]);
    expect(
      ofType(events, 'PermissionAnswered')
        .map(({ by }) => by)
        .toSorted(),
    ).toEqual(['accept-edits', 'nobody', 'nobody']);
  });
});

test('G6 O18: a command that is allowed for the session or for always makes a narrow rule, and runs under the answer that made it', async () => {
  let calls: Call[] = [];
  const sandboxed = (await findSandbox()).status.kind !== 'none';
  const files = { 'say.js': "console.log('said ' + process.argv[2])\n" };
  await withWorld({ script: (turn) => steps(calls)(turn), files }, async (world) => {
    const run = (command: string): Call => ({ name: 'ExecuteCommand', args: { command } });
    let decision: PermissionDecision = 'allow_session';
    const rules: (string | null)[] = [];
    const go = async (odin: Odin, sid: string, command: string) => {
      calls = [run(command)];
      const events = await asking(odin, sid, 'edit', ({ questionId, rule }) => {
        rules.push(rule);
        return odin.answer(questionId, decision, { by: 'test' });
      });
      return only(events, 'AgentDone').answer;
    };
    const odin = await world.open({ permission: ASK });
    const sid = odin.newSession();
    expect(await go(odin, sid, 'node say.js one')).toContain('said one');
    expect(await go(odin, sid, 'node say.js one')).toContain('said one');
    expect(rules).toEqual(['node say.js one']);
    decision = 'allow_always';
    expect(await go(odin, sid, 'node say.js two')).toContain('said two');
    const stored = readFileSync(join(world.home, 'permissions.json'), 'utf8');
    expect(JSON.parse(stored)).toMatchObject({
      projects: { [realpathSync(world.project)]: [{ rule: 'node say.js two' }] },
    });
    await odin.close();
    const later = await world.open({ permission: ASK });
    decision = 'deny';
    rules.length = 0;
    const answer = await go(later, later.newSession(), 'node say.js two');
    // Without a sandbox edit mode asks for everything that does not only read (SAFETY 2.2).
    expect(rules).toEqual(sandboxed ? [] : ['node say.js two']);
    expect(answer.includes('said two')).toBe(sandboxed);
    expect(await go(later, later.newSession(), 'node say.js three')).not.toContain('said three');
    expect(await go(later, later.newSession(), 'sudo node say.js two')).toContain('never run');
    expect(rules.at(-1)).toBe('node say.js three');
  });
});

test('O18: --allow holds for what this process runs, and lifts nothing that is forbidden or outside', async () => {
  let calls: Call[] = [];
  const files = { 'say.js': "console.log('said ' + process.argv[2])\n" };
  await withWorld({ script: (turn) => steps(calls)(turn), files }, async (world) => {
    const run = (command: string): Call => ({ name: 'ExecuteCommand', args: { command } });
    calls = [run('node say.js hello'), run('cat /etc/hostname'), run('sudo ls')];
    const odin = await world.open({
      permission: { mode: 'deny', timeoutMs: null, allow: ['node say.js', 'cat', 'sudo'] },
    });
    const events = await asking(odin, odin.newSession(), 'edit', () => {});
    const ends = ofType(events, 'ToolResult').toSorted((a, b) => (a.op < b.op ? -1 : 1));
    const sandboxed = (await findSandbox()).status.kind !== 'none';
    expect(ends.map(({ status }) => status)).toEqual([sandboxed ? 'ok' : 'refused', 'refused', 'refused']);
    expect(ofType(events, 'PermissionAsked').some(({ detail }) => detail.includes('sudo'))).toBe(false);
  });
});

test('O23 O24: a tool that runs without a model asks like a turn does, and without somebody to ask is refused', async () => {
  await withWorld({ script: () => ({ text: '' }) }, async (world) => {
    const path = join(outsideOf(world), 'a.txt');
    const signal = new AbortController().signal;
    const seen: string[] = [];
    const ask = async (decision: PermissionDecision | null) => {
      const odin = await world.open({
        models: false,
        ...(decision === null ? {} : { permission: ASK }),
        onQuestion({ question, answer }) {
          if (answer !== null || decision === null) return;
          seen.push(`${question.tool} ${question.paths?.map(({ path }) => path).join()}`);
          void odin.answer(question.id, decision, { by: 'test' });
        },
      });
      const outcome = await odin.runTool('ReadFile', { file_path: path }, 'ask', signal);
      return outcome.ok ? outcome.value.text : outcome.failure.code;
    };
    expect(await ask('allow')).toContain('text of a.txt');
    expect(await ask('deny')).toBe('not_allowed');
    expect(seen).toEqual([`ReadFile ${realpathSync(path)}`, `ReadFile ${realpathSync(path)}`]);
    expect(await ask(null)).toBe('not_allowed');
  });
});
