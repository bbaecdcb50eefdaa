// `odin sessions fork`, `odin replay` and `odin fsck` as a user runs them, over a session whose process was killed.

import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { runCli, startCli } from './run-cli.ts';

test('E14 G4: a session whose process was killed is shown as interrupted, replayed, forked and checked, each with its exit code', async () => {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'odin-care-')));
  const home = mkdtempSync(join(tmpdir(), 'odin-care-home-'));
  writeFileSync(join(project, 'ODIN.md'), 'A project.\n');
  const isDead = Promise.withResolvers<void>();
  const server = await startScriptedServer({
    async script({ stepOfMessage, messagesText }) {
      if (messagesText.includes('short')) return { text: 'It is short.' };
      if (stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'ODIN.md' } }] };
      await isDead.promise;
      return { text: 'Long.' };
    },
  });
  const env = { ODIN_HOME: home, ANTHROPIC_API_KEY: 'test-key-of-no-use', ANTHROPIC_BASE_URL: server.url };
  const options = { cwd: project, env };
  const odin = (...args: string[]) => runCli(args, options);
  try {
    const killed = startCli(['run', 'long', '--model', 'anthropic/scripted'], options);
    await killed.until(/ReadFile[\s\S]*\n/);
    while (server.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    killed.child.kill('SIGKILL');
    await once(killed.child, 'exit');

    expect((await odin('sessions')).stdout).toMatch(/interrupted +1 +0 +\S+ +long/);
    const replayed = await odin('replay', 'last');
    expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining('exactly what was done') });
    expect(replayed.stdout).toContain('it waits for a request 1.2.0, try 1, to anthropic/scripted, and its answer');
    expect(await odin('replay', 'last', '--expect', 'another', '--json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"expected":"the state another"'),
    });

    const forked = await odin('sessions', 'fork', 'last');
    expect(forked).toMatchObject({ code: 0, stderr: expect.stringContaining('Files are as they are now') });
    expect(forked.stderr).toContain('Message 1, which was under way there, is cancelled in it.');
    const fork = forked.stdout.trim();
    isDead.resolve();
    const more = await odin('run', 'short', '--session', fork, '--model', 'anthropic/scripted');
    expect(more).toMatchObject({ code: 0, stdout: 'It is short.\n' });
    expect(await odin('fsck')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/2 sessions .*: all is well\n$/),
    });
    mkdirSync(join(home, 'blobs'), { recursive: true });
    writeFileSync(join(home, 'blobs', 'f'.repeat(64)), 'not what it says');
    const damaged = await odin('fsck', '--json');
    expect(damaged.code).toBe(1);
    expect(JSON.parse(damaged.stdout)).toMatchObject({
      clean: false,
      lines: [{ code: 'blob_damaged', repaired: null }],
    });
    const repaired = await odin('fsck', '--repair');
    expect(repaired).toMatchObject({ code: 0, stdout: expect.stringContaining('repaired: moved to ') });
    expect(readdirSync(join(home, 'quarantine'))).toHaveLength(1);
  } finally {
    await server.close();
    for (const folder of [project, home]) rmSync(folder, { recursive: true, force: true });
  }
});
