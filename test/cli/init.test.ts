// `odin init` as a process of its own, with its own Redis, and a scripted server as the lesser model.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { type CliOptions, type CliRun, runCli, startCli } from './run-cli.ts';

let folder: string;
let project: string;
let server: ScriptedServer;
/** As another Odin of the user holds it, so that not every command starts one and ends it. */
let redis: RedisHandle;
let withModel: CliOptions;
let without: CliOptions;
let models: string[] = [];
/** Opened by a test that has the planner wait. */
let gate = Promise.withResolvers<void>();

const WORDS = '## What it is\nA shop that was put into words by the lesser model.\n## Commands\n- `npm test`: always';

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-init-')));
  project = join(folder, 'project');
  server = await startScriptedServer({
    script: async ({ model, userText, stepOfMessage }) => {
      models.push(model);
      if (model === 'small') return { text: WORDS };
      if (userText.startsWith('wait')) await gate.promise;
      return userText.startsWith('Write ODIN.md') && stepOfMessage === 0
        ? { toolCalls: [{ name: 'InitTool', args: {} }] }
        : { text: 'Done.' };
    },
  });
  const home = { ODIN_HOME: join(folder, 'home') };
  const keys = { ANTHROPIC_API_KEY: 'test-key-of-no-use', ANTHROPIC_BASE_URL: server.url };
  without = { cwd: project, env: { ...home, PATH: process.env['PATH'] } };
  withModel = { cwd: project, env: { ...home, ...keys } };
  await mkdir(join(folder, 'home'));
  await writeFile(join(folder, 'home/config.json'), '{"model": "anthropic/big", "smallModel": "anthropic/small"}');
  redis = await connectRedis({ home: join(folder, 'home'), notice: () => {} });
});
afterAll(async () => {
  await redis.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  models = [];
  gate = Promise.withResolvers();
  rmSync(project, { recursive: true, force: true });
  await mkdir(join(project, '.git'), { recursive: true });
  await mkdir(join(project, 'src'));
  await writeFile(join(project, 'package.json'), '{"name": "shop", "scripts": {"test": "jest"}}');
  await writeFile(join(project, 'src/index.js'), '// The shop.\n');
});

/** What `odin doctor` says of the instructions. */
async function doctor(): Promise<{ readonly ok: boolean; readonly text: string }> {
  const { stdout } = await runCli(['doctor', '--json'], withModel);
  const checks = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; ok: boolean; text: string });
  return checks.find(({ name }) => name === 'instructions') ?? { ok: false, text: 'no such check' };
}

const odinMd = (): string => readFileSync(join(project, 'ODIN.md'), 'utf8');

test('O22, O3: odin init writes ODIN.md with the lesser model alone, shows it, and odin undo takes it back', async () => {
  expect(await doctor()).toMatchObject({ ok: true, text: expect.stringContaining('`odin init` writes one') });
  const { code, stdout, stderr } = await runCli(['init'], withModel);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(models).toEqual(['small']);
  expect(odinMd()).toContain('put into words by the lesser model');
  expect(odinMd()).toContain('- Test: `npm test`: always');
  expect(stdout).toMatch(/ODIN\.md was created \(\+\d+ -0 lines\)\./);
  expect(stderr).toContain('  | +- Test: `npm test`: always');
  expect(stderr).toContain('allow, by odin init');
  expect(stderr).toMatch(/`odin undo` takes that back.*\nMade .*odinconfig\.json too.*\nNext: `odin trust`/);
  expect((await doctor()).text).toBe('ODIN.md (not trusted: taken as information; `odin trust` changes that)');
  await runCli(['trust'], withModel);
  await writeFile(join(project, 'AGENTS.md'), 'Tabs.\u200b\n');
  expect(await doctor()).toMatchObject({
    ok: false,
    text: 'ODIN.md, AGENTS.md; AGENTS.md holds 1 invisible or control characters: look at it',
  });
  await rm(join(project, 'AGENTS.md'));
  const again = await runCli(['init'], withModel);
  expect(again.stdout).toContain('is up to date. Nothing was written.');
  expect(again.stderr).not.toMatch(/odin undo|Made|Next/);
  const sessions = (await runCli(['sessions'], withModel)).stdout;
  await runCli(['trust', '--revoke'], withModel);
  const first = sessions.trim().split('\n').at(-1)?.split(/\s+/)[0] ?? '';
  expect(await runCli(['undo', '--session', first], withModel)).toMatchObject({ code: 0 });
  expect(existsSync(join(project, 'ODIN.md'))).toBe(false);
});

test('without a model the facts alone are written, and it is said; the first odinconfig.json is valid and changes nothing', async () => {
  const { code, stderr } = await runCli(['init', '--no-model'], withModel);
  expect(code).toBe(0);
  expect(models).toEqual([]);
  expect(stderr).toContain('completed · 2 steps · 2 tokens in, 2 out');
  expect(odinMd()).toContain('- `src/` (1 file of JavaScript): `index.js`: The shop.');
  expect((await runCli(['explain', 'npm test'], withModel)).code).toBe(0);
  rmSync(join(project, 'ODIN.md'));
  rmSync(join(project, 'odinconfig.json'));
  await rm(join(folder, 'home/config.json'));
  const run = await runCli(['init', '--no-config'], without);
  await writeFile(join(folder, 'home/config.json'), '{"model": "anthropic/big", "smallModel": "anthropic/small"}');
  expect(run).toMatchObject({ code: 0 });
  expect(run.stderr).toContain('No model can be used (`odin doctor` says why)');
  expect(run.stdout).toContain('Note: written from the facts alone');
  expect(existsSync(join(project, 'odinconfig.json'))).toBe(false);
});

test('in a folder below the root it says where it writes; --dry-run prints and writes nothing', async () => {
  const run: CliRun = await runCli(['init', '--dry-run', '--focus', 'Say hello.'], {
    ...withModel,
    cwd: join(project, 'src'),
  });
  expect(run.code).toBe(0);
  expect(run.stderr).toContain(
    `It goes to ${project}/ODIN.md: the project's root is the nearest folder upwards that has .git.`,
  );
  expect(run.stdout).toContain('would be created:');
  expect(run.stdout).toContain('put into words by the lesser model');
  expect(server.requests.at(-1)?.body).toContain('Say hello.');
  const asJson = await runCli(['init', '--dry-run', '--no-model', '--json'], { ...withModel, cwd: project });
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    ok: true,
    value: { text: expect.stringContaining('would be created:') },
  });
  expect(existsSync(join(project, 'ODIN.md'))).toBe(false);
  expect(existsSync(join(project, 'odinconfig.json'))).toBe(false);
});

test('what cannot be written ends with exit code 1 and what to do; --json has it all as events', async () => {
  await writeFile(join(project, 'ODIN.md'), 'Mine.\n<!-- odin:begin -->\n');
  const run = await runCli(['init', '--json'], withModel);
  expect(run.code).toBe(1);
  const events = run.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StreamEvent);
  const result = events.find((event) => event.type === 'ToolResult');
  expect(result).toMatchObject({
    tool: 'InitTool',
    status: 'refused',
    text: expect.stringContaining('mark at line 2'),
  });
  expect(odinMd()).toBe('Mine.\n<!-- odin:begin -->\n');
  expect(models).toEqual([]);
});

test('while another Odin runs the project, that one does it with its own planner and asks its question; the answer may come from anywhere', async () => {
  const owner = startCli(['run', '--permission', 'ask', 'wait'], withModel);
  await owner.until(/ask mode, anthropic\/big/);
  const init = startCli(['init', '--no-config'], withModel);
  await init.until(/Another Odin runs this project[^]*\? Write /);
  const { stdout } = await runCli(['questions', '--json'], withModel);
  const { id } = JSON.parse(stdout) as { id: string };
  expect(await runCli(['answer', id, 'allow'], withModel)).toMatchObject({ code: 0 });
  expect(await init.ended).toMatchObject({ code: 0, stdout: 'Done.\n' });
  expect(odinMd()).toContain('put into words by the lesser model');
  gate.resolve();
  expect(await owner.ended).toMatchObject({ code: 0 });
});
