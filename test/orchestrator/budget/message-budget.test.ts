import { expect, test } from '@jest/globals';
import { emptyAgentMemory } from '../../../agent/memory.ts';
import { createModelTable } from '../../../llm/model-info.ts';
import { openScope } from '../../../orchestrator/budget/ledger.ts';
import { openMessageBudget } from '../../../orchestrator/budget/message-budget.ts';
import type { EventOf } from '../../../shared/events.ts';

const never = new AbortController().signal;
const call = { model: 'anthropic/scripted', inputTokens: 1_000, maxOutputTokens: 8_000 };
const start: EventOf<'msg.start'> = {
  ...{ type: 'msg.start', seq: 1, mid: 'm', mode: 'ask', body: { inline: 'x' }, at: 0 },
  ...{ model: call.model, smallModel: call.model, limits: { maxSteps: 10 } },
};

test('E7: what a planner held that was lost in its call, or waited for, is free again with its next one', async () => {
  const scope = openScope('process', { tokens: 10_000 });
  const budget = openMessageBudget(
    {
      ...{ budget: { scope, session: {} }, models: createModelTable({}), memory: emptyAgentMemory('s') },
      ...{ record: () => {}, now: () => 0 },
    },
    start,
    [],
  );
  expect(budget.plannerRoom(call, never)).toBe(8_000);
  expect(budget.plannerRoom(call, never)).toBe(8_000);
  budget.settlePlanner();
  // Somebody else's call stands in the way of two that wait.
  const other = await budget.room(call, never);
  const [lost, next] = [budget.plannerRoom(call, never), budget.plannerRoom(call, never)];
  expect([lost, next].map((room) => room instanceof Promise)).toEqual([true, true]);
  if (other !== null && 'settle' in other) other.settle({ usd: 0, tokens: 0 });
  expect(await Promise.all([lost, next])).toEqual([null, 8_000]);
  budget.settlePlanner();
  expect(scope.held.size).toBe(0);
});
