// What stands in the newest turn of a view: items are added behind, and the open text, the last one and a call by its op are changed.
// What did not change keeps its identity.

import type { Item, TextItem, ToolItem, View } from './view.ts';

export function addItem(view: View, item: Item): View {
  const last = view.turns.at(-1);
  if (last === undefined) {
    return { ...view, turns: [{ seq: 0, mode: 'ask', body: '', items: [item], isDone: true }] };
  }
  return withItems(view, [...last.items, item]);
}

function replaceLast(view: View, item: Item): View {
  return withItems(view, (view.turns.at(-1)?.items ?? []).with(-1, item));
}

function withItems(view: View, items: readonly Item[]): View {
  const last = view.turns.at(-1);
  return last === undefined ? view : { ...view, turns: [...view.turns.slice(0, -1), { ...last, items }] };
}

export function stream(view: View, kind: TextItem['kind'], delta: string): View {
  // Late chunks of a message that is done are shown with its whole text.
  if (view.running === null) return view;
  const last = view.turns.at(-1)?.items.at(-1);
  const next = { ...view, activity: kind === 'text' ? 'answering' : 'thinking' };
  if (last?.kind === kind && last.isOpen) return replaceLast(next, { ...last, text: last.text + delta });
  return addItem(closeText(next), { kind, text: delta, isOpen: true });
}

/** The whole text of a step takes the place of what was streamed of it: chunks may have been lost on the way. */
export function wholeText(view: View, text: string): View {
  const items = view.turns.at(-1)?.items ?? [];
  const at = items.findLastIndex((item) => item.kind === 'text' && item.isOpen);
  const whole: TextItem = { kind: 'text', text, isOpen: false };
  if (at < 0) return addItem(closeText(view), whole);
  return withItems(view, items.with(at, whole));
}

/** What streamed is as long as it will get. */
export function closeText(view: View): View {
  const items = view.turns.at(-1)?.items ?? [];
  const at = items.findLastIndex((item) => (item.kind === 'text' || item.kind === 'thinking') && item.isOpen);
  const item = items[at];
  return item?.kind === 'text' || item?.kind === 'thinking'
    ? withItems(view, items.with(at, { ...item, isOpen: false }))
    : view;
}

/** The answer stands there already when it was streamed or told as a step's text, or says in brackets what the error above it said. */
export function withAnswer(view: View, answer: string): View {
  const texts = (view.turns.at(-1)?.items ?? []).filter((item) => item.kind === 'text').map(({ text }) => text);
  const isTold = (view.turns.at(-1)?.items ?? []).some(
    (item) =>
      item.kind === 'note' && item.tone === 'bad' && answer.endsWith(`: ${item.text.replace(/^step \d+: /, '')}]`),
  );
  const isShown =
    isTold || answer.trim() === '' || texts.some((_, from) => answer.startsWith(texts.slice(from).join('')));
  return isShown ? view : addItem(view, { kind: 'text', text: answer, isOpen: false });
}

export function changeTool(view: View, op: string, change: (tool: ToolItem) => ToolItem): View {
  const items = view.turns.at(-1)?.items ?? [];
  const at = items.findLastIndex((item) => item.kind === 'tool' && item.op === op);
  const item = items[at];
  return item?.kind === 'tool' ? withItems(view, items.with(at, change(item))) : view;
}
