// What sessions have cost so far, read from their journals for a list, those of archived ones in their files. Only the events that
// accounts are made of are parsed, and no more of a file than a piece of it is in memory.

import { createReadStream } from 'node:fs';
import { type Accounts, foldAccounts } from '../../agent/accounts.ts';
import { aFewAtATime } from '../../shared/a-few-at-a-time.ts';
import { NOTHING_SPENT, type Rates, type Spending } from '../../shared/spending.ts';
import { archivePath } from '../archive-file.ts';
import { decodeText } from '../journal-read.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

const PAGE = 500;
const AT_ONCE = 8;
const SPENDS = /"type":"(?:llm\.(?:req|res|fail)|aux\.used|msg\.done|agent\.ev)"/;

/** USD by session, null where a price is not known. Those that are nowhere, or whose file is damaged, are left out. */
export async function sessionCosts(
  { redis, home }: { readonly redis: OdinRedis; readonly home: string },
  sids: readonly string[],
  rates: Rates,
): Promise<ReadonlyMap<string, number | null>> {
  const costs = new Map<string, number | null>();
  await aFewAtATime(AT_ONCE, sids, async (sid) => {
    const spending = (await spendingOf(redis, sid)) ?? (await archivedSpending(home, sid));
    if (spending !== null) costs.set(sid, rates.costOf(spending));
  });
  return costs;
}

/** Null when Redis does not have it. */
async function spendingOf(redis: OdinRedis, sid: string): Promise<Spending | null> {
  const { log } = keys.session(sid);
  const count = createCount();
  let after = '-';
  for (;;) {
    const entries = await redis.xrange(log, after, '+', 'COUNT', PAGE);
    if (after === '-' && entries.length === 0) return null;
    for (const [id, [, text = '']] of entries) count.take(id, text);
    if (entries.length < PAGE) return count.spending();
    after = `(${entries.at(-1)?.[0] ?? ''}`;
  }
}

/** Null when it has no file, or the file has no end. */
export async function archivedSpending(home: string, sid: string): Promise<Spending | null> {
  const count = createCount();
  let rest = '';
  let last = '';
  try {
    for await (const piece of createReadStream(archivePath(home, sid), { encoding: 'utf8' })) {
      const lines = (rest + String(piece)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('{"id":')) count.take('', line);
      last = lines.at(-1) ?? last;
    }
  } catch {
    return null;
  }
  return last.startsWith('{"end":') ? count.spending() : null;
}

function createCount() {
  let spending: Spending = NOTHING_SPENT;
  /** The open request of the session, '', and of each subagent. */
  const requests = new Map<string, Accounts['request']>();
  return {
    /** The bytes of an event, in Redis or as a line of a file. */
    take(id: string, text: string): void {
      if (!SPENDS.test(text)) return;
      const { event } = decodeText(id, text);
      const [who, own] = event.type === 'agent.ev' ? [event.aid, event.event] : ['', event];
      const accounts = foldAccounts({ spending, request: requests.get(who) ?? null }, own);
      spending = accounts.spending;
      requests.set(who, accounts.request);
    },
    spending: () => spending,
  };
}
