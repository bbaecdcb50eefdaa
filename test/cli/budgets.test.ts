// Budgets and the meter as the command line has them.

import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import { loadConfig, parseConfig } from '../../orchestrator/config.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import { acceptFolder } from '../../orchestrator/trust.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { type CliOptions, runCli } from './run-cli.ts';

let folder: string;
let server: ScriptedServer;
/** As another Odin of the user holds it, so that not every command starts one and ends it. */
let redis: RedisHandle;
let options: CliOptions;

const script = (turn: ScriptedTurn): ScriptedAnswer =>
  /loop\b/.test(turn.messagesText) && !turn.messagesText.includes('go on')
    ? { text: 'On and on.', toolCalls: [{ name: 'LS', args: { path: '.', ignore: [`${turn.stepOfMessage}`] } }] }
    : { text: 'Done.' };

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-budgets-')));
  await mkdir(join(folder, 'project'));
  await mkdir(join(folder, 'home'));
  await writeFile(join(folder, 'project', 'ODIN.md'), 'A project.\n');
  server = await startScriptedServer({ script });
  const config = {
    model: 'anthropic/scripted',
    smallModel: 'anthropic/scripted',
    models: { 'anthropic/scripted': { context: 100_000, price: [3, 15, 0.3, 3.75] } },
  };
  await writeFile(join(folder, 'home', 'config.json'), JSON.stringify(config));
  options = {
    cwd: join(folder, 'project'),
    env: {
      ODIN_HOME: join(folder, 'home'),
      ANTHROPIC_API_KEY: 'test-key-of-no-use',
      ANTHROPIC_BASE_URL: server.url,
    },
  };
  redis = await connectRedis({ home: join(folder, 'home'), notice: () => {} });
});
afterAll(async () => {
  await redis.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

describe('odin run with a budget', () => {
  test('E7 O2: it stops with exit code 3, says which limit and how much was used, and --continue goes on with a new one', async () => {
    const stopped = await runCli(['--budget-tokens', '12000', 'loop'], options);
    expect(stopped.code).toBe(3);
    expect(stopped.stdout).toMatch(
      /\[Stopped: the budget of 12,000 tokens for this message is spent: \$0\.\d+ and 1\d,\d{3} tokens used\. What was done is kept\./,
    );
    expect(stopped.stdout).toContain('odin run --continue --budget-tokens 12000 "go on"');
    expect(stopped.stderr).toMatch(
      /stopped by the budget · \d steps · [\d,]+ tokens in \([\d,]+ cached\), \d+ out · \$0\.\d+ · window \dk of 100k \(\d %\)\n/,
    );
    const goneOn = await runCli(['run', '--continue', '--budget-tokens', '12000', 'go on'], options);
    expect([goneOn.code, goneOn.stdout]).toEqual([0, 'Done.\n']);
    expect(server.requests.at(-1)?.body).toContain('On and on.');
    const money = await runCli(['run', '--budget-usd', '0.02', 'loop'], options);
    expect(money.code).toBe(3);
    expect(money.stdout).toContain('the budget of $0.02 for this message is spent');
  });

  test('E16 G4: --json has cost and window of each step, and what each model has cost at the end', async () => {
    const { stdout } = await runCli(['run', '--json', 'and?'], options);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as StreamEvent);
    const usage = events.find((event) => event.type === 'Usage');
    expect(usage).toMatchObject({ model: 'anthropic/scripted', estimated: false, window: { size: 100_000 } });
    const done = events.at(-1);
    expect(done).toMatchObject({ type: 'AgentDone', spending: [{ model: 'anthropic/scripted', calls: 1 }] });
    const { input, output, cacheRead } = usage?.usage ?? { input: 0, output: 0, cacheRead: 0 };
    const usd = ((input - cacheRead) * 3 + cacheRead * 0.3 + output * 15) / 1e6;
    expect(done?.type === 'AgentDone' ? done.costUsd : null).toBeCloseTo(usd, 9);
  });

  test('E16: odin sessions show ends with what the session has used and cost', async () => {
    await runCli(['run', '--continue', 'second'], options);
    const { stdout } = await runCli(['sessions', 'show', 'last'], options);
    expect(stdout).toMatch(
      /\nMODEL +CALLS +TOKENS IN +CACHED +OUT +COST\nanthropic\/scripted +2 +[\d,]+ +[\d,]+ +\d+ +\$0\.\d+\nwindow \dk of 100k \(\d %\)\n$/,
    );
    const json = JSON.parse((await runCli(['sessions', 'show', 'last', '--json'], options)).stdout) as object;
    expect(json).toMatchObject({ costUsd: expect.any(Number), spending: { 'anthropic/scripted': { calls: 2 } } });
  });

  test('E7: the time runs out', async () => {
    const over = Promise.withResolvers<ScriptedAnswer>();
    const slow = await startScriptedServer({ script: () => over.promise });
    const env = { ...options.env, ANTHROPIC_BASE_URL: slow.url };
    const { code, stdout } = await runCli(['--timeout', '1s', 'wait'], { ...options, env });
    over.resolve({ text: 'late' });
    await slow.close();
    expect(code).toBe(3);
    expect(stdout).toContain('[Stopped: the 1s for this message are over.');
  });

  test.each([
    [['--timeout', '10'], /a time with its unit, such as 30s, 10m or 1h30m/],
    [['--timeout', '200h'], /up to 168h/],
    [['--budget-usd', 'free'], /an amount in USD, such as 0\.50/],
    [['--budget-usd', '0'], /an amount in USD/],
    [['--budget-tokens', '1.5'], /a whole number/],
    [
      ['--budget-usd', '1', '--model', 'anthropic/other'],
      /the price of anthropic\/other is not known\. Use a budget in tokens/i,
    ],
  ])('E7: %j is refused with what to do', async (flags, message) => {
    const { code, stderr } = await runCli([...flags, 'hi'], options);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('budgets in the settings', () => {
  const config = async (project: object, user: object, trusted = false) => {
    const place = await mkdtemp(join(folder, 'config-'));
    const home = join(place, 'home');
    await mkdir(home);
    await writeFile(join(place, 'odinconfig.json'), JSON.stringify(project));
    await writeFile(join(home, 'config.json'), JSON.stringify(user));
    const root = await realpath(place);
    if (trusted) await acceptFolder(home, root, await readFile(join(root, 'odinconfig.json'), 'utf8'), 1);
    const loaded = await loadConfig({ projectRoot: root, home });
    if (!loaded.ok) throw new Error(loaded.failure.message);
    return loaded.value;
  };

  test("E7: a project may lower the user's limits; it raises them only once it is trusted", async () => {
    const project = { budget: { messageUsd: 5, messageTokens: 1_000, timeoutMs: 60_000 } };
    const user = { budget: { messageUsd: 1, messageTokens: 9_000 } };
    const untrusted = await config(project, user);
    expect(untrusted.budget).toEqual({ messageUsd: 1, messageTokens: 1_000, timeoutMs: 60_000 });
    expect(untrusted.trust.waiting).toContain('budget.messageUsd');
    const trusted = await config(project, user, true);
    expect(trusted.budget).toEqual(project.budget);
  });

  test('E7: only the user says what a model costs', async () => {
    const text = '{"models": {"a/b": {"price": [1, 2]}}}';
    expect((await parseConfig(text, 'config.json', 'user')).ok).toBe(true);
    expect(await parseConfig(text, 'odinconfig.json', 'project')).toMatchObject({
      failure: { message: expect.stringContaining('a repository must not say what a model costs') },
    });
    for (const bad of ['[1]', '[1, 2, 3]', '[-1, 2]', '["1", 2]']) {
      expect((await parseConfig(`{"models": {"a/b": {"price": ${bad}}}}`, 'config.json', 'user')).ok).toBe(false);
    }
  });
});
