// What the journal keeps of a call's end, the same after a crash as without one.

import { expect, test } from '@jest/globals';
import { toolDone } from '../../orchestrator/tool-done.ts';
import { cleanText } from '../../shared/clean-text.ts';
import { createScrub } from '../../shared/scrub.ts';

const secret = ['ghp', '_', 'A1b2'.repeat(9)].join('');
const deps = { clean: cleanText, scrub: createScrub({}), now: () => 1_000 };
const call = { op: '1.1.1', callId: 'c', name: 'ReadFile', argsHash: 'h' } as const;

test('E18 SAFETY 6: text, description and data are without secrets and control characters, and the text is never empty', () => {
  const response = { text: `a \u001b[31m${secret}`, description: secret, data: { diff: [`+${secret}`] } };
  const done = toolDone(deps, call, { kind: 'ok', failure: null, response, startedAt: 400 });
  expect(JSON.stringify(done)).not.toContain(secret);
  expect(done).toMatchObject({ text: { inline: 'a [redacted:github-token]' }, durationMs: 600 });
  const failure = { kind: 'failed', code: 'conflict', message: `-${secret}` } as const;
  expect(JSON.stringify(toolDone(deps, call, { kind: 'failed', failure, response: null, startedAt: 0 }))).not.toContain(
    secret,
  );
  const empty = toolDone(deps, call, {
    kind: 'ok',
    failure: null,
    response: { text: '', description: '' },
    startedAt: 0,
  });
  expect(empty.text).toEqual({ inline: '(no output)' });
});
