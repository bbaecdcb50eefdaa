import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type CliOptions, runCli, startCli } from './run-cli.ts';

let folder: string;
let options: CliOptions;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-explain-')));
  await mkdir(join(folder, 'project', 'src'), { recursive: true });
  await writeFile(join(folder, 'project', 'ODIN.md'), 'A project.\n');
  await writeFile(join(folder, 'project', 'odinconfig.json'), '{"ForbiddenCommands": ["make deploy"]}');
  options = { cwd: join(folder, 'project', 'src'), env: { ODIN_HOME: join(folder, 'home') } };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Explained {
  readonly class: string;
  readonly op: string;
  readonly decisions: { readonly ask: string; readonly plan: string; readonly edit: string };
  readonly reasons: readonly string[];
  readonly paths: readonly { readonly path: string; readonly outside: boolean }[];
}

test.each([
  ['commands.tsv', 236],
  ['commands-more.tsv', 600],
])('O18 O23: every case of %s gets its class and decisions through odin explain --stdin', async (name, atLeast) => {
  const text = await readFile(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');
  const rows = text.split('\n').filter((line) => line !== '' && !/^(?:#|id\t)/.test(line));
  expect(rows.length).toBeGreaterThanOrEqual(atLeast);
  const cases = rows.map((row) => row.split('\t'));
  const input = cases.map(([, command, facts]) => `{"command": ${command}, "facts": ${facts}}\n`).join('');
  const { code, stdout, stderr } = await runCli(['explain', '--stdin'], { ...options, input });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const answers = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Explained);
  const found = answers.map(({ class: of, decisions: { ask, plan, edit } }) => [of, ask, plan, edit]);
  expect(cases.map(([id], at) => [id, ...(found[at] ?? [])])).toEqual(
    cases.map(([id, , , of, readOnly, edit]) => [id, of, readOnly, readOnly, edit]),
  );
});

test('O18: --json has class, op, decisions, reasons and paths; --facts makes the world up', async () => {
  const facts =
    '{"cwd": "/project/src", "links": {"/project/src/link": "/etc"}, "allowed": ["npm test"], "forbidden": ["npm publish"]}';
  const explain = async (command: string): Promise<Explained> =>
    JSON.parse((await runCli(['explain', '--json', '--facts', facts, command], options)).stdout) as Explained;
  const outside = await explain('cat link/hosts');
  expect(Object.keys(outside).toSorted()).toEqual(['class', 'decisions', 'op', 'paths', 'reasons']);
  expect(outside).toMatchObject({
    class: 'outside-approval',
    op: 'read',
    decisions: { ask: 'ask', plan: 'ask', edit: 'ask' },
    paths: [{ path: '/etc/hosts', outside: true }],
  });
  expect((await explain('npm test')).decisions).toEqual({ ask: 'deny', plan: 'deny', edit: 'allow' });
  expect((await explain('npm publish')).class).toBe('forbidden');
});

test('O18: without facts it is this project, with its settings and real links; people read lines', async () => {
  const explain = async (command: string) => (await runCli(['explain', command], options)).stdout;
  expect(await explain('cat ../ODIN.md')).toMatch(
    /^allow-readonly \(read\)\n[^]*ask mode: allow\nplan mode: allow\nedit mode: allow\n$/,
  );
  expect(await explain('cat ../../home/x')).toMatch(/^(?:outside-approval|forbidden) /);
  expect(await explain('make deploy')).toMatch(/^forbidden [^]*because ForbiddenCommands has "make deploy"/);
  expect(await explain('rm\u202e -rf x')).toMatch(/^forbidden [^]*edit mode: deny\n$/);
});

test('--stdin answers each line when it comes, and a line that is none with an error', async () => {
  const { child, ended, until } = startCli(['explain', '--stdin'], { ...options, holdInput: true });
  child.stdin?.write('{"command": "ls"}\n');
  await until(/allow-readonly/);
  child.stdin?.end('{"command": 1}\nnonsense\n{"command": "ls", "facts": {"cmd": "/"}}\n{"command": "sudo ls"}');
  const { code, stdout } = await ended;
  expect(code).toBe(2);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => Object.keys(JSON.parse(line) as object)[0]);
  expect(lines).toEqual(['class', 'error', 'error', 'error', 'class']);
});

test('facts that are none are refused with an example', async () => {
  const { code, stderr } = await runCli(['explain', '--facts', '{"cwd": 7}', 'ls'], options);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^odin: --facts: .*cwd.*For example:/) });
});
