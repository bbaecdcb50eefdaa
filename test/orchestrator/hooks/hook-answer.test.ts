// What a hook's command means by how it ends, and a command that cannot even be started.

import { expect, test } from '@jest/globals';
import type { HookEvent } from '../../../orchestrator/hooks/hook.ts';
import { hookAnswer } from '../../../orchestrator/hooks/hook-answer.ts';
import { type HookRun, runHookCommand } from '../../../orchestrator/hooks/run-hook-command.ts';

const run = (more: Partial<HookRun>): HookRun => ({ exitCode: 0, stdout: '', stderr: '', cut: false, ...more });

test.each<[HookEvent, Partial<HookRun>, unknown]>([
  ['toolCall', {}, null],
  ['toolCall', { stderr: 'all is well' }, null],
  ['toolCall', { exitCode: 2, stderr: ' no \n' }, { decision: 'deny', reason: 'no' }],
  ['toolCall', { exitCode: 2, stdout: '{"decision":"allow"}' }, { decision: 'deny', reason: '' }],
  ['toolCall', { stdout: ' {"args":{"a":[1,null]}}\n' }, { args: { a: [1, null] } }],
  ['toolCall', { stdout: '[]' }, /not one for toolCall/],
  ['toolCall', { stdout: '{"args":[]}' }, /not one for toolCall/],
  ['toolCall', { stdout: '{"note":"x"}' }, /not one for toolCall/],
  ['toolCall', { stdout: 'ok\n{"decision":"deny"}' }, /stdout is for one JSON object or nothing/],
  ['beforeLLM', { stdout: '{"note":"x"}' }, { note: 'x' }],
  ['beforeLLM', { stdout: '{"decision":"ask"}' }, /not one for beforeLLM/],
  ['beforeLLM', { exitCode: 1 }, /^it ended with exit code 1$/],
  ['toolResult', { stdout: 'formatted a.ts' }, null],
  ['toolResult', { stdout: `{"note":"${'x'.repeat(5_000)}"}` }, { note: `${'x'.repeat(4_000)} […]` }],
  ['toolResult', { stdout: '{"decision":"deny"}' }, /not one for toolResult/],
  ['toolResult', { exitCode: 2, stderr: 'line 3 is bad' }, { note: 'line 3 is bad' }],
  ['done', { stdout: '{"decision":"deny"}' }, null],
  ['done', { exitCode: 2, stderr: 'x' }, /^it ended with exit code 2: x$/],
])('E5: %s and %j mean what docs/hooks.md says', (event, more, expected) => {
  const answer = hookAnswer(event, run(more));
  if (expected instanceof RegExp)
    expect(answer).toMatchObject({ ok: false, failure: { message: expect.stringMatching(expected) } });
  else expect(answer).toEqual({ ok: true, value: expected });
});

test('E5: a command that cannot be started has failed, and one that does not read its input has not', async () => {
  const { signal } = new AbortController();
  const place = { env: { PATH: process.env['PATH'] }, more: {}, signal };
  const none = await runHookCommand({ ...place, command: 'true', cwd: '/no/such/folder', stdin: '' });
  expect(hookAnswer('toolCall', none)).toMatchObject({
    ok: false,
    failure: { message: expect.stringMatching(/ENOENT/) },
  });
  const deaf = await runHookCommand({ ...place, command: 'exec <&-; echo {}', cwd: '/', stdin: 'x'.repeat(1_000_000) });
  expect(hookAnswer('toolCall', deaf)).toEqual({ ok: true, value: {} });
});
