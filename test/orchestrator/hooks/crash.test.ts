// Hooks of a message whose process is killed: in the middle of a toolCall, of a toolResult and of a done hook.

import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { startScriptedServer } from '../../../llm/scripted/server.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import { runCli, startCli } from '../../cli/run-cli.ts';
import { until } from '../../support/until.ts';

/** Says that it runs, with its process, and waits for a file. */
const waiting = (log: string, go: string) =>
  `cat >> ${log}; echo $$ > ${log}.pid; while [ ! -e ${go} ]; do sleep 0.01; done`;

test('E5 C2: after kill -9 a toolCall hook is asked again, but not behind an intent; the write is made once, toolResult and done hooks run again, the message ends once', async () => {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'odin-hooks-')));
  const home = mkdtempSync(join(tmpdir(), 'odin-hooks-home-'));
  const at = (name: string) => join(project, name);
  const seqs = (log: string) =>
    readFileSync(at(log), 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { seq: number }).seq);
  const hooks = {
    toolCall: [{ command: waiting('call', 'go1'), timeoutMs: 60_000 }],
    toolResult: [{ command: waiting('result', 'go2'), timeoutMs: 60_000 }],
    done: [{ command: waiting('done', 'go3'), timeoutMs: 60_000 }],
  };
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'config.json'), JSON.stringify({ hooks }));
  writeFileSync(at('ODIN.md'), 'A project.\n');
  const script = ({ userText, stepOfMessage }: ScriptedTurn): ScriptedAnswer =>
    userText.startsWith('first') && stepOfMessage === 0
      ? { toolCalls: [{ name: 'WriteFile', args: { file_path: 'a.txt', content: 'once\n' } }] }
      : { text: 'Done.' };
  const server = await startScriptedServer({ script });
  const env = { ODIN_HOME: home, ANTHROPIC_API_KEY: 'test-key-of-no-use', ANTHROPIC_BASE_URL: server.url };
  const options = { cwd: project, env };
  const odin = (...args: readonly string[]) =>
    startCli(['run', ...args, '--mode', 'edit', '--model', 'anthropic/scripted'], options);
  /** Kills the process while its hook waits, and sees the hook die with it. */
  const killIn = async (life: ReturnType<typeof odin>, log: string) => {
    await until(() => existsSync(at(`${log}.pid`)) && readFileSync(at(`${log}.pid`), 'utf8') !== '');
    const hook = readFileSync(at(`${log}.pid`), 'utf8').trim();
    life.child.kill('SIGKILL');
    await once(life.child, 'exit');
    await until(() => !existsSync(`/proc/${hook}`));
    rmSync(at(`${log}.pid`));
  };
  try {
    await killIn(odin('first'), 'call');
    expect(existsSync(at('a.txt'))).toBe(false);
    writeFileSync(at('go1'), '');
    await killIn(odin('second', '--continue'), 'result');
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('once\n');
    writeFileSync(at('go2'), '');
    await killIn(odin('third', '--continue'), 'done');
    writeFileSync(at('go3'), '');
    expect((await odin('fourth', '--continue').ended).code).toBe(0);
    expect([seqs('call'), seqs('result'), seqs('done')]).toEqual([
      [1, 1],
      [1, 1],
      [1, 1, 2, 3, 4],
    ]);
    const { stdout } = await runCli(['sessions', 'export', 'last'], options);
    const journal = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: JournalEvent }).event);
    const count = (type: JournalEvent['type']) => journal.filter((event) => event.type === type).length;
    expect([count('tool.intent'), count('tool.done'), count('msg.done')]).toEqual([1, 1, 4]);
  } finally {
    for (const name of ['go1', 'go2', 'go3']) writeFileSync(at(name), '');
    await server.close();
    for (const folder of [project, home]) rmSync(folder, { recursive: true, force: true });
  }
});
