// What sessions have cost so far, read from their journals for a list. Only the events that accounts are made of are parsed.

import { type Accounts, foldAccounts } from '../../agent/accounts.ts';
import { aFewAtATime } from '../../shared/a-few-at-a-time.ts';
import { NOTHING_SPENT, type Rates, type Spending } from '../../shared/spending.ts';
import { decode } from '../journal-read.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

const PAGE = 500;
const AT_ONCE = 8;
const SPENDS = /"type":"(?:llm\.(?:req|res|fail)|aux\.used|msg\.done|agent\.ev)"/;

/** USD by session, null where a price is not known. Those that Redis does not have are left out. */
export async function sessionCosts(
  redis: OdinRedis,
  sids: readonly string[],
  rates: Rates,
): Promise<ReadonlyMap<string, number | null>> {
  const costs = new Map<string, number | null>();
  await aFewAtATime(AT_ONCE, sids, async (sid) => {
    const spending = await spendingOf(redis, sid);
    if (spending !== null) costs.set(sid, rates.costOf(spending));
  });
  return costs;
}

async function spendingOf(redis: OdinRedis, sid: string): Promise<Spending | null> {
  const { log } = keys.session(sid);
  let spending: Spending = NOTHING_SPENT;
  /** The open request of the session, '', and of each subagent. */
  const requests = new Map<string, Accounts['request']>();
  let after = '-';
  for (;;) {
    const entries = await redis.xrange(log, after, '+', 'COUNT', PAGE);
    if (after === '-' && entries.length === 0) return null;
    for (const entry of entries) {
      if (!SPENDS.test(entry[1][1] ?? '')) continue;
      const { event } = decode(entry);
      const [who, own] = event.type === 'agent.ev' ? [event.aid, event.event] : ['', event];
      const accounts = foldAccounts({ spending, request: requests.get(who) ?? null }, own);
      spending = accounts.spending;
      requests.set(who, accounts.request);
    }
    if (entries.length < PAGE) return spending;
    after = `(${entries.at(-1)?.[0] ?? ''}`;
  }
}
