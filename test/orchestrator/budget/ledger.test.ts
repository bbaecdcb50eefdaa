import { expect, test } from '@jest/globals';
import {
  type Ask,
  type Caps,
  openScope,
  type Reservation,
  reserve,
  type Verdict,
} from '../../../orchestrator/budget/ledger.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

const never = new AbortController().signal;

const ask = (tokens: number, maxOutputTokens: number, usdPerToken: number | null = 0): Ask => {
  const usd = usdPerToken === null ? null : tokens * usdPerToken;
  return {
    input: { tokens, usd },
    likelyInput: { tokens, usd },
    maxOutputTokens,
    usdPerOutputToken: usdPerToken,
  };
};

/** A verdict that is there at once. */
function now(verdict: Verdict | Promise<Verdict>): Verdict {
  if (verdict instanceof Promise) throw new Error('It waits.');
  return verdict;
}

function granted(verdict: Verdict): Reservation {
  if (!verdict.ok) throw new Error(`Refused by ${verdict.hit.scope.name}.`);
  return verdict.reservation;
}

const scopeOf = (caps: Caps) => openScope('message', caps);

test('E7: without caps every call has its whole answer, at once', () => {
  const inner = openScope('message', {}, { parent: openScope('process', {}) });
  for (let i = 0; i < 100; i++)
    expect(granted(now(reserve(inner, ask(1e6, 5_000), never))).maxOutputTokens).toBe(5_000);
});

test('E7: a call waits for what is in flight, and goes when that has left room', async () => {
  const scope = scopeOf({ tokens: 10_000 });
  const first = granted(now(reserve(scope, ask(1_000, 8_000), never)));
  const second = reserve(scope, ask(1_000, 8_000), never);
  expect(second).toBeInstanceOf(Promise);
  first.settle({ usd: 0, tokens: 500 });
  expect(granted(await second).maxOutputTokens).toBe(8_000);
});

test('E7: the answer is made shorter to what is left; a call alone goes while anything is left, and is refused when nothing is', () => {
  const scope = scopeOf({ tokens: 10_000 });
  const first = granted(now(reserve(scope, ask(4_000, 8_000), never)));
  expect(first.maxOutputTokens).toBe(6_000);
  first.settle({ usd: 0, tokens: 9_900 });
  const last = granted(now(reserve(scope, ask(4_000, 8_000), never)));
  expect(last.maxOutputTokens).toBe(1_024);
  last.settle({ usd: 0, tokens: 5_000 });
  const verdict = now(reserve(scope, ask(1, 1), never));
  expect(verdict).toMatchObject({ ok: false, hit: { limit: 'tokens', why: 'spent' } });
});

test('E7: every scope around a call has its say, and the one that refuses is named', () => {
  const outer = openScope('process', { tokens: 5_000 });
  const session = openScope('session', { usd: 1 }, { parent: outer });
  const message = openScope('message', { tokens: 100_000 }, { parent: session });
  expect(granted(now(reserve(message, ask(1_000, 50_000, 0.0001), never))).maxOutputTokens).toBe(4_000);
  const other = openScope('message', {}, { parent: openScope('session', {}, { parent: outer }) });
  expect(reserve(other, ask(1_000, 2_000), never)).toBeInstanceOf(Promise);
  outer.add({ usd: 0, tokens: 5_000 });
  const verdict = now(reserve(other, ask(1, 1), never));
  expect(verdict.ok ? null : verdict.hit.scope.name).toBe('process');
});

test('E7: money without a price is refused, tokens are not', () => {
  expect(now(reserve(scopeOf({ usd: 1 }), ask(1, 1, null), never))).toMatchObject({
    ok: false,
    hit: { why: 'unpriced' },
  });
  expect(now(reserve(scopeOf({ tokens: 10_000 }), ask(1, 1, null), never)).ok).toBe(true);
  const partly = openScope('session', { usd: 1 }, { spent: () => ({ usd: null, tokens: 5 }) });
  expect(now(reserve(partly, ask(1, 1), never))).toMatchObject({ ok: false, hit: { why: 'unpriced' } });
});

test('E7 E11: a call that waits gives up when its turn is cancelled, and holds nothing', async () => {
  const scope = scopeOf({ tokens: 10_000 });
  const first = granted(now(reserve(scope, ask(1_000, 8_000), never)));
  const abort = new AbortController();
  const waiting = reserve(scope, ask(1_000, 9_000), abort.signal);
  abort.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
  first.settle({ usd: 0, tokens: 0 });
  expect(scope.held.size).toBe(0);
  expect(scope.waiting.size).toBe(0);
});

test('E7: settled twice counts once', () => {
  const scope = scopeOf({ tokens: 10_000 });
  const first = granted(now(reserve(scope, ask(10, 10), never)));
  first.settle({ usd: 0, tokens: 20 });
  first.settle({ usd: 0, tokens: 20 });
  expect(scope.spent().tokens).toBe(20);
});

test('E7: whatever the order of calls and settlements, no scope is overshot by more than one call, and nobody waits for nothing', async () => {
  const seed = printedSeed('ledger');
  const random = randomFrom(seed);
  for (let round = 0; round < 200; round++) {
    const capOf = () => (random(3) === 0 ? {} : { tokens: 20_000 + random(200_000) });
    const root = openScope('process', capOf());
    const sessions = Array.from({ length: 1 + random(3) }, () => openScope('session', capOf(), { parent: root }));
    const messages = Array.from({ length: 8 }, () =>
      openScope('message', capOf(), { parent: sessions[random(sessions.length)] ?? root }),
    );
    const running: { readonly cost: number; readonly reservation: Reservation }[] = [];
    const idle = new Set(messages);
    let longest = 0;
    const begin = (scope: (typeof messages)[number]) => {
      idle.delete(scope);
      const guess = random(6_000);
      const input = Math.floor(guess * 1.3);
      const call: Ask = {
        input: { tokens: input, usd: 0 },
        likelyInput: { tokens: guess, usd: 0 },
        maxOutputTokens: 1 + random(16_000),
        usdPerOutputToken: 0,
      };
      const taken = (verdict: Verdict) => {
        if (!verdict.ok) return;
        const { reservation } = verdict;
        const cost = random(input + 1) + random(reservation.maxOutputTokens + 1);
        longest = Math.max(longest, cost);
        running.push({ cost, reservation });
        idle.add(scope);
      };
      const verdict = reserve(scope, call, never);
      return verdict instanceof Promise ? void verdict.then(taken) : taken(verdict);
    };
    // Until all are refused, or nothing is capped and enough was done.
    for (let step = 0; step < 400; step++) {
      const free = [...idle];
      const next = free[random(free.length + 1)];
      const [done] = next === undefined ? running.splice(random(running.length), 1) : [];
      if (next !== undefined) begin(next);
      else if (done !== undefined) {
        done.reservation.settle({ usd: 0, tokens: done.cost });
        await Promise.resolve();
      } else if (free.length === 0) break;
    }
    while (running.length > 0) {
      for (const { cost, reservation } of running.splice(0)) reservation.settle({ usd: 0, tokens: cost });
      await Promise.resolve();
    }
    expect(root.waiting.size).toBe(0);
    for (const scope of [root, ...sessions, ...messages]) {
      expect(scope.held.size).toBe(0);
      if (scope.caps.tokens === undefined) continue;
      expect(scope.spent().tokens).toBeLessThanOrEqual(scope.caps.tokens + longest);
    }
  }
});
