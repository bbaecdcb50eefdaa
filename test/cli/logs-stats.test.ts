// `odin logs` and `odin stats` in processes of their own.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { openLog } from '../../orchestrator/log.ts';
import type { UsageReport } from '../../orchestrator/watch/usage-rows.ts';
import { createScrub } from '../../shared/scrub.ts';
import { withWorld } from '../support/odin-world.ts';
import { runCli, startCli } from './run-cli.ts';

test('E16: odin logs shows what was logged, by level and session, cleaned; with --follow also what comes', async () => {
  const home = await mkdtemp(join(tmpdir(), 'odin-logs-'));
  const options = { cwd: home, env: { ODIN_HOME: home } };
  const nothing = await runCli(['logs'], options);
  expect(nothing).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('ODIN_LOG=1') });
  const following = startCli(['logs', '--follow', '--level', 'error'], options);
  const { log, flushed } = openLog(home, true, createScrub({}));
  log('a session began', { sid: '01AAAA', op: '1.1.0' });
  log('it failed \u001b[31mred', { sid: '01BBBB', error: 'disk full' });
  await flushed();
  await following.until(/disk full/);
  log('and again', { sid: '01BBBB', error: 'still full', path: 'a\u2028b' });
  await flushed();
  await following.until(/still full/);
  following.child.kill('SIGINT');
  const followed = await following.ended;
  expect(followed.code).toBe(0);
  expect(followed.stdout.trimEnd().split('\n')).toHaveLength(2);
  expect(followed.stdout).toMatch(/a<U\+2028>b"\}\n$/);
  const all = await runCli(['logs'], options);
  expect(all.stdout).toMatch(
    /^\S+Z info {2}\d+ a session began \{"sid":"01AAAA","op":"1\.1\.0"\}\n\S+Z error \d+ it failed red .*\n\S+Z error .*\n$/,
  );
  const some = await runCli(['logs', '--session', '01aa', '--json'], options);
  expect(JSON.parse(some.stdout)).toMatchObject({ sid: '01AAAA', msg: 'a session began', level: 30 });
  await rm(home, { recursive: true, force: true });
});

test('E16: odin stats adds up tokens, money, tools and what caches spared, as they are in the journals', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage < 2
      ? { toolCalls: [{ name: 'ReadFile', args: { file_path: turn.stepOfMessage === 0 ? 'a.txt' : 'none.txt' } }] }
      : { text: 'fine' };
  const userConfig = { models: { 'anthropic/scripted': { price: [1, 10, 0.1, 1] } } };
  await withWorld({ script, files: { 'a.txt': 'a\n' }, userConfig }, async (world) => {
    const odin = await world.open();
    const sids = [odin.newSession(), odin.newSession()];
    for (const sid of sids) await world.ask(odin, sid, { mode: 'ask', body: 'hello' });
    const states = await Promise.all(sids.map((sid) => odin.state(sid)));
    const options = { cwd: world.project, env: { ODIN_HOME: world.home } };
    // What a fork has copied was used once.
    const { sid: fork } = await odin.fork(sids[0] ?? '');
    const { stdout } = await runCli(['stats', '--json'], options);
    const report = JSON.parse(stdout) as UsageReport;
    expect(report).toMatchObject({ sessions: 2, messages: 2, damaged: [] });
    const [row, ...others] = report.models;
    expect(others).toEqual([]);
    const sum = (of: (usage: (typeof states)[0]['usage']) => number) =>
      states.reduce((all, { usage }) => all + of(usage), 0);
    expect(row).toMatchObject({ model: 'anthropic/scripted', project: odin.root, calls: 6, unpriced: 0 });
    expect(row?.usage).toMatchObject({ input: sum(({ input }) => input), output: sum(({ output }) => output) });
    const cost = states.reduce((all, { spending }) => all + (odin.rates.costOf(spending) ?? Number.NaN), 0);
    expect(row?.costUsd).toBeCloseTo(cost, 10);
    expect(row?.savedUsd).toBeCloseTo((sum(({ cacheRead }) => cacheRead) * 0.9) / 1e6, 10);
    expect(report.tools).toMatchObject([{ tool: 'ReadFile', calls: 4, ok: 2, cached: 0, savedMs: 0 }]);
    const { stdout: list } = await runCli(['sessions', 'list', '--json'], options);
    const costs = Object.fromEntries(
      list
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { sid: string; costUsd: number })
        .map(({ sid, costUsd }) => [sid, costUsd]),
    );
    const costOf = (sid: string) => costs[sid] ?? Number.NaN;
    expect(sids.reduce((all, sid) => all + costOf(sid), 0)).toBeCloseTo(cost, 10);
    expect(costOf(fork)).toBeCloseTo(costOf(sids[0] ?? ''), 10);
    const table = await runCli(['stats', '--all', '--days', '1'], options);
    expect(table.stdout).toMatch(
      /^2 sessions, 2 messages today\n\nDAY .*\n.*anthropic\/scripted.*\n\nDAY .*\n.* 50% .*ReadFile/,
    );
    expect((await runCli(['stats', '--days', '0'], options)).code).toBe(2);
  });
});
