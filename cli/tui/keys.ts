// The keys that mean the same wherever the cursor is. Everything else is the editor's, or that of the dialog in its place.

import { matchesKey } from '@earendil-works/pi-tui';
import { cleanLine } from '../../shared/clean-text.ts';
import { type Desk, nextMode } from './desk.ts';
import { typeable } from './typeable.ts';

export interface KeysView {
  isRunning(): boolean;
  hasDialog(): boolean;
  /** What the user asked last. */
  lastPrompt(): string;
}

const EMPTY_PASTE = '\u001b[200~\u001b[201~';

/** Two of the same key within this are meant together. */
const TWICE_MS = 1_500;

/** Returns what takes a key: true when it was for nobody else. */
export function createKeys(desk: Desk, view: KeysView): (data: string) => boolean {
  let last = { key: '', at: 0 };
  const isTwice = (key: string): boolean => {
    const now = Date.now();
    const twice = last.key === key && now - last.at < TWICE_MS;
    last = { key: twice ? '' : key, at: now };
    return twice;
  };
  const told = (doing: Promise<unknown>) => {
    doing.catch((error: Error) => desk.say(cleanLine(error.message), 'bad'));
    return true;
  };

  return (data) => {
    if (view.hasDialog()) return false;
    const { editor } = desk;
    if (matchesKey(data, 'shift+tab')) {
      desk.setMode(nextMode(desk.mode()));
      return true;
    }
    if (matchesKey(data, 'ctrl+o')) {
      desk.toggleFolds();
      return true;
    }
    if (matchesKey(data, 'ctrl+l')) {
      desk.redraw();
      return false;
    }
    // A terminal that is told to paste a picture pastes nothing.
    if (matchesKey(data, 'ctrl+v') || matchesKey(data, 'alt+v') || data === EMPTY_PASTE) {
      return told(desk.commands().pastePicture());
    }
    if (matchesKey(data, 'alt+up')) return told(desk.commands().editLastQueued());
    if (matchesKey(data, 'ctrl+s')) return told(desk.commands().sayNow());
    if (matchesKey(data, 'ctrl+d') && editor.getText() === '') {
      desk.leave();
      return true;
    }
    if (matchesKey(data, 'ctrl+c')) {
      if (editor.getText() !== '') {
        editor.setText('');
        desk.redraw();
      } else if (isTwice('ctrl+c')) desk.leave();
      else desk.hint(view.isRunning() ? 'Ctrl-C again leaves, Esc interrupts' : 'Ctrl-C again leaves');
      return true;
    }
    if (!matchesKey(data, 'escape') || editor.isShowingAutocomplete()) return false;
    if (view.isRunning()) {
      last = { key: '', at: 0 };
      return told(desk.odin.cancel(desk.session.sid(), 'Esc'));
    }
    if (editor.getText() === '' && isTwice('escape')) {
      editor.setText(typeable(view.lastPrompt()));
      desk.redraw();
    } else if (editor.getText() === '' && view.lastPrompt() !== '') desk.hint('Esc again edits the last message');
    return true;
  };
}
