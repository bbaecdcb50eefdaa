// `odin` in a terminal without a prompt: opens the interface at once and Odin behind it, and closes both.

import { ProcessTerminal } from '@earendil-works/pi-tui';
import { limitsOf } from '../budget-options.ts';
import type { RunOptions } from '../commands/run.ts';
import { modelsOrOffer } from '../first-start.ts';
import { type FoundModels, openModels } from '../open-models.ts';
import { permissionPolicy } from '../permission-options.ts';
import { openHere, placeHere } from '../place.ts';
import { VERSION } from '../program.ts';
import { settingsOf } from '../settings.ts';
import { type App, startApp } from './app.ts';

export async function runInterface(options: RunOptions): Promise<number> {
  const place = placeHere();
  const config = await settingsOf(place);
  const found = await modelsOrOffer(options, config, place);
  if (typeof found === 'number') return found;
  // Whoever logs in within the interface has the new key in use from then on.
  let current = found;
  const models: FoundModels = {
    ...found,
    provider: (name) => current.provider(name),
    access: (name) => current.access?.(name),
  };
  const permission = await permissionPolicy(options, true);
  let app: App | null = null;
  const early: string[] = [];
  const odin = openHere(place, models, {
    permission,
    titles: true,
    onQuestion: (seen) => app?.onQuestion(seen),
    notice: (line) => (app === null ? early.push(line) : app.notice(line)),
  });
  odin.catch(() => {});
  app = startApp({
    terminal: new ProcessTerminal(),
    odin,
    session: options.continue === true ? 'last' : (options.session ?? null),
    mode: options.mode ?? config.defaultMode,
    limits: limitsOf(options, config),
    models: namesOf(found),
    async reopenModels() {
      current = await openModels(options, config, place.home);
      return namesOf(current);
    },
    cwd: place.cwd,
    env: process.env,
    version: VERSION,
    sandbox: odin.then(sandboxWord, () => ''),
  });
  for (const line of early) app.notice(line);
  const onTerminate = () => app.leave();
  process.on('SIGTERM', onTerminate).on('SIGHUP', onTerminate);
  try {
    return await app.done;
  } finally {
    process.off('SIGTERM', onTerminate).off('SIGHUP', onTerminate);
    await odin.then(
      (opened) => opened.close(),
      () => {},
    );
  }
}

const namesOf = ({ model, smallModel, fallbackModels }: FoundModels) => ({ model, smallModel, fallbackModels });

async function sandboxWord(): Promise<string> {
  const { findSandbox } = await import('../../orchestrator/exec/sandbox.ts');
  const { sandbox } = await findSandbox();
  return sandbox === null ? 'no sandbox' : 'sandbox';
}
