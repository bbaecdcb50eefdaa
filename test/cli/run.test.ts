// The real command line in processes of its own, its own private Redis, the scripted model server over the real SDK.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import type { State } from '../../shared/state.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { type CliOptions, runCli, startCli } from './run-cli.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/odin.js', import.meta.url));

let folder: string;
let server: ScriptedServer;
/** As another Odin of the user holds it, so that not every command starts one and ends it. */
let redis: RedisHandle;
let options: CliOptions & { readonly env: NodeJS.ProcessEnv };
/** Opened by a test that wants the model to wait for it. */
let gate = Promise.withResolvers<void>();
/** What the model was asked, in order, and the tools it had. */
let asked: { readonly text: string; readonly tools: readonly string[] }[] = [];

async function script(turn: ScriptedTurn): Promise<ScriptedAnswer> {
  const text = turn.userText.split('\n')[0] ?? '';
  if (turn.stepOfMessage === 0) asked.push({ text, tools: turn.toolNames });
  if (text.startsWith('broken') || turn.model === 'broken') return { fault: 'http_401' };
  if (text.startsWith('wait')) await gate.promise;
  if (text.startsWith('loop'))
    return { text: 'Again.', toolCalls: [{ name: 'Glob', args: { pattern: `*${turn.stepOfMessage}` } }] };
  if (text.startsWith('look') && turn.stepOfMessage === 0) {
    return { text: 'I look.', toolCalls: [{ name: 'Glob', args: { pattern: '**/*' } }] };
  }
  return { text: `Answer to **${text}**` };
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-cli-')));
  await mkdir(join(folder, 'project'));
  await writeFile(join(folder, 'project', 'ODIN.md'), 'A project.\n');
  server = await startScriptedServer({ script, models: ['scripted', 'small'] });
  options = {
    cwd: join(folder, 'project'),
    env: {
      ODIN_HOME: join(folder, 'home'),
      ANTHROPIC_API_KEY: 'test-key-of-no-use',
      ANTHROPIC_BASE_URL: server.url,
    },
  };
  await mkdir(join(folder, 'home'));
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
beforeEach(() => {
  gate = Promise.withResolvers();
  asked = [];
});

const eventsIn = (stdout: string): StreamEvent[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StreamEvent);
const lastState = async (): Promise<State> => {
  const { stdout } = await runCli(['sessions', 'show', 'last', '--json'], options);
  return JSON.parse(stdout) as State;
};

describe('odin run', () => {
  test('the answer goes to stdout, progress to stderr; --continue goes on with what was said; the transcript shows both', async () => {
    const first = await runCli(['look around'], options);
    expect(first).toMatchObject({ code: 0, stdout: 'Answer to **look around**\n' });
    expect(first.stderr).toMatch(
      /^session \w{26} in .*\ninstructions: ODIN\.md \(not trusted: .*\)\nask mode, anthropic\/scripted\nI look\.\n● Glob "\*\*\/\*" → 1 file \(/,
    );
    const second = await runCli(['run', '--continue', '-m', 'plan', '-'], { ...options, input: 'and then?\n' });
    expect(second).toMatchObject({ code: 0, stdout: 'Answer to **and then?**\n' });
    expect(second.stderr).toMatch(/^plan mode/);
    const transcript = await runCli(['sessions', 'show', 'last'], options);
    expect(transcript.stdout).toMatch(
      /ask> look around\n[^]*Answer to \*\*look around\*\*\n[^]*plan> and then\?\n[^]*Answer to \*\*and then\?\*\*\n/,
    );
    const exported = await runCli(['sessions', 'export', 'last'], options);
    expect(
      exported.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).event.type),
    ).toContain('msg.done');
  });

  test('G4: --json prints one event a line, a prompt comes through a pipe, and AgentDone is last', async () => {
    const { code, stdout } = await runCli(['--json'], { ...options, input: 'look at it' });
    const events = eventsIn(stdout);
    expect(code).toBe(0);
    expect(events.map((event) => event.type).filter((type) => !/Stream|Usage/.test(type))).toEqual([
      'SessionOpened',
      'MessageStarted',
      'StepStarted',
      'StepText',
      'ToolCallStart',
      'ToolCallEnd',
      'ToolResult',
      'StepStarted',
      'StepText',
      'PersistMessage',
      'AgentDone',
    ]);
    expect(events.at(-1)).toMatchObject({ status: 'completed', answer: 'Answer to **look at it**', steps: 2 });
  });

  test('G3: the step limit is exit code 3 and said in the answer; a refused key is exit code 1', async () => {
    const limited = await runCli(['loop', '--max-steps', '2'], options);
    expect(limited.code).toBe(3);
    expect(limited.stdout).toMatch(/limit of 2 steps/);
    const broken = await runCli(['broken'], options);
    expect(broken.code).toBe(1);
    expect(broken.stderr).toMatch(/✗ step 1: auth: .*HTTP 401/);
    expect(broken.stdout).toMatch(/^\[Failed at step 1: auth: /);
    expect(broken.stderr).not.toContain('test-key-of-no-use');
  });

  test('E9, G1: --fallback-model is asked when the model cannot be, and that is said; so is an --image that cannot go along', async () => {
    const flags = ['--model', 'anthropic/broken', '--fallback-model', 'anthropic/other'];
    const { code, stdout, stderr } = await runCli(['no model', ...flags], options);
    expect([code, stdout]).toEqual([0, 'Answer to **no model**\n']);
    expect(stderr).toContain('! anthropic/broken: the key was refused; asking anthropic/other instead\n');
    const refused = await runCli(['x', '--fallback-model', 'other/x'], options);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/From --fallback-model: "other\/x" does not/),
    });
    const blind = await runCli(['x', '--image', 'none.png'], options);
    expect([blind.code, blind.stderr]).toEqual([
      2,
      expect.stringMatching(/^odin: anthropic\/scripted takes no pictures/),
    ]);
    const sent = await runCli(['send', 'last', 'x', '--fallback-model', 'other'], options);
    expect(sent.stderr).toContain('"other" does not say which provider to ask');
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'E11: %s cancels the message, its end is journaled, the exit code is 130',
    async (signal) => {
      const running = startCli(['wait for it'], options);
      await running.until(/ask mode/);
      running.child.kill(signal);
      const { code, stderr } = await running.ended;
      expect(code).toBe(130);
      expect(stderr).toMatch(new RegExp(`cancelling, asked by ${signal}\n[^]*cancelled · `));
      expect((await lastState()).messages.at(-1)?.status).toBe('cancelled');
      gate.resolve();
    },
  );

  test('a reader that leaves early is no error', async () => {
    const child = spawn('sh', ['-c', `"${process.execPath}" "${LAUNCHER}" --json look | head -n 1`], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = await once(child, 'close');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('models, doctor and tool work without a message', async () => {
    const [models, doctor, tool, bad] = await Promise.all([
      runCli(['models'], options),
      runCli(['doctor', '--json'], options),
      runCli(['tool', 'Glob', '{"pattern":"*.md"}'], options),
      runCli(['tool', 'Glob', '{"patern":"*.md"}'], options),
    ]);
    expect(models.stdout).toContain('  anthropic/scripted  ← model\n  anthropic/small  ← small model\n');
    const checks = doctor.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(checks.filter((check) => check.needed && !check.ok)).toEqual([]);
    expect(doctor.code).toBe(0);
    expect(tool).toMatchObject({
      code: 0,
      stdout: '1 file, newest first:\nODIN.md\n("*.md" looks directly in . only; for any depth: "**/*.md".)\n',
    });
    expect(bad.code).toBe(1);
    expect(bad.stderr).toMatch(/pattern/);
  });

  test('odin demo answers with excerpts of the folder, and its first line says that no model was asked', async () => {
    const { code, stdout } = await runCli(['demo'], { ...options, env: { ODIN_HOME: join(folder, 'home') } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Demo: the model is scripted, no model was asked\./);
    expect(stdout).toContain('- `ODIN.md:1`: `A project.`');
    expect(asked).toEqual([]);
  });
});

describe('from a second process', () => {
  test('O6, G1: messages sent while one runs wait, can be changed, run in order with their own modes and pictures before the run leaves', async () => {
    const shot = Buffer.from('89504e470d0a1a0a0000000d494844520000032000000258080600000000', 'hex');
    await writeFile(join(folder, 'project', 'shot.png'), shot);
    const running = startCli(['wait here'], options);
    await running.until(/ask mode/);
    const attached = startCli(['attach', 'last', '--json'], options);
    await attached.until(/"MessageStarted"/);
    const send = async (...args: string[]) => (await runCli(['send', 'last', ...args], options)).stdout;
    expect(await send('first sent', '--mode', 'edit')).toMatch(
      /^message 2 \(edit\) of session \w+ waits at position 1\n$/,
    );
    expect(await send('second sent', '--mode', 'plan', '--image', 'shot.png')).toMatch(
      /^message 3 \(plan\) of session \w+ waits at position 2\n$/,
    );
    expect(await send('third sent')).toMatch(/^message 4 \(ask\) of session \w+ waits at position 3\n$/);
    expect(await runCli(['queue', 'edit', 'last', '3', '--body', 'second changed'], options)).toMatchObject({
      code: 0,
    });
    expect(await runCli(['queue', 'remove', 'last', '4'], options)).toMatchObject({ code: 0 });
    const late = await runCli(['queue', 'remove', 'last', '1'], options);
    expect(late.code).toBe(2);
    expect(late.stderr.trimEnd().split('\n')).toHaveLength(1);
    const queue = await runCli(['queue', 'list'], options);
    expect(
      queue.stdout
        .split('\n')
        .slice(1, -1)
        .map((row) => row.split(/\s+/).slice(1).join(' ')),
    ).toEqual(['2 edit first sent', '3 plan second changed']);
    gate.resolve();
    expect(await running.ended).toMatchObject({ code: 0, stdout: 'Answer to **wait here**\n' });
    // This model takes none.
    const third = '[picture shot.png, 800×600: not sent]';
    expect(asked.map(({ text }) => text)).toEqual(['wait here', 'first sent', third]);
    expect(server.requests.at(-1)?.body).toContain('second changed');
    expect((await lastState()).messages.map(({ seq, mode, status }) => `${seq} ${mode} ${status}`)).toEqual([
      '1 ask completed',
      '2 edit completed',
      '3 plan completed',
    ]);
    await attached.until(/"type":"AgentDone"[^\n]*"seq":3/);
    attached.child.kill('SIGINT');
    expect((await attached.ended).code).toBe(0);
  });

  test('E11: odin cancel ends what another process runs', async () => {
    const running = startCli(['wait again'], options);
    await running.until(/ask mode/);
    const cancelled = await runCli(['cancel', 'last'], options);
    expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('is asked to stop'), stderr: '' });
    expect((await running.ended).code).toBe(130);
    expect(await runCli(['cancel', 'last'], options)).toMatchObject({ code: 1 });
    gate.resolve();
  });
});
