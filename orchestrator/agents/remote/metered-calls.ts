// What an agent with a worker spends, in its parent's budget (SPEC E7). Where money or tokens are capped, each call of its model reserves here
// before it is made, beside all others of the message, and waits for the word that it may go: so a cap is overshot by one call in all. What
// is not capped is only counted. Calls of the lesser model are counted when they are over.

import type { EventOf, JournalEvent } from '../../../shared/events.ts';
import type { LimitKind, Limits } from '../../../shared/limits.ts';
import type { Amount, Reservation, Scope } from '../../budget/ledger.ts';
import type { MessageBudget } from '../../budget/message-budget.ts';
import type { RemoteOrder, RemoteWord } from './order.ts';

export interface MeterDeps {
  readonly budget: Pick<MessageBudget, 'scope' | 'room'>;
  maxOutputTokens(model: string): number;
  tell(word: RemoteWord): Promise<void>;
  /** How often the agent was placed. */
  placed(): number;
  /** A limit is reached: it makes no more calls. */
  hit(limit: LimitKind): void;
  /** The worker could not be told. */
  broken(error: unknown): void;
}

export interface MeteredCalls {
  /** An event of the agent's is journaled, which has cost so much. */
  follow(event: JournalEvent, cost: Amount): void;
  /** After a crash, or when its worker is back: the call that is under way is reserved for again. */
  resume(events: readonly JournalEvent[]): void;
  /** Nothing is under way any more. */
  close(): void;
}

const NOTHING: Amount = { usd: 0, tokens: 0 };

export function meterCalls(deps: MeterDeps, isMetered: () => boolean): MeteredCalls {
  const { budget } = deps;
  let stop = new AbortController();
  let reserved: Reservation | null = null;

  const end = (cost: Amount): void => {
    stop.abort();
    const was = reserved;
    reserved = null;
    if (was) was.settle(cost);
    else if (cost.tokens !== 0) for (const scope of scopesOf(budget.scope)) scope.add(cost);
  };

  const begin = async ({ op, attempt, model, estimate = 0 }: EventOf<'llm.req'>): Promise<void> => {
    stop = new AbortController();
    const { signal } = stop;
    const wanted = { model, inputTokens: estimate, maxOutputTokens: deps.maxOutputTokens(model) };
    const room = await budget.room(wanted, signal);
    if (room === null) return;
    if ('limit' in room) return signal.aborted ? undefined : deps.hit(room.limit);
    if (signal.aborted) return room.settle(NOTHING);
    reserved = room;
    const { maxOutputTokens } = room;
    await deps.tell({ k: 'go', placed: deps.placed(), op: inWorkers(op), attempt, maxOutputTokens });
  };

  return {
    follow(event, cost) {
      // Of a call that a lost worker had begun nothing more is heard when the next begins.
      if (event.type === 'llm.req' || event.type === 'llm.res' || event.type === 'llm.fail') end(cost);
      else if (cost.tokens !== 0) for (const scope of scopesOf(budget.scope)) scope.add(cost);
      const limit = limitReached(budget.scope.parent);
      if (limit !== null) deps.hit(limit);
      else if (event.type === 'llm.req' && isMetered()) void begin(event).catch(deps.broken);
    },
    resume(events) {
      end(NOTHING);
      const last = events.findLast(({ type }) => type === 'llm.req' || type === 'llm.res' || type === 'llm.fail');
      if (last?.type === 'llm.req' && isMetered()) void begin(last).catch(deps.broken);
    },
    close: () => end(NOTHING),
  };
}

/** In the worker's session it is the first message. */
const inWorkers = (op: string): string => `1${op.slice(op.indexOf('.'))}`;

export const isCapped = (scope: Scope | null): boolean =>
  scope !== null && scopesOf(scope).some(({ caps: { usd, tokens } }) => usd !== undefined || tokens !== undefined);

function scopesOf(scope: Scope): readonly Scope[] {
  const scopes: Scope[] = [];
  for (let at: Scope | null = scope; at !== null; at = at.parent) scopes.push(at);
  return scopes;
}

/** Which cap of the message, or of what it is in, is reached. */
function limitReached(scope: Scope | null): LimitKind | null {
  if (scope === null) return null;
  const { usd, tokens } = scope.spent();
  if (scope.caps.usd !== undefined && usd !== null && usd >= scope.caps.usd) return 'usd';
  if (scope.caps.tokens !== undefined && tokens >= scope.caps.tokens) return 'tokens';
  return limitReached(scope.parent);
}

/** Its own limits, and what is left of those that it is in. */
export function limitsWithin(limits: Limits, scope: Scope | null): RemoteOrder['limits'] {
  let { usd, tokens } = limits;
  for (let at = scope; at !== null; at = at.parent) {
    const spent = at.spent();
    if (at.caps.usd !== undefined && spent.usd !== null) {
      usd = Math.max(1e-9, Math.min(usd ?? Number.POSITIVE_INFINITY, at.caps.usd - spent.usd));
    }
    if (at.caps.tokens !== undefined) {
      tokens = Math.max(1, Math.min(tokens ?? Number.POSITIVE_INFINITY, at.caps.tokens - spent.tokens));
    }
  }
  return {
    maxSteps: limits.maxSteps,
    ...(usd === undefined ? {} : { usd }),
    ...(tokens === undefined ? {} : { tokens: Math.floor(tokens) }),
    ...(limits.timeoutMs === undefined ? {} : { timeoutMs: limits.timeoutMs }),
  };
}
