import { expect, test } from '@jest/globals';
import { openAllowance } from '../../../orchestrator/batch/allowance.ts';
import { reserve } from '../../../orchestrator/budget/ledger.ts';
import { keys } from '../../../orchestrator/keys.ts';
import { startTestRedis } from '../../support/redis.ts';

test('E7: a Redis that answers with an error is not asked again at once, and a call waits until it gives its piece; who finds nothing left after a crash makes none', async () => {
  const { handle, close } = await startTestRedis();
  try {
    const { meta } = keys.batch('b');
    await handle.client.set(meta, 'what no script can read');
    let failures = 0;
    const allowance = openAllowance(handle.client, 'b', { tokens: 1_000_000 }, () => {
      failures += 1;
    });
    const input = { usd: null, tokens: 1 };
    const ask = { input, likelyInput: input, maxOutputTokens: 1, usdPerOutputToken: null };
    const asked = reserve(allowance.scope, ask, new AbortController().signal);
    // As many answers as it would have had by now.
    for (let i = 0; i < 50; i++) await handle.client.ping();
    expect(failures).toBeGreaterThan(0);
    expect(failures).toBeLessThan(25);
    await handle.client.del(meta);
    expect((await asked).ok).toBe(true);
    await allowance.close();

    // A process that takes all there is and dies gives nothing back; who comes after it makes no call.
    const failed = (error: unknown) => expect(error).toBeUndefined();
    const { scope: dead } = openAllowance(handle.client, 'killed', { tokens: 100 }, failed);
    const all = { usd: null, tokens: 100 };
    const most = { ...ask, input: all, likelyInput: all };
    expect((await reserve(dead, most, new AbortController().signal)).ok).toBe(true);
    const { scope: next } = openAllowance(handle.client, 'killed', { tokens: 100 }, failed);
    expect(await reserve(next, ask, new AbortController().signal)).toMatchObject({ ok: false, hit: { why: 'spent' } });
  } finally {
    await close();
  }
});
