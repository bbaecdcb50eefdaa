// /help, /mode, /theme, /clear, /quit.

import { isMode, MODES } from '../../../shared/modes.ts';
import { UserError } from '../../../shared/outcome.ts';
import { isThemeName, THEME_NAMES } from '../theme.ts';
import type { SlashCommand } from './command.ts';

const KEYS = `Enter sends, or queues while something runs; Ctrl-S says it to what runs, with its next step · Shift-Enter, Ctrl-J or \\ Enter begins a new line
Shift-Tab changes the mode: ask and plan only read, edit changes files · Esc interrupts · Esc Esc edits the last message
Ctrl-O opens and folds calls and thoughts · Alt-Up edits the last queued message · Ctrl-C twice or Ctrl-D leaves
Up and Down walk through what was typed · Ctrl-A Ctrl-E Ctrl-W Ctrl-U Ctrl-K Ctrl-Y edit · Ctrl-- undoes
Ctrl-V, or Alt-V where the terminal keeps that, takes the picture in the clipboard along; @shot.png one in a file`;

export const basicCommands: readonly SlashCommand[] = [
  {
    name: 'help',
    help: 'what can be typed',
    run(desk) {
      const rows = desk.commands().list.map(({ name, takes = '', help }) => {
        const head = `/${name}${takes === '' ? '' : ` ${takes}`}`;
        return `${head.padEnd(24)} ${help}`;
      });
      desk.say(`${rows.join('\n')}\n\n${KEYS}`);
    },
  },
  {
    name: 'mode',
    takes: 'ask|plan|edit',
    help: 'the mode of what is typed next (Shift-Tab)',
    run(desk, rest) {
      if (isMode(rest)) return desk.setMode(rest);
      if (rest !== '') throw new UserError(`modes are ${MODES.join(', ')}. Now: ${desk.mode()}.`);
      const what = { ask: 'answers, only reads', plan: 'plans, only reads', edit: 'changes files' };
      desk.pick({
        title: 'Mode of what is typed next',
        items: MODES.map((mode) => ({ value: mode, label: mode, description: what[mode] })),
        onPick: (mode) => isMode(mode) && desk.setMode(mode),
      });
    },
  },
  {
    name: 'theme',
    takes: THEME_NAMES.join('|'),
    help: 'colours for a dark or a light background, or none',
    run(desk, rest) {
      if (isThemeName(rest)) return desk.setTheme(rest);
      if (rest !== '') throw new UserError(`themes are ${THEME_NAMES.join(', ')}. Now: ${desk.theme().name}.`);
      desk.pick({
        title: 'Theme',
        items: THEME_NAMES.map((name) => ({ value: name, label: name })),
        onPick: (name) => isThemeName(name) && desk.setTheme(name),
      });
    },
  },
  {
    name: 'clear',
    help: 'a new session on an empty screen; the old one stays in /sessions',
    run(desk) {
      desk.session.open(desk.odin.newSession(), true);
    },
  },
  { name: 'quit', help: 'leave; what is not done goes on with odin --continue', run: (desk) => desk.leave() },
];
