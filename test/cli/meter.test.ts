import { expect, test } from '@jest/globals';
import { accountsText } from '../../cli/accounts-text.ts';
import { createPlainRenderer } from '../../cli/render-plain.ts';
import { createModelTable } from '../../llm/model-info.ts';
import { timeText, usdText } from '../../shared/amount-text.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';

type Bare = StreamEvent extends infer E
  ? E extends StreamEvent
    ? Omit<E, 'session' | 'id' | 'at' | 'seq'>
    : never
  : never;

const usage = { input: 12_000, output: 400, cacheRead: 9_000, cacheWrite: 0 };
const small = { input: 800, output: 20, cacheRead: 0, cacheWrite: 0 };

/** What stands on stderr, which is a terminal. */
function shown(events: readonly Bare[]): string {
  let err = '';
  const renderer = createPlainRenderer({
    out: { write: () => {} },
    err: { write: (text: string) => (err += text) },
    paint: (_, text) => text,
    outIsTerminal: false,
    errIsTerminal: true,
    showPrompts: false,
  });
  for (const bare of events) renderer.show({ session: 'S', id: '1-1', at: 0, seq: 1, ...bare });
  return err;
}

const step = (costUsd: number | null, estimated = false): Bare => ({
  type: 'Usage',
  step: 1,
  model: 'a/b',
  usage,
  estimated,
  costUsd,
  window: { tokens: 12_400, size: 200_000 },
});
const check = (costUsd: number | null): Bare => ({
  type: 'AuxUsage',
  purpose: 'edit_check',
  model: 'a/s',
  usage: small,
  estimated: false,
  costUsd,
});
const begun: Bare = { type: 'MessageStarted', mode: 'ask', body: 'q', model: 'a/b' };
const next: Bare = { type: 'StepStarted', step: 2, attempt: 1 };
const done = (costUsd: number | null, estimated = false): Bare => ({
  type: 'AgentDone',
  status: 'completed',
  answer: 'Yes.',
  steps: 2,
  usage,
  costUsd,
  spending: [
    { model: 'a/b', calls: 2, usage, costUsd, estimated },
    { model: 'a/s', calls: 1, usage: small, costUsd: 0.0001, estimated: false },
  ],
});

test('E16: the live line has the window and the cost so far of both models, the last line what it came to', () => {
  const err = shown([begun, step(0.03), check(0.002), next, done(0.25)]);
  expect(err).toContain('thinking (step 2)… 12k of 200k (6 %) · $0.032');
  expect(err).toMatch(
    /completed · 2 steps · 12,800 tokens in \(9,000 cached\), 420 out · \$0\.25 · window 12k of 200k \(6 %\)\n$/,
  );
});

test('E16: what is unknown is said to be unknown, what was estimated carries a ~, and the next message begins at nothing', () => {
  expect(shown([begun, step(0.03), check(null), next])).toContain('(6 %) · unknown cost');
  expect(shown([begun, step(0.03, true), next])).toContain('· ~$0.03');
  expect(shown([begun, step(0.03, true), done(0.25, true)])).toContain(
    '~12,800 tokens in (9,000 cached), 420 out · ~$0.25',
  );
  expect(shown([begun, step(0.03), done(0.03), begun, next])).toMatch(/thinking \(step 2\)…$/);
});

test('E16: the accounts of a session have a row for each model and a sum; it is unknown when a part of it is', () => {
  const spending = {
    'anthropic/claude-opus-5-5': {
      calls: 2,
      usage,
      longPrompts: { ...small, input: 0, output: 0 },
      isEstimated: false,
    },
    'office/own': { calls: 1, usage: small, longPrompts: { ...small, input: 0, output: 0 }, isEstimated: true },
  };
  const window = { model: 'anthropic/claude-opus-5-5', tokens: 12_400 };
  const lines = accountsText({ spending, window }, createModelTable({})).split('\n');
  expect(lines.map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    '',
    'MODEL | CALLS | TOKENS IN | CACHED | OUT | COST',
    'anthropic/claude-opus-5-5 | 2 | 12,000 | 9,000 | 400 | $0.0218',
    'office/own | 1 | ~800 | 0 | 20 | unknown cost',
    'in all | 3 | 12,800 | 9,000 | 420 | unknown cost',
    'window 12k of 1M (1 %)',
    '',
  ]);
  expect(accountsText({ spending: {}, window: null }, createModelTable({}))).toBe('');
});

test('amounts and times read as people write them', () => {
  expect([0, 0.00001, 0.0042, 0.5, 12].map(usdText)).toEqual(['$0.00', '<$0.0001', '$0.0042', '$0.50', '$12.00']);
  expect([1_000, 90_000, 600_000, 3_600_000, 5_400_000].map(timeText)).toEqual(['1s', '1m30s', '10m', '1h', '1h30m']);
});
