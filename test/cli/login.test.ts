// `odin login` and `odin logout` as processes of their own, against a server that knows one key.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { checkKey } from '../../cli/login/check-key.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import { type CliOptions, runCli } from './run-cli.ts';

const KEY = 'key-of-the-user-0123456789abcdef';
const LAUNCHER = fileURLToPath(new URL('../../bin/odin.js', import.meta.url));

let folder: string;
let server: ScriptedServer;
let home: string;
let options: CliOptions;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'odin-login-'));
  await mkdir(join(folder, 'project'));
  await writeFile(join(folder, 'project', 'show.mjs'), 'console.log(process.env);');
  server = await startScriptedServer({
    acceptKey: KEY,
    models: ['text-embedding-1', 'scripted'],
    script: ({ stepOfMessage, userText }) =>
      userText.includes('environment') && stepOfMessage === 0
        ? { toolCalls: [{ name: 'ExecuteCommand', args: { command: 'node show.mjs' } }] }
        : { text: 'It works.' },
  });
});
beforeEach(() => {
  count += 1;
  home = join(folder, `home${count}`);
  options = { cwd: join(folder, 'project'), env: { ODIN_HOME: home } };
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const keysFile = () => join(home, 'keys.json');
const logIn = (provider: string, more: readonly string[] = [], input = `${KEY}\n`) =>
  runCli(['login', provider, '--no-keyring', ...more], { ...options, input });

/** All that lies under the home, its Redis included. */
const filesUnder = (path: string): readonly string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('odin login without a terminal', () => {
  test('G7: a key from stdin is tested, kept in a file that only its user can read, and runs use it', async () => {
    const done = await logIn('anthropic', ['--base-url', server.url]);
    expect(done).toMatchObject({ code: 0, stdout: '' });
    expect(done.stderr).toContain('Logged in to anthropic: it lists 2 models. Its key is in keys.json');
    expect(done.stderr).not.toContain(KEY);
    expect(statSync(keysFile()).mode & 0o777).toBe(0o600);
    const before = server.requests.length;
    const ran = await runCli(
      ['run', '--model', 'anthropic/scripted', '--small-model', 'anthropic/scripted', 'Go.'],
      options,
    );
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stdout).toContain('It works.');
    expect(server.requests.length).toBe(before + 1);
  });

  test('G7: a stored key is in no journal, no Redis, no log and no environment of a command', async () => {
    await logIn('anthropic', ['--base-url', server.url]);
    const flags = ['--model', 'anthropic/scripted', '--small-model', 'anthropic/scripted'];
    const ran = await runCli(
      ['run', ...flags, '--mode', 'edit', '--allow', 'node show.mjs', `Show the environment. My key is ${KEY}.`],
      { ...options, env: { ...options.env, ODIN_LOG: '1' } },
    );
    expect(ran.stderr).not.toContain('odin:');
    expect(ran.code).toBe(0);
    const toModel = server.requests
      .slice(-2)
      .map(({ body }) => body)
      .join('\n');
    expect(toModel).toContain('[redacted:stored-key]');
    expect(toModel).toMatch(/PATH: /);
    expect(toModel).not.toContain(KEY);
    const holders = filesUnder(home).filter((path) => readFileSync(path).includes(KEY));
    expect(holders).toEqual([keysFile()]);
  });

  test.each([
    ['a wrong key', 'another-key-0123456789', 1, /^Asking anthropic for its models…\nodin: Nothing was stored. .*key/],
    ['its assignment', `ANTHROPIC_API_KEY=${KEY}`, 2, /^odin: That is not a key: .*Paste the key alone/],
    ['nothing', '', 2, /^odin: No key was given for anthropic/],
  ])('given %s it stores nothing and says why', async (_, input, code, words) => {
    const done = await logIn('anthropic', ['--base-url', server.url], input);
    expect(done.code).toBe(code);
    expect(done.stderr).toMatch(words);
    expect(existsSync(keysFile())).toBe(false);
  });

  test.each([
    [['login'], /^odin: name the provider, and give the key by stdin: odin login anthropic < keyfile$/m],
    [['login', 'compatible'], /^odin: say where the server is: odin login compatible --base-url/],
    [['login', 'ollama'], /^odin: "ollama" is no provider to log in to. A local Ollama needs no login/],
    [['login', 'claude'], /There are: anthropic, openai, openrouter, compatible\./],
    [['login', 'compatible', '--base-url', 'http://user:word@host/v1'], /without a name or password in it/],
    [['logout'], /^odin: no key is stored\./],
  ])('%j is refused with what to do', async (args, words) => {
    const { code, stderr } = await runCli(args, { ...options, input: KEY });
    expect(code).toBe(2);
    expect(stderr).toMatch(words);
  });

  test('a compatible server is the default of later runs, with the first of its models that is for text', async () => {
    const done = await logIn('compatible', ['--base-url', `${server.url}/v1/`]);
    expect(done.stderr).toContain('A run takes compatible/scripted when it names none.');
    const { stdout } = await runCli(['models', '--json'], options);
    expect(JSON.parse(stdout)).toMatchObject({ model: 'compatible/scripted' });
    expect((await runCli(['Go.'], options)).stdout).toContain('It works.');
    const other = await logIn('compatible', ['--base-url', `${server.url}/v1`, '--model', 'other']);
    expect(other.code).toBe(2);
    expect(other.stderr).toContain('does not list a model "other"');
  });

  test('the environment goes before a stored key, and a key goes to no other server than the one that tested it', async () => {
    await logIn('anthropic', ['--base-url', server.url]);
    const flags = ['--model', 'anthropic/scripted', '--small-model', 'anthropic/scripted', 'Go.'];
    const wrong = await runCli(['run', ...flags], {
      ...options,
      env: { ...options.env, ANTHROPIC_API_KEY: 'key-of-the-environment', ANTHROPIC_BASE_URL: server.url },
    });
    expect(wrong.code).not.toBe(0);
    const elsewhere = await runCli(['run', ...flags], {
      ...options,
      env: { ...options.env, ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' },
    });
    expect(elsewhere).toMatchObject({ code: 2 });
    expect(elsewhere.stderr).toContain('needs a key: run `odin login anthropic`');
  });

  test('a provider of the user’s config gets its key to the address that the config says', async () => {
    await mkdir(home, { mode: 0o700 });
    const config = { providers: { proxy: { kind: 'anthropic', baseURL: server.url, apiKeyEnv: 'PROXY_KEY' } } };
    await writeFile(join(home, 'config.json'), JSON.stringify(config));
    expect((await logIn('proxy', ['--base-url', 'http://127.0.0.1:9'])).stderr).toMatch(/Leave --base-url out/);
    expect((await logIn('proxy')).stderr).toContain('A run takes proxy/scripted');
    expect((await runCli(['Go.'], options)).stdout).toContain('It works.');
  });

  test('a provider of the user’s own by the name of openrouter has its key asked about at its own server alone', async () => {
    const asked: (string | undefined)[] = [];
    const own = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`);
      response.setHeader('content-type', 'application/json');
      response.end('{"data":[{"id":"scripted"}]}');
    });
    await new Promise<void>((listening) => own.listen(0, '127.0.0.1', listening));
    const baseURL = `http://127.0.0.1:${(own.address() as AddressInfo).port}/v1`;
    const providers = { openrouter: { kind: 'openai-chat', baseURL, apiKeyEnv: 'OWN_KEY' } } as const;
    const listed = await checkKey({ provider: 'openrouter', key: KEY }, { providers }, AbortSignal.timeout(300_000));
    expect(listed).toEqual({ ok: true, value: ['scripted'] });
    expect(asked).toEqual([`/v1/key Bearer ${KEY}`, `/v1/models Bearer ${KEY}`]);
    own.closeAllConnections();
    await new Promise((closed) => own.close(closed));
  });

  test('odin logout forgets the key', async () => {
    await logIn('anthropic', ['--base-url', server.url]);
    expect((await runCli(['logout', 'openai'], options)).stderr).toContain('Stored: anthropic.');
    expect(await runCli(['logout'], options)).toMatchObject({ code: 0 });
    expect(readFileSync(keysFile(), 'utf8')).not.toContain(KEY);
    const after = await runCli(['run', '--model', 'anthropic/scripted', 'Go.'], options);
    expect(after).toMatchObject({ code: 2 });
  });

  test('without a keyring that works, the key goes to the file by itself', async () => {
    const done = await runCli(['login', 'anthropic', '--base-url', server.url], {
      ...options,
      env: { ...options.env, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' },
      input: KEY,
    });
    expect(done.code).toBe(0);
    expect(readFileSync(keysFile(), 'utf8')).toContain(KEY);
  });
});

describe('in a terminal', () => {
  /** The command line in a real terminal; what it says is answered in order. */
  async function inTerminal(args: string, answers: readonly (readonly [when: RegExp, type: string])[]) {
    const {
      ANTHROPIC_API_KEY: _a,
      OPENAI_API_KEY: _o,
      OPENAI_BASE_URL: _b,
      ANTHROPIC_BASE_URL: _c,
      ...env
    } = process.env;
    const child = spawn('script', ['-qec', `"${process.execPath}" "${LAUNCHER}" ${args}`, '/dev/null'], {
      cwd: join(folder, 'project'),
      env: { ...env, ...options.env, NO_COLOR: '1', TERM: 'dumb' },
      stdio: 'pipe',
    });
    let screen = '';
    let from = 0;
    const left = [...answers];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text;
      for (let next = left[0]; next?.[0].test(screen.slice(from)); [next] = left) {
        from = screen.length;
        left.shift();
        child.stdin.write(next[1]);
      }
    });
    const code = await new Promise<number | null>((resolve) => void child.once('close', resolve));
    return { code, screen };
  }

  test('G7: odin login asks, and the key that is typed is not shown', async () => {
    const { code, screen } = await inTerminal(`login --no-keyring --base-url ${server.url}`, [
      [/Which provider\? .*: $/, '1\r'],
      [/Key for anthropic .*: $/, `\u001b[200~${KEY}\u001b[201~\r`],
    ]);
    expect(screen).toContain('Logged in to anthropic');
    expect(screen).not.toContain(KEY);
    expect(code).toBe(0);
    expect(readFileSync(keysFile(), 'utf8')).toContain(KEY);
  });

  test('G1: the first start without a model offers a login and goes on with what was asked', async () => {
    const { code, screen } = await inTerminal('run Go.', [
      [/What now\? .*: $/, '1\r'],
      [/Which provider\? .*: $/, 'compatible\r'],
      [/Base URL of the server .*: $/, `${server.url}/v1\r`],
      [/Key for compatible.*: $/, `${KEY}\r`],
      [/Which model .*\[scripted\]: $/, '\r'],
    ]);
    expect(screen).toContain('It works.');
    expect(screen).not.toContain(KEY);
    expect(code).toBe(0);
  });

  test('G1: who wants neither a login nor the demo reads the guide', async () => {
    const { code, screen } = await inTerminal('run Go.', [[/What now\? .*: $/, '\r']]);
    expect(screen).toContain('To see Odin work on this folder without a model');
    expect(code).toBe(2);
  });

  test('Ctrl-C at the key stores nothing', async () => {
    const { code } = await inTerminal('login anthropic', [[/Key for anthropic .*: $/, 'half-a-key\u0003']]);
    expect(code).toBe(130);
    expect(existsSync(keysFile())).toBe(false);
  });
});
