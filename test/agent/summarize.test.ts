// The summary of older messages: asked for in pieces, merged, and given up when it takes too long.

import { expect, test } from '@jest/globals';
import { type SummaryQuestion, summarize } from '../../agent/summarize.ts';
import { countTokens } from '../../llm/context/token-count.ts';
import { NO_TOKENS } from '../../llm/context/token-estimate.ts';
import type { ModelMessage } from '../../shared/messages.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { SmallModelPort, SmallPrompt } from '../../shared/ports.ts';

/** A lesser model that answers by a function and keeps what it was asked. */
const modelOf = (answer: (prompt: SmallPrompt, at: number) => Outcome<string> | Promise<Outcome<string>>) => {
  const asked: SmallPrompt[] = [];
  const port: SmallModelPort = {
    complete: async (prompt) => {
      asked.push(prompt);
      return answer(prompt, asked.length - 1);
    },
  };
  return { asked, port };
};

const talk = (count: number): readonly ModelMessage[] =>
  Array.from({ length: count }, (_, at) => ({ role: 'user', text: `message ${at} ${'word '.repeat(300)}` }));

const question = (more: Partial<SummaryQuestion>): SummaryQuestion => ({
  older: talk(3),
  earlier: null,
  focus: '',
  model: 'p/gpt-small',
  window: 128_000,
  tokens: NO_TOKENS,
  timeoutMs: 60_000,
  ...more,
});

const never = () => new AbortController().signal;

test('O21, O3: what fits is asked in one go, with the focus and the summary of what came before', async () => {
  const { asked, port } = modelOf(() => ok('  It was done.  '));
  const outcome = await summarize(port, question({ focus: 'the parser', earlier: 'It began well.' }), never());
  expect(outcome).toEqual(ok('It was done.'));
  expect(asked).toHaveLength(1);
  expect(asked[0]?.purpose).toBe('summary');
  expect(asked[0]?.system).toContain('about this in particular: the parser');
  expect(asked[0]?.user).toMatch(/^## Summary of what came before\nIt began well\.\n\n## User\nmessage 0 /);
});

test('O21: what does not fit is asked in pieces that fit the window, then merged', async () => {
  const { asked, port } = modelOf(({ user }) => ok(user.startsWith('These are summaries') ? 'All of it.' : 'A part.'));
  const outcome = await summarize(port, question({ older: talk(40), window: 12_000, earlier: 'Before.' }), never());
  expect(outcome).toEqual(ok('All of it.'));
  expect(asked.length).toBeGreaterThan(2);
  for (const { user } of asked) expect(countTokens(user)).toBeLessThan(12_000 - 4_096);
  expect(asked.map(({ user }) => user).join('\n')).toContain('message 39');
  expect(asked.at(-1)?.user).toContain('## Part 2\nA part.');
});

test('O21: one piece that fails is a failure, and no more are asked', async () => {
  const { asked, port } = modelOf(() => fail('failed', 'quota', 'No credit.'));
  const outcome = await summarize(port, question({ older: talk(40), window: 12_000 }), never());
  expect(outcome).toMatchObject({ ok: false, failure: { code: 'quota' } });
  expect(asked.length).toBeLessThanOrEqual(3);
});

test('O21: a model that never answers is given up at the time limit, and at once on a cancel', async () => {
  const { port } = modelOf(() => new Promise(() => {}));
  expect(await summarize(port, question({ timeoutMs: 20 }), never())).toMatchObject({
    ok: false,
    failure: { code: 'summary_timeout' },
  });
  const cancel = new AbortController();
  const outcome = summarize(port, question({}), cancel.signal);
  cancel.abort();
  expect((await outcome).ok).toBe(false);
  expect((await summarize(port, question({}), cancel.signal)).ok).toBe(false);
});
