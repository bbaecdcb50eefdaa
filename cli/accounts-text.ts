// What a session has used, by model, for `odin sessions show` (SPEC E16).

import { countText } from '../shared/amount-text.ts';
import { type Rates, spentOn } from '../shared/spending.ts';
import type { State } from '../shared/state.ts';
import { costText, windowText } from './meter.ts';
import { table } from './table.ts';

/** A table with one row a model and the sum, and what the window holds; nothing when no model was asked. */
export function accountsText({ spending, window }: Pick<State, 'spending' | 'window'>, rates: Rates): string {
  const rows = spentOn(spending, rates);
  if (rows.length === 0) return '';
  const isEstimated = rows.some((row) => row.estimated);
  const sum = (of: (row: (typeof rows)[number]) => number) =>
    countText(rows.reduce((total, row) => total + of(row), 0));
  const lines = table([
    ['MODEL', 'CALLS', 'TOKENS IN', 'CACHED', 'OUT', 'COST'],
    ...rows.map(({ model, calls, usage, costUsd, estimated }) => [
      model,
      countText(calls),
      `${estimated ? '~' : ''}${countText(usage.input)}`,
      countText(usage.cacheRead),
      countText(usage.output),
      costText(costUsd, estimated),
    ]),
    ...(rows.length === 1
      ? []
      : [
          [
            'in all',
            sum((row) => row.calls),
            sum((row) => row.usage.input),
            sum((row) => row.usage.cacheRead),
            sum((row) => row.usage.output),
            costText(rates.costOf(spending), isEstimated),
          ],
        ]),
  ]);
  const held =
    window === null ? '' : `window ${windowText({ tokens: window.tokens, size: rates.windowOf(window.model) })}\n`;
  return `\n${lines}${held}`;
}
