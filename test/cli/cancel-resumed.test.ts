// The process that runs a command is killed, another one goes on with its message, and a third cancels it.

import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { processesWith, sandboxHere } from '../support/exec-bench.ts';
import { until } from '../support/until.ts';
import { runCli, startCli } from './run-cli.ts';

// Without a sandbox the command is asked about, and nobody is here to answer.
const here = await sandboxHere();

(here ? test : test.skip)(
  'E11 DURABILITY 7: resumed after a kill -9, cancelled from a third process: the command and all that it started is gone',
  async () => {
    const project = realpathSync(mkdtempSync(join(tmpdir(), 'odin-cancel-')));
    const home = mkdtempSync(join(tmpdir(), 'odin-cancel-home-'));
    writeFileSync(join(project, 'ODIN.md'), 'A project.\n');
    const word = `odin-resumed-${Math.random()}`;
    const server = await startScriptedServer({
      script: (turn) =>
        turn.stepOfMessage === 0 && turn.userText.startsWith('first')
          ? { toolCalls: [{ name: 'ExecuteCommand', args: { command: `touch ${word}; tail -f ${word}` } }] }
          : { text: 'Done.' },
    });
    const env = { ODIN_HOME: home, ANTHROPIC_API_KEY: 'test-key-of-no-use', ANTHROPIC_BASE_URL: server.url };
    const options = { cwd: project, env };
    const run = (prompt: string) => ['run', prompt, '--model', 'anthropic/scripted', '--mode', 'edit'];
    try {
      const first = startCli(run('first'), options);
      await until(() => processesWith(word).length > 0);
      first.child.kill('SIGKILL');
      await once(first.child, 'exit');
      expect(processesWith(word)).not.toEqual([]);
      const sid = (await runCli(['sessions', 'list', '--json'], options)).stdout.match(/"sid":"(\w+)"/)?.[1] ?? '';
      // It waits behind the first, which goes on.
      const second = startCli(['run', '--session', sid, 'second', ...run('').slice(2)], options);
      await second.until(/waits at position/);
      expect((await runCli(['cancel', sid], options)).code).toBe(0);
      await until(() => processesWith(word).length === 0);
      expect(await second.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Done.') });
      const { stdout } = await runCli(['sessions', 'export', sid], options);
      expect(stdout.match(/"status":"(?:cancelled|completed)"/g)).toEqual([
        '"status":"cancelled"',
        '"status":"completed"',
      ]);
    } finally {
      await server.close();
      for (const folder of [project, home]) rmSync(folder, { recursive: true, force: true });
    }
  },
);
