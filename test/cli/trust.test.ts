import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRuleStore } from '../../orchestrator/permissions-rules.ts';
import { isFolderTrusted } from '../../orchestrator/trust.ts';
import { type CliOptions, runCli } from './run-cli.ts';

let folder: string;
let project: string;
let options: CliOptions;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-trust-')));
  project = join(folder, 'project');
  await mkdir(project);
  await writeFile(
    join(project, 'odinconfig.json'),
    '{"AllowedCommands": ["npm test"], "ForbiddenCommands": ["npm publish"]}',
  );
  options = { cwd: project, env: { ODIN_HOME: join(folder, 'home') } };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const editMode = async (command: string): Promise<string> =>
  /edit mode: (\w+)/.exec((await runCli(['explain', command], options)).stdout)?.[1] ?? '';
const doctor = async (): Promise<string> => {
  const { stdout } = await runCli(['doctor', '--json'], options);
  const checks = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; text: string });
  return checks.find(({ name }) => name.includes('odinconfig'))?.text ?? '';
};

test('SAFETY 2.3: what a repository allows holds once its file is trusted, what it forbids at once; a change has to be trusted again', async () => {
  expect([await editMode('npm test'), await editMode('npm publish')]).toEqual(['ask', 'deny']);
  expect(await doctor()).toMatch(/^not accepted.*these do not hold: AllowedCommands\. See it and say odin trust$/);
  const { code, stdout } = await runCli(['trust'], options);
  expect(code).toBe(0);
  expect(stdout).toContain('{"AllowedCommands": ["npm test"]');
  expect(stdout).toContain('from now on these hold too: AllowedCommands');
  expect([await editMode('npm test'), await editMode('npm publish')]).toEqual(['allow', 'deny']);
  await writeFile(join(project, 'odinconfig.json'), '{"AllowedCommands": ["npm test", "npm run x"]}');
  expect(await editMode('npm test')).toBe('ask');
  expect(await doctor()).toMatch(/^changed since it was accepted/);
  await runCli(['trust'], options);
  expect(await doctor()).toBe('accepted as it is now');
  expect((await runCli(['trust', '--revoke'], options)).stdout).toContain('is no longer trusted');
  expect(await editMode('npm test')).toBe('ask');
});

test('SAFETY 2.3: a folder is trusted with or without an odinconfig.json, shown as it is, and a file that comes later waits', async () => {
  const home = join(folder, 'home');
  const plain = join(folder, 'plain');
  await mkdir(plain);
  const here = { ...options, cwd: plain };
  const show = async () => (await runCli(['trust', '--show'], here)).stdout;
  expect(isFolderTrusted(home, plain)).toBe(false);
  expect(await show()).toMatch(/plain: not trusted: .*\nodinconfig\.json: the project has none\n$/);
  expect(isFolderTrusted(home, plain)).toBe(false);
  expect(await runCli(['trust'], here)).toMatchObject({ code: 0, stderr: '' });
  expect(isFolderTrusted(home, plain)).toBe(true);
  expect(isFolderTrusted(home, project)).toBe(false);
  expect(await show()).toMatch(/plain: trusted since \d{4}-\d\d-\d\d\nodinconfig\.json: the project has none\n$/);
  await writeFile(join(plain, 'odinconfig.json'), '{"AllowedCommands": ["npm test"]}');
  expect(isFolderTrusted(home, plain)).toBe(true);
  expect(await show()).toMatch(/: trusted since .*\nodinconfig\.json: not accepted, .*: AllowedCommands\./);
  await runCli(['trust'], here);
  expect(await show()).toMatch(/: trusted since .*\nodinconfig\.json: accepted as it is now\n$/);
  expect((await runCli(['trust', '--revoke'], here)).stdout).toBe(`${plain} is no longer trusted\n`);
  expect(isFolderTrusted(home, plain)).toBe(false);
  expect((await runCli(['trust', '--revoke'], here)).stdout).toBe(`${plain} was not trusted\n`);
  await writeFile(join(home, 'trust.json'), '{"version":1,"projects":{"/":');
  expect(isFolderTrusted(home, plain)).toBe(false);
  expect((await runCli(['trust', '--show'], here)).stderr).toContain('trust.json is not as Odin wrote it');
  await rm(join(home, 'trust.json'));
});

test('SAFETY 2.3: rules for always are listed and revoked, and hold in between', async () => {
  expect(await runCli(['permissions'], options)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'No command is allowed for always here.\n',
  });
  await openRuleStore(join(folder, 'home'), project).add('cargo build', 1_700_000_000_000);
  expect(await editMode('cargo build --release')).toBe('allow');
  expect((await runCli(['permissions', 'list'], options)).stdout).toMatch(
    /^N +SINCE +COMMANDS.*\n1 +2023-11-14 +cargo build\n$/,
  );
  expect((await runCli(['permissions', 'revoke', '1'], options)).stdout).toBe('no longer allowed: cargo build\n');
  expect(await editMode('cargo build --release')).toBe('ask');
});
