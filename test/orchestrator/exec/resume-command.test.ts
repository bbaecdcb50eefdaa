import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MARK, markOf } from '../../../orchestrator/exec/command-env.ts';
import { type CommandIntent, commandIntent, commandIntentOf } from '../../../orchestrator/exec/command-intent.ts';
import { finishCommand } from '../../../orchestrator/exec/finish-command.ts';
import { claimNever, shimState, startShim } from '../../../orchestrator/exec/shim.ts';
import { createScrub } from '../../../shared/scrub.ts';
import { type ExecBench, openExecBench, processesWith, UNCONFINED } from '../../support/exec-bench.ts';
import { messageOf } from '../../support/files-bench.ts';
import { killCommands } from '../../support/kill-commands.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';
import { until } from '../../support/until.ts';

let bench: ExecBench;
beforeEach(() => {
  bench = openExecBench(UNCONFINED);
});
afterEach(() => bench.close());

const ENV = { PATH: process.env['PATH'] ?? '' };

function intentOf(command: string, more: { readonly background?: boolean; readonly boot?: string } = {}) {
  const request = bench.request(command);
  const dir = join(bench.home, 'commands/session', request.opKey);
  const { background = false, boot } = more;
  const intent = commandIntent(dir, request, { sandboxed: false, background });
  return { ...intent, ...(boot === undefined ? {} : { boot }) };
}

/** Starts the shim as an owner would who died right after. */
function startAsBefore(intent: CommandIntent): ChildProcess {
  const argv = ['/bin/bash', '-c', intent.request.command];
  const env = { ...ENV, [MARK]: markOf(intent.dir) };
  return startShim({ dir: intent.dir, argv, cwd: bench.root, env, withOwner: false });
}

const NEVER = new AbortController().signal;
const resume = (intent: CommandIntent, signal = NEVER) => bench.commands.resume('session', intent, signal);

const effects = () =>
  existsSync(join(bench.root, 'effects')) ? readFileSync(join(bench.root, 'effects'), 'utf8') : '';

test('DURABILITY 7: a command that ended meanwhile is known by what its shim wrote', async () => {
  const intent = intentOf('echo x >> effects; echo said; exit 6');
  await once(startAsBefore(intent), 'exit');
  const resumed = await resume(intent);
  expect(resumed).toMatchObject({ kind: 'ended', how: 'before', result: { exitCode: 6, output: { head: 'said\n' } } });
  expect(effects()).toBe('x\n');
});

test('DURABILITY 7: a command that runs still is waited for', async () => {
  const intent = intentOf('echo x >> effects; until [ -e go ]; do sleep 0.02; done; echo late');
  startAsBefore(intent);
  await until(() => effects() !== '');
  const resuming = resume(intent);
  // It looks at once, before any I/O.
  await setImmediate();
  bench.put('go', '');
  expect(await resuming).toMatchObject({
    kind: 'ended',
    how: 'attached',
    result: { exitCode: 0, output: { head: 'late\n' } },
  });
  expect(effects()).toBe('x\n');
});

test('DURABILITY 7: one that runs still and has used up its time is ended', async () => {
  const intent = intentOf('echo x >> effects; sleep 100');
  startAsBefore(intent);
  await until(() => effects() !== '');
  const short = { ...intent, request: { ...intent.request, timeoutMs: 1 } };
  expect(await resume(short)).toMatchObject({
    how: 'attached',
    result: { stopped: 'timeout' },
  });
  // As without the crash: a command that its limit stopped has failed.
  const finished = await finishCommand(bench.commands, 'session', short, createScrub({}), NEVER);
  expect(finished).toMatchObject({ ok: false, failure: { kind: 'failed', code: 'timeout' } });
});

test('E11: one that runs still is killed by a cancel, with all that it started, and is said to be cancelled', async () => {
  const word = `odin-resumed-${Math.random()}`;
  const deaf = (name: string) => `bash -c 'trap "" TERM; touch ${name}; exec -a ${word} sleep 100'`;
  const intent = intentOf(`trap '' TERM; echo x >> effects; setsid ${deaf('one')} & ${deaf('two')}`);
  const shim = startAsBefore(intent);
  await until(() => ['one', 'two'].every((name) => existsSync(join(bench.root, name))));
  const cancel = new AbortController();
  const finishing = finishCommand(bench.commands, 'session', intent, createScrub({}), cancel.signal);
  cancel.abort();
  expect(await finishing).toMatchObject({ ok: false, failure: { kind: 'cancelled' } });
  expect(processesWith(word)).toEqual([]);
  if (shim.exitCode === null && shim.signalCode === null) await once(shim, 'exit');
  expect(effects()).toBe('x\n');
});

test('DURABILITY 7: a command that never began runs now, once, and the late shim of the dead owner gives way', async () => {
  const intent = intentOf('echo x >> effects');
  expect(await resume(intent)).toMatchObject({
    kind: 'ended',
    how: 'ran now',
    result: { exitCode: 0 },
  });
  const [code] = await once(startAsBefore(intent), 'exit');
  expect(code).toBe(97);
  expect(await resume(intent)).toMatchObject({ kind: 'ended', how: 'before' });
  expect(effects()).toBe('x\n');
  expect(await bench.port.read(intent.request.opKey)).toMatchObject({ ok: true, value: { exitCode: 0 } });
});

test('DURABILITY 7: two that resume at once run it once, and both know its end', async () => {
  const intent = intentOf('echo x >> effects; sleep 0.1');
  const both = await Promise.all([resume(intent), resume(intent)]);
  expect(both.map((resumed) => resumed.kind)).toEqual(['ended', 'ended']);
  expect(effects()).toBe('x\n');
});

test('DURABILITY 7: whose shim died, or whose machine started anew, has an unknown outcome and is not run again', async () => {
  const killed = intentOf('echo x >> effects; sleep 100');
  const shim = startAsBefore(killed);
  await until(() => effects() !== '');
  process.kill(-(shim.pid as number), 'SIGKILL');
  await once(shim, 'exit');
  expect(shimState(killed.dir)).toEqual({ kind: 'lost' });
  expect(await resume(killed)).toEqual({ kind: 'unknown' });
  const earlier = intentOf('echo y >> effects', { boot: 'another boot' });
  expect(await resume(earlier)).toEqual({ kind: 'unknown' });
  expect(effects()).toBe('x\n');
});

test('DURABILITY 7: a reused pid is not taken for the shim', async () => {
  const intent = intentOf('true');
  mkdirSync(intent.dir, { recursive: true });
  writeFileSync(join(intent.dir, 'started'), `${process.pid} 1@00000000\n`);
  expect(await resume(intent)).toEqual({ kind: 'unknown' });
});

test('DURABILITY 7: the place of a shim is taken once', () => {
  const { dir } = intentOf('true');
  expect([claimNever(dir), claimNever(dir)]).toEqual([true, false]);
  expect(shimState(dir)).toEqual({ kind: 'never' });
});

test('SAFETY 2.3: what was allowed for a sandbox never runs without one, and a background command is not started late', async () => {
  const confined = { ...intentOf('echo x >> effects'), sandboxed: true };
  expect(await resume(confined)).toEqual({ kind: 'never ran' });
  const background = intentOf('echo x >> effects', { background: true });
  expect(await resume(background)).toEqual({ kind: 'never ran' });
  expect(effects()).toBe('');
});

test('DURABILITY 8: the model is told how it ended, that it did not run, or nothing when nobody knows', async () => {
  const scrub = createScrub({ MY_TOKEN: 'not-to-be-seen-by-anybody' });
  const finish = (intent: CommandIntent) => finishCommand(bench.commands, 'session', intent, scrub, NEVER);
  const ran = await finish(intentOf('echo not-to-be-seen-by-anybody; exit 2'));
  expect(ran).toMatchObject({ ok: true, value: { data: { exitCode: 2 } } });
  expect(messageOf(ran as never)).toBe('ok');
  expect(ran?.ok && ran.value.text).toMatch(
    /^Odin was interrupted before this began; it ran now, once\.\nExit code 2[\s\S]*\[redacted:env\]/,
  );
  const never = await finish(intentOf('true', { background: true }));
  expect(never && messageOf(never)).toMatch(/before this command began; it did not run\. Run it again/);
  expect(await finish(intentOf('true', { boot: 'another' }))).toBeNull();
  expect(commandIntentOf({ kind: 'file', path: '/x' })).toBeNull();
});

test('DURABILITY 15.1: 16 kills of the owner, before, between and after intent and result: each command ran once, none is unknown', async () => {
  const result = await killCommands(bench.base, 60, 16, randomFrom(printedSeed('commands and kills')));
  const { kills, lost, doubled, misordered, unknown, resumed } = result;
  process.stderr.write(`${kills} kills, ${resumed} commands resumed\n`);
  expect({ lost, doubled, misordered, unknown }).toEqual({ lost: 0, doubled: 0, misordered: 0, unknown: 0 });
  expect(kills).toBeGreaterThan(12);
  expect(resumed).toBeGreaterThan(3);
});
