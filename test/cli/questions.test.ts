// Questions across real processes: the owner asks, another terminal answers, the owner dies and the next one goes on.

import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAsker } from '../../cli/ask-user.ts';
import { noPaint } from '../../cli/paint.ts';
import { createPlainRenderer } from '../../cli/render-plain.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import type { OpenQuestion } from '../../orchestrator/api.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { type CliOptions, runCli, startCli } from './run-cli.ts';

let folder: string;
let server: ScriptedServer;
/** As another Odin of the user holds it, so that not every command starts one and ends it. */
let redis: RedisHandle;
let options: CliOptions & { readonly env: NodeJS.ProcessEnv };

/** "write NAME" writes a file beside the project. */
function script(turn: ScriptedTurn): ScriptedAnswer {
  const name = /^write (\S+)/.exec(turn.userText)?.[1];
  if (name === undefined || turn.stepOfMessage > 0)
    return { text: `Said: ${turn.lastToolResults[0]?.text ?? turn.userText}` };
  return {
    text: 'I write.',
    toolCalls: [{ name: 'WriteFile', args: { file_path: join(folder, name), content: 'once\n' } }],
  };
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-questions-')));
  await mkdir(join(folder, 'project'));
  await mkdir(join(folder, 'home'));
  await writeFile(join(folder, 'project', 'ODIN.md'), 'A project.\n');
  server = await startScriptedServer({ script, models: ['scripted', 'small'] });
  const env = { ODIN_HOME: join(folder, 'home'), ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: server.url };
  options = { cwd: join(folder, 'project'), env };
  await writeFile(
    join(folder, 'home', 'config.json'),
    '{"model": "anthropic/scripted", "smallModel": "anthropic/small"}',
  );
  redis = await connectRedis({ home: join(folder, 'home'), notice: () => {} });
});
afterAll(async () => {
  await redis.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const openQuestions = async (): Promise<readonly OpenQuestion[]> => {
  const { stdout } = await runCli(['questions', '--json'], options);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as OpenQuestion]));
};
const RUN = ['run', '--mode', 'edit', '--permission', 'ask'];

test('O23 G6: without a terminal nothing outside is touched; with --permission ask the answer of another process lets it go on', async () => {
  const denied = await runCli(['run', '--mode', 'edit', 'write one'], options);
  expect(denied.stdout).toContain('Nobody is here to allow it');
  const late = await runCli([...RUN, '--permission-timeout', '1', 'write one'], options);
  expect(late.stdout).toContain('Nobody answered in time');
  const running = startCli([...RUN, 'write one'], options);
  await running.until(/\? Write .*one\? \(asked by main, question \w+\)/);
  const [question] = await openQuestions();
  expect(question).toMatchObject({ title: `Write ${join(folder, 'one')}?`, agent: 'main', tool: 'WriteFile' });
  const listed = await runCli(['questions'], options);
  expect(listed.stdout).toMatch(
    /! outside the project: .*one[^]*\| \+once\n[^]*answer it: odin answer \w+ allow\|session\|deny\n$/,
  );
  const always = await runCli(['answer', question?.id ?? '', 'always'], options);
  expect(always).toMatchObject({ code: 2, stderr: expect.stringContaining('No rule is narrow enough') });
  const answered = await runCli(['answer', question?.id ?? '', 'allow'], options);
  expect(answered).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^allow: Write .*one\? \(session \w+\)\n$/),
    stderr: '',
  });
  const { code, stderr } = await running.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('allow, by odin answer');
  expect(await readFile(join(folder, 'one'), 'utf8')).toBe('once\n');
  expect((await runCli(['questions'], options)).stderr).toBe('No question is open.\n');
});

test('DURABILITY 8: the owner is killed while it waits; the question stays, is answered meanwhile, and the next owner acts on it once', async () => {
  const running = startCli([...RUN, 'write two'], options);
  await running.until(/question \w+/);
  const [before] = await openQuestions();
  running.child.kill('SIGKILL');
  await once(running.child, 'exit');
  const [after] = await openQuestions();
  expect(after).toEqual(before);
  const answered = await runCli(['answer', before?.id.slice(0, 8) ?? '', 'allow'], options);
  expect(answered.stderr).toMatch(/^It takes effect when an Odin goes on: odin --session \w+\n$/);
  // A person gave the answer, so it holds though this one asks nobody.
  const next = await runCli(['run', '--mode', 'edit', '--permission', 'deny', '--continue', 'and now?'], options);
  expect(next).toMatchObject({ code: 0, stdout: 'Said: and now?\n' });
  const { stdout } = await runCli(['sessions', 'export', 'last'], options);
  const events = stdout
    .trimEnd()
    .split('\n')
    .map(
      (line) =>
        (
          JSON.parse(line) as {
            event: { type: string; questionId?: string; decision?: string; question?: OpenQuestion };
          }
        ).event,
    );
  const asked = events.flatMap(({ type, question }) => (type === 'perm.ask' ? [question?.id] : []));
  expect(asked).toEqual([before?.id, before?.id]);
  expect(events.filter(({ type }) => type === 'perm.answer')).toMatchObject([
    { questionId: before?.id, decision: 'allow' },
  ]);
  expect(events.filter(({ type }) => type === 'tool.intent')).toHaveLength(1);
  expect(await readFile(join(folder, 'two'), 'utf8')).toBe('once\n');
});

/** An asker on a made-up screen, with what it sent. */
function openAsker() {
  const out = new PassThrough({ encoding: 'utf8' });
  const sent: unknown[] = [];
  const display = createPlainRenderer({
    out,
    err: out,
    paint: noPaint,
    outIsTerminal: false,
    errIsTerminal: false,
    showPrompts: false,
  });
  const odin = { answer: async (...args: unknown[]) => void sent.push(args) as never };
  const asker = createAsker({ odin, display, rest: display, write: (text) => out.write(text) });
  return { asker, sent, screen: () => String(out.read() ?? '') };
}

const at = { session: 'S', id: '1-1', at: 0, seq: 1 };
const askedEvent = (questionId: string, rule: string | null = null): StreamEvent => ({
  ...at,
  type: 'PermissionAsked',
  questionId,
  title: `Run ${questionId}?`,
  reasons: ['it \u001b[31mdeletes'],
  detail: 'rm\u202e x',
  agent: 'main',
  paths: [],
  rule,
  expiresAt: null,
});
const answeredEvent = (questionId: string): StreamEvent => ({
  ...at,
  type: 'PermissionAnswered',
  questionId,
  decision: 'allow',
  by: 'odin answer',
});

test('O24: one question is on screen at a time, hidden characters are shown, and each is closed by its answer wherever that came from', () => {
  const { asker, sent, screen } = openAsker();
  for (const id of ['one', 'two', 'three']) asker.show(askedEvent(id, id === 'two' ? 'npm test' : null));
  expect(screen()).toBe(
    '? Run one? (asked by main, question one)\n  because it deletes\n  | rm<U+202E> x\n  y once · s for this session (exactly this) · n no · w no, and say why\n',
  );
  asker.take('a');
  expect(screen()).toContain('y once');
  asker.take('y');
  expect(asker.isOpen()).toBe(false);
  asker.take('n');
  expect(sent).toEqual([['one', 'allow', { by: 'terminal' }]]);
  asker.show(answeredEvent('three'));
  expect(screen()).toBe('');
  asker.show(answeredEvent('one'));
  expect(screen()).toMatch(/^ {2}allow, by odin answer\n\? Run two\?[^]* a always \(npm test\) · n no/);
  asker.show(answeredEvent('two'));
  expect([asker.isOpen(), screen()]).toEqual([false, '  allow, by odin answer\n']);
});

test('G6: always, session, no, and no with a word are what was typed; the end of the message closes what is open', () => {
  const { asker, sent, screen } = openAsker();
  for (const [id, typed] of Object.entries({
    one: ['a'],
    two: [' S '],
    three: ['no'],
    four: ['w', 'use the other'],
    five: ['w because'],
  })) {
    asker.show(askedEvent(id, 'npm test'));
    for (const text of typed) asker.take(text);
    asker.show(answeredEvent(id));
  }
  expect(sent).toEqual([
    ['one', 'allow_always', { by: 'terminal' }],
    ['two', 'allow_session', { by: 'terminal' }],
    ['three', 'deny', { by: 'terminal' }],
    ['four', 'deny', { by: 'terminal', word: 'use the other' }],
    ['five', 'deny', { by: 'terminal', word: 'because' }],
  ]);
  expect(screen()).toContain('  what should it know? ');
  asker.show(askedEvent('six'));
  expect(asker.isOpen()).toBe(true);
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  asker.show({
    ...at,
    type: 'AgentDone',
    status: 'cancelled',
    answer: '',
    steps: 1,
    usage,
    costUsd: null,
    spending: [],
  });
  expect(asker.isOpen()).toBe(false);
});
