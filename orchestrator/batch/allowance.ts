// A batch's budget in one process (DURABILITY 11). Redis gives each process that runs tasks of the batch an allowance out of what is left,
// piece by piece and never more than there is; the ledger keeps the process' calls within it. So all processes together overshoot by one
// call each at most: the one that the ledger lets go alone. What a process does not use goes back; what one took that died is gone.

import type { Amount, Caps, Scope } from '../budget/ledger.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

export interface Allowance {
  readonly scope: Scope;
  /** Gives back what is not used. */
  close(): Promise<void>;
}

type Limit = 'usd' | 'tokens';

/** A piece, as a part of the whole. */
const PIECES = 32;
/** Before Redis is asked again that gave no answer. */
const RETRY_MS = 1_000;
/** Too small to pay for anything, and more than a rounding error. */
const LEAST = 1e-9;

export function openAllowance(redis: OdinRedis, bid: string, caps: Caps, log: (error: unknown) => void): Allowance {
  const { meta } = keys.batch(bid);
  const limits = (['usd', 'tokens'] as const).filter((limit) => caps[limit] !== undefined);
  const given: Record<Limit, number> = { usd: 0, tokens: 0 };
  const gone: Record<Limit, boolean> = { usd: false, tokens: false };
  let spent: Amount = { usd: 0, tokens: 0 };
  let asking: Promise<void> | null = null;
  let closed = false;

  /** While more may come, no call counts as alone: it waits for that instead of overshooting. */
  const mark: Amount = { usd: 0, tokens: 0 };
  const held = new Set<Amount>([mark]);
  const waiting = new Set<() => void>();

  const roomOf = (limit: Limit): number =>
    given[limit] - (spent[limit] ?? 0) - [...held].reduce((sum, one) => sum + (one[limit] ?? 0), 0);

  /** Keeps a piece free ahead of what is asked for, and more for as long as a call waits. */
  const topUp = (): void => {
    if (asking !== null || closed) return;
    const wanted = limits.filter(
      (limit) => !gone[limit] && (waiting.size > 0 || roomOf(limit) < (caps[limit] ?? 0) / PIECES),
    );
    if (wanted.length === 0) return;
    const done = (again: () => void) => {
      asking = null;
      if (limits.every((limit) => gone[limit])) held.delete(mark);
      for (const retry of waiting) retry();
      if (waiting.size > 0) again();
    };
    asking = ask(wanted).then(
      () => done(() => setImmediate(topUp)),
      (error: unknown) => {
        log(error);
        done(() => setTimeout(topUp, RETRY_MS).unref());
      },
    );
  };

  const ask = async (wanted: readonly Limit[]): Promise<void> => {
    for (const limit of wanted) {
      const cap = caps[limit] ?? 0;
      const got = Number(await redis.oballow([meta], [`given:${limit}`, cap, cap / PIECES]));
      given[limit] += got;
      gone[limit] = got < LEAST;
    }
  };

  // The ledger knows sets; what is added to these is when there is something to ask for.
  const watch = <T>(set: Set<T>): Set<T> => {
    const add = set.add.bind(set);
    set.add = (value) => {
      add(value);
      topUp();
      return set;
    };
    return set;
  };

  const capOf = (limit: Limit): number =>
    gone[limit] ? given[limit] : Math.max(given[limit], (spent[limit] ?? 0) + LEAST);

  const scope: Scope = {
    name: 'batch',
    get caps() {
      return Object.fromEntries(limits.map((limit) => [limit, capOf(limit)])) as Caps;
    },
    parent: null,
    spent: () => spent,
    held: watch(held),
    waiting: watch(waiting),
    add(cost) {
      const usd = spent.usd === null || cost.usd === null ? null : spent.usd + cost.usd;
      spent = { usd, tokens: spent.tokens + cost.tokens };
      topUp();
    },
  };
  topUp();

  return {
    scope,
    async close() {
      closed = true;
      await asking;
      for (const limit of limits) {
        const rest = given[limit] - (spent[limit] ?? given[limit]);
        if (rest > 0) await redis.hincrbyfloat(meta, `given:${limit}`, -rest);
        given[limit] -= Math.max(0, rest);
      }
    },
  };
}
