// The budget of one message as its turn sees it (SPEC E7): room for each call before it is made, what is left when it is over. What is
// spent is read from the folds of the journal, so a message that is resumed after a crash has no new budget.

import type { BudgetedCall, PlannerBudget } from '../../agent/loop-deps.ts';
import type { TokenMemory } from '../../llm/context/token-estimate.ts';
import { type ModelTable, priceFor } from '../../llm/model-info.ts';
import type { EventOf, JournalEvent } from '../../shared/events.ts';
import type { LimitKind } from '../../shared/limits.ts';
import type { CallPermit } from '../../shared/ports.ts';
import { type Spending, tokensIn } from '../../shared/spending.ts';
import type { State } from '../../shared/state.ts';
import {
  type Amount,
  type Ask,
  type Caps,
  openScope,
  type Reservation,
  reserve,
  type Scope,
  type Verdict,
} from './ledger.ts';
import { limitText, nearText, timeLimitText } from './limit-text.ts';
import { workedMs } from './worked-time.ts';

/** What a process allows beyond the limits of a message. */
export interface BudgetPolicy {
  /** Of everything that runs in this process. */
  readonly scope: Scope;
  /** Of a session in sum. */
  readonly session: Caps;
  /** Of the message that a subagent works for; absent: it is the message itself. */
  readonly message?: Scope;
}

export interface BudgetDeps {
  readonly budget: BudgetPolicy;
  readonly models: ModelTable;
  readonly memory: { readonly state: State; readonly tokens: TokenMemory };
  record(event: JournalEvent): void;
  now(): number;
  /** Of a subagent, whose thread asks the model by itself: its turn within the provider's limits. */
  permit?(model: string, tokens: number, signal: AbortSignal): Promise<CallPermit | null | undefined>;
}

export type RoomOrLimit = Reservation | { readonly limit: LimitKind; readonly message: string };

export interface MessageBudget extends PlannerBudget {
  /** What is spent and held here; the scopes of its subagents are inside. */
  readonly scope: Scope;
  /** Room for a call, or which limit stands in its way; null when the signal aborted while it waited. At once, unless it must wait for others. */
  room(call: BudgetedCall, signal: AbortSignal): RoomOrLimit | null | Promise<RoomOrLimit | null>;
}

/** From this share of a limit on the planner is told. */
const NEAR = 0.8;
/** How far a guess may be off. */
const GUESS_MARGIN = 1.3;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `past` are the message's events so far: its time goes on where it stood. */
export function openMessageBudget(
  deps: BudgetDeps,
  start: EventOf<'msg.start'>,
  past: readonly JournalEvent[],
): MessageBudget {
  const { models, memory } = deps;
  const { usd, tokens, timeoutMs } = start.limits;
  const amountOf = (spending: Spending): Amount => ({ usd: models.costOf(spending), tokens: tokensIn(spending) });
  const ofMessage = (): Spending => memory.state.messages.find(({ seq }) => seq === start.seq)?.spending ?? {};
  const { message: outer } = deps.budget;
  const parent =
    outer ??
    openScope('session', deps.budget.session, {
      parent: deps.budget.scope,
      spent: () => amountOf(memory.state.spending),
    });
  const caps: Caps = { ...(usd === undefined ? {} : { usd }), ...(tokens === undefined ? {} : { tokens }) };
  const message = openScope(outer ? 'agent' : 'message', caps, { parent, spent: () => amountOf(ofMessage()) });
  const openedAt = deps.now();
  const workedBefore = workedMs(past);
  const worked = (): number => workedBefore + deps.now() - openedAt;

  const askOf = ({ model, inputTokens, maxOutputTokens }: BudgetedCall): Ask => {
    const price = priceFor(models.info(model), inputTokens);
    const exactBase = countedBefore(model, inputTokens);
    const guessed = inputTokens - exactBase;
    const most = Math.ceil(exactBase + GUESS_MARGIN * guessed);
    const { cacheRead, cacheWrite } = memory.state.usage;
    const isCached = cacheRead + cacheWrite > 0;
    const perNew = price === null ? 0 : Math.max(price.input, price.cacheWrite);
    const perOld = price === null ? 0 : isCached ? price.cacheRead : price.input;
    const usdOf = (sum: number): number | null => (price === null ? null : sum / 1_000_000);
    return {
      input: { tokens: most, usd: usdOf(most * perNew) },
      likelyInput: { tokens: inputTokens, usd: usdOf(exactBase * perOld + guessed * perNew) },
      maxOutputTokens,
      usdPerOutputToken: usdOf(price?.output ?? 0),
    };
  };

  /** The part of a prompt that the provider has counted before, and probably keeps. The lesser model's prompts are all new. */
  const countedBefore = (model: string, inputTokens: number): number => {
    const { base } = memory.tokens;
    return base !== null && model.endsWith(`/${base.model}`) && base.tokens <= inputTokens ? base.tokens : 0;
  };

  const told = (verdict: Verdict, call: BudgetedCall): RoomOrLimit =>
    verdict.ok
      ? verdict.reservation
      : { limit: verdict.hit.limit, message: limitText(verdict.hit, unpricedModels(verdict.hit.scope, call.model)) };

  /** Whose price is missing: the model to be asked, or those that were. */
  const unpricedModels = (scope: Scope, model: string): readonly string[] => {
    if (models.info(model).price === null) return [model];
    const spending = scope === message ? ofMessage() : memory.state.spending;
    return Object.keys(spending).filter((name) => models.info(name).price === null);
  };

  const room: MessageBudget['room'] = (call, signal) => {
    const verdict = reserve(message, askOf(call), signal);
    if (!(verdict instanceof Promise)) return told(verdict, call);
    return verdict.then(
      (later) => told(later, call),
      () => null,
    );
  };

  /** The permit is given back with the room. */
  const permitted = async (call: BudgetedCall, signal: AbortSignal): Promise<RoomOrLimit | null> => {
    const given = await room(call, signal);
    if (given === null || 'limit' in given) return given;
    const permit = await deps.permit?.(call.model, call.inputTokens, signal).catch(() => undefined);
    if (permit === null) given.settle(NOTHING);
    if (!permit) return permit === null ? null : given;
    const settle = (cost: Amount) => {
      const { input, cacheRead, output } = memory.state.usage;
      permit.done(cost.tokens === 0 ? null : input - cacheRead + output);
      given.settle(cost);
    };
    return { maxOutputTokens: given.maxOutputTokens, settle };
  };

  let planner: { readonly room: Reservation; readonly before: Amount } | null = null;

  const orRecorded = (given: RoomOrLimit | null): number | null => {
    if (given === null) return null;
    if ('limit' in given) {
      deps.record({ type: 'limit.hit', seq: start.seq, ...given, at: deps.now() });
      return null;
    }
    planner = { room: given, before: amountOf(ofMessage()) };
    return given.maxOutputTokens;
  };

  const settlePlanner = (): void => {
    const { room: open, before } = planner ?? {};
    planner = null;
    open?.settle(difference(amountOf(ofMessage()), before));
  };

  let asked = 0;

  return {
    scope: message,
    room,
    plannerRoom(call, signal) {
      // A thread that was lost in a call, or while it waited for one, says no more of it.
      settlePlanner();
      asked += 1;
      const own = asked;
      const given = deps.permit ? permitted(call, signal) : room(call, signal);
      if (!(given instanceof Promise)) return orRecorded(given);
      return given.then((later) => {
        if (own === asked) return orRecorded(later);
        if (later !== null && 'settle' in later) later.settle(NOTHING);
        return null;
      });
    },
    settlePlanner,
    near() {
      let nearest: { readonly share: number; readonly text: string } | null = null;
      const consider = (limit: LimitKind, used: number | null, cap: number | undefined) => {
        if (cap === undefined || used === null || used / cap < Math.max(NEAR, nearest?.share ?? 0)) return;
        nearest = { share: used / cap, text: nearText(limit, used, cap) };
      };
      for (const scope of [message, parent]) {
        if (scope.caps.usd === undefined && scope.caps.tokens === undefined) continue;
        const spent = scope.spent();
        consider('usd', spent.usd, scope.caps.usd);
        consider('tokens', spent.tokens, scope.caps.tokens);
      }
      consider('time', worked(), timeoutMs);
      return (nearest as { readonly text: string } | null)?.text ?? null;
    },
    startClock(isOver) {
      if (timeoutMs === undefined) return () => {};
      const ring = () => {
        if (isOver()) return;
        const message = timeLimitText(timeoutMs);
        deps.record({ type: 'limit.hit', seq: start.seq, limit: 'time', message, at: deps.now() });
      };
      const timer = setTimeout(ring, Math.min(LONGEST_TIMER_MS, Math.max(0, timeoutMs - worked())));
      return () => clearTimeout(timer);
    },
  };
}

const NOTHING: Amount = { usd: 0, tokens: 0 };

const difference = (after: Amount, before: Amount = NOTHING): Amount => ({
  usd: after.usd === null || before.usd === null ? null : after.usd - before.usd,
  tokens: after.tokens - before.tokens,
});
