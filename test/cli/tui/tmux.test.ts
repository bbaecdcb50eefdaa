// The real program in a real terminal: tmux, the launcher, raw keys. One person's hour, from the first question to a resume after kill -9.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ScriptedServer, startScriptedServer } from '../../../llm/scripted/server.ts';

/** What has not come by then does not come: says what is there instead. */
const NEVER_MS = 120_000;
const repository = new URL('../../..', import.meta.url).pathname;

const hasTmux = (() => {
  try {
    execFileSync('tmux', ['-V']);
    return true;
  } catch {
    process.stderr.write('skipped: tmux is not installed, so the interface was not driven in a real terminal\n');
    return false;
  }
})();

let folder: string;
let project: string;
let server: ScriptedServer;
let pane: Pane;
let gate = Promise.withResolvers<void>();

interface Pane {
  keys(...keys: readonly string[]): void;
  type(text: string): void;
  until(expected: RegExp): Promise<string>;
  tmux(...args: readonly string[]): string;
  /** `isFirst`: as somebody who has never set a model up. */
  start(args: string, isFirst?: boolean): void;
  close(): void;
}

/** A window of a tmux server of its own; its control client says when something was written. */
function openPane(command: (args: string, isFirst?: boolean) => string): Pane {
  const tmux = (...args: readonly string[]) =>
    execFileSync('tmux', ['-S', join(folder, 'tmux'), '-f', '/dev/null', ...args], { encoding: 'utf8' });
  tmux('new-session', '-d', '-s', 't', '-x', '100', '-y', '40', command(''));
  tmux('set-option', '-g', 'window-size', 'manual');
  const looks = new Set<() => void>();
  const client: ChildProcess = spawn('tmux', ['-S', join(folder, 'tmux'), '-C', 'attach', '-t', 't'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  client.stdout?.on('data', () => {
    for (const look of looks) look();
  });
  const screen = () => tmux('capture-pane', '-p', '-t', 't').trimEnd();
  return {
    tmux,
    keys: (...keys) => void tmux('send-keys', '-t', 't', ...keys),
    type: (text) => void tmux('send-keys', '-t', 't', '-l', text),
    start: (args, isFirst) => void tmux('respawn-pane', '-k', '-t', 't', command(args, isFirst)),
    until(expected) {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const never = setTimeout(() => reject(new Error(`${expected} never stood there:\n${screen()}`)), NEVER_MS);
      const look = () => {
        const now = screen();
        if (!expected.test(now)) return;
        clearTimeout(never);
        looks.delete(look);
        resolve(now);
      };
      looks.add(look);
      look();
      return promise;
    },
    close() {
      client.kill();
      tmux('kill-server');
    },
  };
}

beforeAll(async () => {
  if (!hasTmux) return;
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-tmux-')));
  project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'ODIN.md'), '# Test\n');
  server = await startScriptedServer({
    script: async ({ userText, stepOfMessage }) => {
      const text = userText.split('\n\n<')[0] ?? '';
      const write = (file: string, content: string) => ({
        toolCalls: [{ name: 'WriteFile', args: { file_path: file, content } }],
      });
      if (text.includes('wait ')) await gate.promise;
      if (text === 'write outside' && stepOfMessage === 0) return write(join(folder, 'outside.txt'), 'out\n');
      if (text === 'write inside' && stepOfMessage === 0) return write('inside.txt', 'in\n');
      if (text.startsWith('plan')) return { text: '1. Write `planned.txt`.' };
      if (text.startsWith('The plan above') && stepOfMessage === 0) return write('planned.txt', 'as planned\n');
      return { text: `Answer to <${text}>.` };
    },
  });
  const known = `ODIN_HOME='${folder}/home' ANTHROPIC_API_KEY=test ANTHROPIC_BASE_URL=${server.url} NO_COLOR=1`;
  const names = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENROUTER_API_KEY'];
  const unknown = `env ${names.map((name) => `-u ${name}`).join(' ')} ODIN_HOME='${folder}/first-home' NO_COLOR=1`;
  pane = openPane(
    (args, isFirst = false) =>
      `cd '${project}' && ${isFirst ? unknown : known} '${process.execPath}' '${repository}/bin/odin.js' ${isFirst ? '' : '--model anthropic/scripted'} ${args}; echo ENDED $?; exec sleep 1000`,
  );
});

afterAll(async () => {
  if (!hasTmux) return;
  gate.resolve();
  pane.keys('C-c');
  pane.keys('C-d');
  await pane.until(/ENDED 0/);
  pane.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const wholeDay = hasTmux ? test : test.skip;

wholeDay(
  'G1, G6, O6: question, edit with a permission, undo, three queued in their modes, interrupt, in a real terminal',
  async () => {
    await pane.until(/\n ask · scripted/);
    pane.type('hello');
    pane.keys('Enter');
    await pane.until(/ask ❯ hello\n\n {2}Answer to <hello>\.\n\n {2}completed/);

    pane.keys('BTab', 'BTab');
    await pane.until(/\n edit · scripted/);
    pane.type('write outside');
    pane.keys('Enter');
    const asked = await pane.until(/❯ y {2}yes, this once/);
    expect(asked).toMatch(/outside the project/);
    expect(asked).toMatch(/\+out/);
    pane.keys('y');
    await pane.until(/✓ WriteFile .*outside\.txt[^]*Answer to <write outside>\.[^]*completed/);
    expect(readFileSync(join(folder, 'outside.txt'), 'utf8')).toBe('out\n');

    pane.type('write inside');
    pane.keys('Enter');
    await pane.until(/Answer to <write inside>\.[^]*completed/);
    pane.type('/undo');
    pane.keys('Enter');
    await pane.until(/edit ❯ \/undo 1\n[^]*completed/);
    expect(existsSync(join(project, 'inside.txt'))).toBe(false);

    pane.type('wait for it');
    pane.keys('Enter');
    await pane.until(/thinking · \d+ s/);
    for (const text of ['in edit', 'in ask', 'in plan']) {
      pane.type(text);
      pane.keys('Enter');
      await pane.until(new RegExp(`↳ \\w+ ${text}`));
      pane.keys('BTab');
    }
    await pane.until(/↳ edit in edit\n ↳ ask in ask\n ↳ plan in plan/);
    pane.keys('Escape');
    const rest = await pane.until(/Answer to <in ask>\.[^]*plan ❯ in plan[^]*Answer to <in plan>\.[^]*completed/);
    expect(rest).toMatch(/cancelled/);
  },
);

wholeDay(
  'G1, O1: a plan is accepted and carried out; the window is resized while an answer is waited for',
  async () => {
    await pane.until(/What becomes of the plan/);
    pane.keys('Escape');
    await pane.until(/─{100}\n.*\n─{100}\n edit · scripted/);
    pane.type('/mode plan');
    pane.keys('Enter');
    await pane.until(/\n plan · scripted/);
    pane.type('plan it');
    pane.keys('Enter');
    await pane.until(/What becomes of the plan\?\n[^]*accept it/);
    pane.keys('Enter');
    await pane.until(/✓ WriteFile planned\.txt → created \(\+1 -0 lines\)[^]*completed/);
    expect(readFileSync(join(project, 'planned.txt'), 'utf8')).toBe('as planned\n');
    gate = Promise.withResolvers<void>();
    pane.type('wait and resize');
    pane.keys('Enter');
    await pane.until(/thinking · \d+ s/);
    pane.tmux('resize-window', '-t', 't', '-x', '60', '-y', '20');
    const small = await pane.until(/^─{60}\n/m);
    for (const line of small.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
    pane.tmux('resize-window', '-t', 't', '-x', '200', '-y', '60');
    await pane.until(/^─{200}\n/m);
    pane.tmux('resize-window', '-t', 't', '-x', '100', '-y', '40');
    await pane.until(/^─{100}\n/m);
    gate.resolve();
    await pane.until(/Answer to <wait and resize>\.\n\n {2}completed/);
  },
);

wholeDay(
  'E1, G1: killed by -9 in the middle of a message, --continue shows the conversation and goes on with it',
  async () => {
    gate = Promise.withResolvers<void>();
    pane.type('wait to be killed');
    pane.keys('Enter');
    await pane.until(/❯ wait to be killed[^]*thinking · \d+ s/);
    const shell = pane.tmux('display-message', '-p', '-t', 't', '#{pane_pid}').trim();
    const [program] = execFileSync('pgrep', ['-P', shell], { encoding: 'utf8' }).split('\n');
    process.kill(Number(program), 'SIGKILL');
    await pane.until(/ENDED 137/);
    pane.start('--continue');
    const shown = await pane.until(/❯ wait to be killed[^]*Esc interrupts/);
    expect(shown).toMatch(/Answer to <wait and resize>/);
    gate.resolve();
    await pane.until(/Answer to <wait to be killed>\.\n\n {2}completed/);
  },
);

wholeDay(
  'G7: the first start without a model offers a login, tests the key that is pasted, shows it nowhere, and goes on into the interface',
  async () => {
    pane.keys('C-c');
    pane.keys('C-d');
    await pane.until(/ENDED 0/);
    pane.start('', true);
    await pane.until(/No model is set up yet[^]*1 +login[^]*2 +demo[^]*What now\? 1-2/);
    pane.type('login');
    pane.keys('Enter');
    await pane.until(/Which provider\?/);
    pane.type('compatible');
    pane.keys('Enter');
    await pane.until(/Base URL of the server/);
    pane.type(`${server.url}/v1`);
    pane.keys('Enter');
    await pane.until(/Key for compatible/);
    pane.type('key-of-nobody-0123456789');
    pane.keys('Enter');
    await pane.until(/Which model should plan and answer/);
    pane.keys('Enter');
    await pane.until(/\n ask · scripted/);
    pane.type('hello again');
    pane.keys('Enter');
    const shown = await pane.until(/Answer to <hello again>\.\n\n {2}completed/);
    expect(shown).not.toContain('key-of-nobody');
  },
);
