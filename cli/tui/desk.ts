// What the parts of the interface share: how it was opened, and what keys and slash commands may do.

import type { Editor, Terminal } from '@earendil-works/pi-tui';
import type { Odin } from '../../orchestrator/api.ts';
import type { ImageRef } from '../../shared/images.ts';
import type { Limits } from '../../shared/limits.ts';
import { MODES, type Mode } from '../../shared/modes.ts';
import type { Commands } from './commands/all.ts';
import type { PickerOptions } from './components/picker.ts';
import type { PromptOptions } from './components/prompt.ts';
import type { SessionOnScreen } from './session.ts';
import type { Theme, ThemeName } from './theme.ts';
import type { NoteItem } from './view.ts';

export interface ModelNames {
  readonly model: string;
  readonly smallModel: string;
  readonly fallbackModels?: readonly string[];
}

export interface AppOptions {
  readonly terminal: Terminal;
  /** Comes up while the first words are typed. */
  readonly odin: Promise<Odin>;
  /** Id of a session or `last`; null: a new one. */
  readonly session: string | null;
  readonly mode: Mode;
  readonly limits: Limits;
  readonly models: ModelNames | null;
  /** Takes up the keys that are stored by now; returns the models of what is typed next. Absent: nothing runs here. */
  reopenModels?(): Promise<ModelNames>;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  /** What commands are confined by, for the status line. */
  readonly sandbox: Promise<string>;
}

/** What the keys and the slash commands may do. `odin` and `session` throw UserError before it is ready. */
export interface Desk {
  /** Odin is there. */
  ready(): Promise<void>;
  readonly odin: Odin;
  readonly session: SessionOnScreen;
  readonly editor: Editor;
  readonly options: AppOptions;
  mode(): Mode;
  setMode(mode: Mode): void;
  models(): ModelNames | null;
  setModels(models: ModelNames): void;
  theme(): Theme;
  setTheme(name: ThemeName): void;
  say(text: string, tone?: NoteItem['tone']): void;
  /** The number of the message; null when the interface is leaving. */
  submit(body: string, mode?: Mode, images?: readonly ImageRef[]): Promise<number | null>;
  /** What stands in the editor is sent: the editor is empty, and it can be walked back to. */
  took(text: string): void;
  /** Those that were pasted, by the mark that stands in the text for each. */
  readonly pictures: Map<string, ImageRef>;
  /** Puts a list in the place of the editor. */
  pick(options: Omit<PickerOptions, 'theme' | 'rows' | 'onCancel'> & { onCancel?(): void }): void;
  /** Asks for a line in the place of the editor. */
  prompt(options: Omit<PromptOptions, 'theme'>): void;
  /** The editor again. */
  closePicker(): void;
  hint(text: string): void;
  toggleFolds(): void;
  commands(): Commands;
  redraw(): void;
  /** A key was pressed just now. */
  isTyping(): boolean;
  leave(code?: number): void;
  /** Aborts when the interface is left. */
  readonly left: AbortSignal;
}

/** The mode after this one. */
export const nextMode = (mode: Mode): Mode => MODES[(MODES.indexOf(mode) + 1) % MODES.length] ?? 'ask';
