// Binds a turn to its message's budget and accounts (SPEC E7, E16): the planner and every call of the lesser model ask for room first, and
// what they have used is in the journal after.

import { costOf } from '../../llm/model-info.ts';
import type { EventOf, JournalEvent } from '../../shared/events.ts';
import { createSmallModel } from '../small-model.ts';
import type { GivenTurnDeps, UnhookedTurnDeps } from '../turn.ts';
import { type BudgetDeps, openMessageBudget } from './message-budget.ts';

/** `past` are the message's events so far. */
export function withAccounts(
  given: GivenTurnDeps,
  start: EventOf<'msg.start'>,
  past: readonly JournalEvent[],
): UnhookedTurnDeps {
  const { budgetPolicy, ...deps } = given;
  const isAgent = budgetPolicy.message !== undefined;
  const permit: BudgetDeps['permit'] = async (model, tokens, signal) =>
    (await deps.provider(model)).permit?.(tokens, signal);
  const budget = openMessageBudget({ ...deps, budget: budgetPolicy, ...(isAgent ? { permit } : {}) }, start, past);
  const smallModel = createSmallModel({
    model: start.smallModel,
    provider: (model) => deps.provider(model),
    budget,
    costOf: (usage) => ({ usd: costOf(deps.models.info(start.smallModel), usage), tokens: usage.input + usage.output }),
    used(purpose, usage, estimated) {
      const { seq, smallModel: model } = start;
      const mark = estimated ? { estimated } : {};
      deps.record({ type: 'aux.used', seq, purpose, model, usage, ...mark, at: deps.now() });
    },
  });
  return {
    ...deps,
    budget,
    smallModel,
    context: (call, more) => ({ ...deps.context(call, more), model: smallModel }),
  };
}
