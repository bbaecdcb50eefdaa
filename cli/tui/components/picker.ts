// A list to choose from in the place of the editor, narrowed by typing. Labels come from outside and are cleaned here.

import {
  type Component,
  type Focusable,
  fuzzyFilter,
  Input,
  matchesKey,
  type SelectItem,
  SelectList,
  visibleWidth,
} from '@earendil-works/pi-tui';
import { cleanLine } from '../../../shared/clean-text.ts';
import { selectTheme, type Theme } from '../theme.ts';
import { guard, wrapped } from './lines.ts';

export interface PickerOptions {
  readonly title: string;
  readonly items: readonly SelectItem[];
  readonly theme: Theme;
  readonly rows: () => number;
  /** Keys besides Enter and Esc: what they are for, shown below the list. They act on the selected item. */
  readonly keys?: Readonly<Record<string, { readonly label: string; readonly act: (value: string) => void }>>;
  /** What Enter does; else it chooses. */
  readonly enter?: string;
  onPick(value: string): void;
  onCancel(): void;
}

const FRAME_ROWS = 10;
const MAX_ROWS = 14;
const MAX_LABEL = 48;

export class Picker implements Component, Focusable {
  focused = false;
  #options: PickerOptions;
  #filter = new Input({ prompt: '  / ', placeholder: 'type to narrow' });
  #list: SelectList;

  constructor(options: PickerOptions) {
    this.#options = {
      ...options,
      items: options.items.map(({ value, label, description }) => ({
        value,
        label: cleanLine(label),
        ...(description === undefined ? {} : { description: cleanLine(description) }),
      })),
    };
    this.#list = this.#listOf('');
  }

  /** A short list needs no narrowing. */
  get #isLong(): boolean {
    return this.#options.items.length > MAX_ROWS;
  }

  invalidate(): void {}

  render(width: number): string[] {
    const { title, theme, keys = {}, enter = 'chooses' } = this.#options;
    const bar = ` ${theme.accent('│')} `;
    const room = Math.max(10, width - 3);
    this.#filter.focused = this.focused;
    const more = Object.values(keys).map(({ label }) => ` · ${label}`);
    return [
      guard(bar + theme.bold(cleanLine(title)), width),
      ...(this.#isLong ? this.#filter.render(Math.max(1, width - 3)).map((line) => bar + line) : []),
      ...this.#list.render(room).map((line) => guard(bar + line, width)),
      ...wrapped(`Enter ${enter} · Esc leaves${more.join('')}`, width, bar, theme.dim),
    ];
  }

  handleInput(data: string): void {
    const { keys = {}, onCancel } = this.#options;
    if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return onCancel();
    const selected = this.#list.getSelectedItem();
    const own = Object.entries(keys).find(([key]) => matchesKey(data, key as Parameters<typeof matchesKey>[1]));
    if (own !== undefined) return void (selected && own[1].act(selected.value));
    if (['up', 'down', 'enter', 'pageUp', 'pageDown'].some((key) => matchesKey(data, key as 'up'))) {
      return this.#list.handleInput(data);
    }
    if (!this.#isLong) return;
    const before = this.#filter.getValue();
    this.#filter.handleInput(data);
    if (this.#filter.getValue() !== before) this.#list = this.#listOf(this.#filter.getValue());
  }

  #listOf(filter: string): SelectList {
    const { items, theme, rows, onPick, onCancel } = this.#options;
    const found = filter === '' ? [...items] : fuzzyFilter([...items], filter, ({ label }) => label);
    const max = Math.max(3, Math.min(MAX_ROWS, rows() - FRAME_ROWS));
    const widest = Math.min(MAX_LABEL, Math.max(...items.map(({ label }) => visibleWidth(label)))) + 2;
    const columns = { minPrimaryColumnWidth: widest, maxPrimaryColumnWidth: widest };
    const list = new SelectList(found, max, selectTheme(theme), columns);
    list.onSelect = ({ value }) => onPick(value);
    list.onCancel = onCancel;
    return list;
  }
}
