// What has the editor's place and the keyboard: the editor, a question that waits for its answer, or a list or prompt that a command
// opened. A question opens by itself, one at a time, and closes when it is answered, wherever that was.

import {
  type Component,
  Container,
  decodeKittyPrintable,
  type Editor,
  type TuiMainScreen,
} from '@earendil-works/pi-tui';
import type { AskedEvent } from '../question-text.ts';
import { PermissionDialog, type PermissionDialogOptions } from './components/permission-dialog.ts';
import type { Theme } from './theme.ts';

export interface Slot {
  readonly container: Container;
  /** Puts there what belongs there now. */
  arrange(questions: readonly AskedEvent[]): void;
  /** A list or a prompt; null: the editor again. */
  open(component: Component | null): void;
  /** A letter right after a question opened beside a message that is half typed goes on with the message: true when it made room for it. */
  giveWay(data: string): boolean;
  /** Keys are not the editor's. */
  isTaken(): boolean;
  close(): void;
}

/** A dialog takes the keyboard only when nothing was typed for so long: a letter meant for the editor must not answer it. */
export const TYPING_MS = 600;

/** Nobody has read a question after so long. */
const UNREAD_MS = 1_000;

export function createSlot(deps: {
  readonly now?: () => number;
  readonly tui: TuiMainScreen;
  readonly editor: Editor;
  theme(): Theme;
  rows(): number;
  lastKeyAt(): number;
  redrawSoon(): void;
  answer(question: AskedEvent, ...answer: Parameters<PermissionDialogOptions['answer']>): Promise<unknown>;
  answerFailed(error: unknown): void;
}): Slot {
  const { tui, editor, now = Date.now } = deps;
  const container = new Container();
  let dialog: { readonly id: string; readonly at: number; readonly component: PermissionDialog } | null = null;
  let opened: Component | null = null;
  let shown: Component | null = null;
  let asked: readonly AskedEvent[] = [];

  const openDialog = (question: AskedEvent) => {
    const component = new PermissionDialog({
      question,
      waiting: () => asked.length,
      theme: deps.theme(),
      rows: deps.rows,
      answer(...answer) {
        deps.answer(question, ...answer).catch((error: unknown) => {
          component.reopen();
          deps.answerFailed(error);
        });
      },
    });
    return { id: question.questionId, at: now(), component };
  };

  return {
    container,
    arrange(questions) {
      asked = questions;
      const [question] = questions;
      if (question === undefined || dialog?.id !== question.questionId) dialog = null;
      if (question !== undefined && dialog === null && opened === null) {
        const forMs = deps.lastKeyAt() + TYPING_MS - now();
        if (forMs > 0) setTimeout(deps.redrawSoon, forMs);
        else dialog = openDialog(question);
      }
      const next = dialog?.component ?? opened ?? editor;
      if (next === shown) return;
      shown = next;
      container.clear();
      container.addChild(next);
      tui.setFocus(next);
    },
    open(component) {
      opened = component;
    },
    giveWay(data) {
      const isLetter = decodeKittyPrintable(data) !== undefined || /^[^\p{Cc}]$/u.test(data);
      if (dialog === null || !isLetter || editor.getText() === '' || now() - dialog.at > UNREAD_MS) return false;
      dialog = null;
      return true;
    },
    isTaken: () => dialog !== null || opened !== null,
    close() {
      dialog = null;
      opened = null;
    },
  };
}
