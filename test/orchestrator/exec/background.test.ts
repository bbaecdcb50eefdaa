import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findSandbox } from '../../../orchestrator/exec/sandbox.ts';
import { crashChild } from '../../support/crash-bundle.ts';
import { type ExecBench, openExecBench, processesWith, UNCONFINED } from '../../support/exec-bench.ts';
import { codeOf, must } from '../../support/files-bench.ts';
import { until } from '../../support/until.ts';

const kinds = [
  ['as this machine confines it', findSandbox],
  ['without a sandbox', async () => UNCONFINED],
] as const;

describe.each(kinds)('A background command %s', (_kind, find) => {
  let bench: ExecBench;
  beforeEach(async () => {
    bench = openExecBench(await find());
  });
  afterEach(() => bench.close());

  const start = async (command: string) =>
    must(await bench.port.start(bench.request(command, { timeoutMs: null }), bench.hooks())).id;
  const bytes = (id: string) => bench.port.list().find((command) => command.id === id)?.bytes ?? 0;

  test('O18: each read gives what is new, and any part can be read again', async () => {
    const id = await start('echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 4');
    await until(() => bytes(id) > 0);
    expect(must(await bench.port.read(id))).toMatchObject({ text: 'one\n', running: true, exitCode: null, next: 4 });
    expect(must(await bench.port.read(id))).toMatchObject({ text: '', running: true });
    bench.put('go', '');
    await until(() => bench.port.list()[0]?.running === false);
    expect(must(await bench.port.read(id))).toMatchObject({ text: 'two\n', running: false, exitCode: 4, bytes: 8 });
    expect(must(await bench.port.read(id, 0)).text).toBe('one\ntwo\n');
    expect(bench.port.list()).toMatchObject([{ id, exitCode: 4, running: false }]);
  });

  test('O18: stop ends it with everything it started, also what ignores SIGTERM', async () => {
    const word = `odin-stop-${Math.random()}`;
    const id = await start(
      `trap '' TERM; (exec -a ${word} sleep 100) & setsid bash -c 'exec -a ${word} sleep 100' & echo up; wait`,
    );
    await until(() => bytes(id) > 0 && processesWith(word).length >= 2);
    expect(must(await bench.port.stop(id))).toMatchObject({ running: false });
    expect(processesWith(word)).toEqual([]);
    expect(must(await bench.port.read(id, 0)).text).toMatch(/^up\n/);
  });

  test('O18: the abort of the call that started it does not touch it; closing Odin ends it', async () => {
    const word = `odin-close-${Math.random()}`;
    const call = new AbortController();
    must(
      await bench.port.start(bench.request(`exec -a ${word} sleep 100`, { timeoutMs: null }), bench.hooks(call.signal)),
    );
    await until(() => processesWith(word).length > 0);
    call.abort();
    expect(bench.port.list()).toMatchObject([{ running: true }]);
    await bench.close();
    expect(processesWith(word).filter((pid) => isRunning(pid))).toEqual([]);
  });

  test('O18: its time limit holds, and too many at once are refused', async () => {
    must(await bench.port.start(bench.request('sleep 100', { timeoutMs: 100 }), bench.hooks()));
    await until(() => bench.port.list()[0]?.running === false);
    for (let n = 0; n < 16; n++) await start('sleep 100');
    expect(codeOf(await bench.port.start(bench.request('sleep 100'), bench.hooks()))).toBe('too_many');
  });
});

test('O18: a background command dies with an Odin that is killed, a foreground one goes on', async () => {
  const bench = openExecBench(UNCONFINED);
  try {
    const word = `odin-orphan-${Math.random()}`;
    const order = { root: bench.root, home: bench.home, word };
    const { args, env } = crashChild('exec-owner-child');
    const owner = spawn(process.execPath, [...args, JSON.stringify(order)], { stdio: 'inherit', env });
    await until(() => existsSync(join(bench.root, 'fore')) && processesWith(`back-${word}`).length > 0);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    await until(() => processesWith(`back-${word}`).length === 0);
    bench.put('go', '');
    await until(() => existsSync(join(bench.root, 'done')));
  } finally {
    await bench.close();
  }
});

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
