import { expect, test } from '@jest/globals';
import { openAllowance } from '../../../orchestrator/batch/allowance.ts';
import { reserve } from '../../../orchestrator/budget/ledger.ts';
import { keys } from '../../../orchestrator/keys.ts';
import { startTestRedis } from '../../support/redis.ts';

test('E7: a Redis that answers with an error is not asked again at once, and a call waits until it gives its piece', async () => {
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
  } finally {
    await close();
  }
});
