// /login: the steps of cli/login in lists and prompts of the interface. The key is typed where nothing shows it, and is in no history.

import { cleanLine } from '../../../shared/clean-text.ts';
import type { LoginTalk } from '../../login/log-in.ts';
import { placeHere } from '../../place.ts';
import type { Desk } from '../desk.ts';
import type { SlashCommand } from './command.ts';

export const loginCommands: readonly SlashCommand[] = [
  { name: 'login', takes: '[provider]', help: "keep a provider's key: it is tested first", run: login },
];

async function login(desk: Desk, rest: string): Promise<void> {
  const { loginAt } = await import('../../commands/login.ts');
  const place = placeHere(desk.options.env, desk.options.cwd);
  try {
    await loginAt(place, rest === '' ? {} : { provider: rest }, talkOf(desk));
  } finally {
    desk.closePicker();
  }
  const before = desk.models();
  const models = await desk.options.reopenModels?.();
  if (models === undefined || models.model === before?.model) return;
  if (before === null) return desk.setModels(models);
  desk.pick({
    title: 'Model of what is typed next',
    items: [before.model, models.model].map((model) => ({
      value: model,
      label: model,
      description: model === before.model ? 'now' : 'of this login',
    })),
    onPick: (model) => desk.setModels(model === before.model ? before : models),
  });
}

function talkOf(desk: Desk): LoginTalk {
  const asked = (title: string, isSecret: boolean, suggested = '') =>
    new Promise<string | null>((onDone) => desk.prompt({ title, suggested, isSecret, onDone }));
  return {
    choose: (title, choices) =>
      new Promise((resolve) =>
        desk.pick({
          title,
          items: choices.map(({ name, title: description }) => ({ value: name, label: name, description })),
          onPick: resolve,
          onCancel: () => resolve(null),
        }),
      ),
    line: (title, suggested) =>
      asked(suggested === '' ? title : `${title} (Enter: ${cleanLine(suggested)})`, false, suggested),
    secret: (title) => asked(title.replace(/:\s*$/, ''), true),
    say: (line) => desk.say(line),
  };
}
