import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { modelGuide } from '../../cli/model-guide.ts';
import { buildProgram } from '../../cli/program.ts';
import { type CliOptions, runCli } from './run-cli.ts';

let folder: string;
let options: CliOptions;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'odin-args-'));
  options = { cwd: folder, env: { ODIN_HOME: join(folder, 'home') } };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const COMMANDS = [
  ...[
    'run',
    'send',
    'attach',
    'cancel',
    'diff',
    'undo',
    'redo',
    'sessions',
    'queue',
    'tool',
    'models',
    'doctor',
    'demo',
  ],
  ...['questions', 'answer', 'permissions', 'trust', 'explain', 'init', 'fsck', 'replay', 'login', 'logout', 'compact'],
  ...['agents', 'batch', 'worker', 'workers', 'dashboard', 'logs', 'stats'],
];
/** Started by Odin itself. */
const HIDDEN = ['run-alone'];

describe('the command line', () => {
  test('odin --help names every command and every exit code', async () => {
    const { code, stdout } = await runCli(['--help'], options);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
    for (const exit of ['0', '1', '2', '3', '130']) expect(stdout).toMatch(new RegExp(`^  ${exit} +\\w`, 'm'));
  });

  test('odin --version is the version of the package', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(await runCli(['--version'], options)).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  test('there is no command that this test does not know', () => {
    expect(
      buildProgram()
        .program.commands.map((command) => command.name())
        .toSorted(),
    ).toEqual([...COMMANDS, ...HIDDEN].toSorted());
  });

  test.each([
    [
      ['run', '--mode', 'yolo', 'x'],
      /^odin: option '-m, --mode <mode>' argument 'yolo' is invalid. Allowed choices are ask, plan, edit.$/,
    ],
    [
      ['--max-steps', '0', 'x'],
      /^odin: option '--max-steps <n>' argument '0' is invalid. It must be a whole number, 1 or more.$/,
    ],
    [['--max-steps', '2.5', 'x'], /must be a whole number/],
    [['run', '--bogus', 'x'], /^odin: unknown option '--bogus'/],
    [
      ['run', '--continue', '--session', 'A', 'x'],
      /^odin: option '-s, --session <id>' cannot be used with option '-c, --continue'$/,
    ],
    [
      ['sesions'],
      /^odin: there is no command "sesions". Did you mean "odin sessions"\? As a prompt: odin run sesions$/,
    ],
    [['send'], /^odin: missing required argument 'session'$/],
    [['queue', 'remove', 'last', 'two'], /must be a whole number/],
    [['queue', 'edit', 'last', '2'], /^odin: say what to change: --body "…", --mode ask\|plan\|edit, or both.$/],
    [['tool', 'LS', '{path}'], /^odin: the arguments are not valid JSON \(.*\). For example: odin tool Glob/],
    [['run', '--permission', 'yes', 'x'], /Allowed choices are deny, ask, accept-edits.$/],
    [['answer', 'x', 'maybe'], /Allowed choices are allow, session, always, deny.$/],
    [['answer', 'x', 'allow', '--word', 'no'], /--word tells the model why not: it goes with deny.$/],
    [['explain'], /^odin: give a command: odin explain "rm -rf build"$/],
    [['init', 'x'], /^odin: too many arguments for 'init'/],
    [['replay'], /^odin: missing required argument 'session'$/],
    [['permissions', 'revoke', '1'], /^odin: there is no rule 1\. `odin permissions list`/],
    [['run', ''], /^odin: the prompt is empty. Give one: odin run/],
    [['run', '-'], /^odin: the prompt is empty/],
    [['run'], /^odin: the prompt is empty/],
  ])('odin %j is refused in one line with exit code 2', async (args, expected) => {
    const { code, stdout, stderr } = await runCli(args, options);
    expect(stderr.trimEnd()).toMatch(expected);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('without a model, where nobody looks on, there is a guide of three lines and exit code 2', async () => {
    const { code, stdout, stderr } = await runCli(['where is it?'], options);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toHaveLength(3);
    for (const name of ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'Ollama', '--model', 'odin demo']) {
      expect(stderr).toContain(name);
    }
  });

  test('a mistake in odinconfig.json is refused with its place before anything runs', async () => {
    const project = await mkdtemp(join(tmpdir(), 'odin-args-'));
    await writeFile(join(project, 'odinconfig.json'), '{\n  "defaultMod": "plan"\n}');
    const { code, stderr } = await runCli(['hello'], { ...options, cwd: project });
    await rm(project, { recursive: true });
    expect(stderr).toMatch(/odinconfig\.json:2:3: unknown key "defaultMod"\. Did you mean "defaultMode"\?\n$/);
    expect(code).toBe(2);
  });
});

test('the guide for a missing model names the command as it was given', () => {
  expect(modelGuide(true, 'start')).toContain('npm start -- demo');
  expect(modelGuide(false, undefined).split('\n')).toHaveLength(3);
  expect(modelGuide(false, undefined)).toContain('odin demo');
});
