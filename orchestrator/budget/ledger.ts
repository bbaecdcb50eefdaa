// Who may still spend (SPEC E7): scopes inside scopes (process, session, message, later subagent), each with caps. A call reserves the most
// that it can cost before it is made, in all its scopes at once, and is settled after. What does not fit waits for what is in flight;
// alone in a scope that has anything left it goes all the same, so a cap is overshot by one call at most. Knows no journal and no model.

/** USD is null when a price is not known. */
export interface Amount {
  readonly usd: number | null;
  readonly tokens: number;
}

export interface Caps {
  readonly usd?: number;
  readonly tokens?: number;
}

export interface Scope {
  readonly name: string;
  readonly caps: Caps;
  readonly parent: Scope | null;
  /** What is spent in it, scopes inside it included. */
  spent(): Amount;
  /** Calls of this scope and those inside it that are not settled. */
  readonly held: Set<Amount>;
  /** Adds what a call has cost, where the scope itself keeps count. */
  add(cost: Amount): void;
  /** Who waits for a settlement; the same for all scopes of a tree. */
  readonly waiting: Set<() => void>;
}

/** A call: what its input costs, and an answer of at most so many tokens. */
export interface Ask {
  /** At most; beside other calls this counts. */
  readonly input: Amount;
  /** What it will cost if all goes as usual (a warm cache): alone in a scope this says how long the answer may be. */
  readonly likelyInput: Amount;
  readonly maxOutputTokens: number;
  /** Null when the price is not known. */
  readonly usdPerOutputToken: number | null;
}

export interface Reservation {
  /** The longest answer that the budget has room for. */
  readonly maxOutputTokens: number;
  /** Gives back what was reserved; `cost` is added in scopes that keep count themselves. Call it once, whatever became of the call. */
  settle(cost: Amount): void;
}

/** Why a call may not be made. */
export interface LimitHit {
  readonly scope: Scope;
  readonly limit: 'usd' | 'tokens';
  /** unpriced: money is capped and what it costs is not known. */
  readonly why: 'spent' | 'unpriced';
}

export type Verdict =
  | { readonly ok: true; readonly reservation: Reservation }
  | { readonly ok: false; readonly hit: LimitHit };

/** The shortest answer worth asking for, and the same while others in the scope may leave more when they are done. */
const LEAST_OUTPUT = 1_024;
const LEAST_OUTPUT_BESIDE_OTHERS = 8_192;

/** A scope inside `parent`. Without `spent` it keeps count itself, from nothing. */
export function openScope(
  name: string,
  caps: Caps,
  { parent = null, spent }: { readonly parent?: Scope | null; readonly spent?: () => Amount } = {},
): Scope {
  let own: Amount = { usd: 0, tokens: 0 };
  const keepsCount = spent === undefined;
  return {
    name,
    caps,
    parent,
    spent: spent ?? (() => own),
    held: new Set(),
    waiting: parent?.waiting ?? new Set(),
    add(cost) {
      if (keepsCount) own = sumOf([own, cost]);
    },
  };
}

/** Reserves at once, or says which limit is hit; a promise when it has to wait for what is in flight. Rejects when the signal aborts. */
export function reserve(scope: Scope, ask: Ask, signal: AbortSignal): Verdict | Promise<Verdict> {
  const verdict = attempt(scope, ask);
  return verdict === 'wait' ? waitFor(scope, ask, signal) : verdict;
}

function waitFor(scope: Scope, ask: Ask, signal: AbortSignal): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    const retry = () => {
      const verdict = attempt(scope, ask);
      if (verdict === 'wait') return;
      leave();
      resolve(verdict);
    };
    const abort = () => {
      leave();
      reject(signal.reason as Error);
    };
    const leave = () => {
      scope.waiting.delete(retry);
      signal.removeEventListener('abort', abort);
    };
    if (signal.aborted) return abort();
    scope.waiting.add(retry);
    signal.addEventListener('abort', abort, { once: true });
  });
}

function attempt(scope: Scope, ask: Ask): Verdict | 'wait' {
  const scopes = scopesOf(scope);
  let output = ask.maxOutputTokens;
  let mustWait = false;
  for (const one of scopes) {
    const judged = judge(one, ask);
    if (typeof judged === 'object') return { ok: false, hit: judged };
    if (judged === 'wait') mustWait = true;
    else output = Math.min(output, judged);
  }
  if (mustWait) return 'wait';
  return { ok: true, reservation: hold(scopes, ask, output) };
}

/** The longest answer that one scope has room for, or that the call must wait, or that it may not be made. */
function judge(scope: Scope, ask: Ask): number | 'wait' | LimitHit {
  let output = ask.maxOutputTokens;
  for (const limit of ['tokens', 'usd'] as const) {
    const cap = scope.caps[limit];
    if (cap === undefined) continue;
    const spent = scope.spent()[limit];
    const price = limit === 'usd' ? ask.usdPerOutputToken : 1;
    const isAlone = scope.held.size === 0;
    const input = (isAlone ? ask.likelyInput : ask.input)[limit];
    if (spent === null || price === null || input === null) return { scope, limit, why: 'unpriced' };
    if (spent >= cap) return { scope, limit, why: 'spent' };
    const held = sumOf(scope.held)[limit] ?? 0;
    const room = cap - spent - held - input;
    const fits = price === 0 ? (room < 0 ? -1 : Number.POSITIVE_INFINITY) : Math.floor(room / price);
    const least = Math.min(ask.maxOutputTokens, isAlone ? LEAST_OUTPUT : LEAST_OUTPUT_BESIDE_OTHERS);
    if (fits < least && !isAlone) return 'wait';
    output = Math.min(output, Math.max(fits, least));
  }
  return output;
}

function hold(scopes: readonly Scope[], ask: Ask, maxOutputTokens: number): Reservation {
  const { input, usdPerOutputToken } = ask;
  const most: Amount = {
    usd: input.usd === null || usdPerOutputToken === null ? null : input.usd + maxOutputTokens * usdPerOutputToken,
    tokens: input.tokens + maxOutputTokens,
  };
  for (const scope of scopes) scope.held.add(most);
  let isSettled = false;
  return {
    maxOutputTokens,
    settle(cost) {
      if (isSettled) return;
      isSettled = true;
      for (const scope of scopes) {
        scope.held.delete(most);
        scope.add(cost);
      }
      // In the order in which they came.
      for (const retry of scopes[0]?.waiting ?? []) retry();
    },
  };
}

function scopesOf(scope: Scope): readonly Scope[] {
  const scopes: Scope[] = [];
  for (let at: Scope | null = scope; at !== null; at = at.parent) scopes.push(at);
  return scopes;
}

function sumOf(amounts: Iterable<Amount>): Amount {
  let usd: number | null = 0;
  let tokens = 0;
  for (const one of amounts) {
    usd = usd === null || one.usd === null ? null : usd + one.usd;
    tokens += one.tokens;
  }
  return { usd, tokens };
}
