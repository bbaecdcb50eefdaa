import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRuleStore } from '../../orchestrator/permissions-rules.ts';
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
