// The first start in a terminal: no model is set up, so a login is offered, or the demo. Elsewhere the guide says what to do.

import type { Config } from '../orchestrator/config.ts';
import { loginAt } from './commands/login.ts';
import { EXIT } from './exit-codes.ts';
import { terminalTalk } from './login/terminal-talk.ts';
import { type FoundModels, type ModelFlags, NoModel, openModels } from './open-models.ts';
import type { Place } from './place.ts';

const CHOICES = [
  { name: 'login', title: 'paste the key of a provider, or name a server; it is tested and kept for you' },
  { name: 'demo', title: 'see Odin work on this folder with a scripted model' },
];

/** The models, or the exit code when the user chose something else than to go on. Throws UserError like openModels. */
export async function modelsOrOffer(flags: ModelFlags, config: Config, place: Place): Promise<FoundModels | number> {
  try {
    return await openModels(flags, config, place.home);
  } catch (error) {
    const { stdin, stderr } = process;
    if (!(error instanceof NoModel) || stdin.isTTY !== true || stderr.isTTY !== true) throw error;
    const talk = terminalTalk(stdin, stderr);
    talk.say('No model is set up yet. Odin needs one to plan and answer.');
    const choice = await talk.choose('What now?', CHOICES);
    if (choice === null) {
      talk.say(error.message);
      return EXIT.usage;
    }
    if (choice === 'demo') return await (await import('./commands/demo.ts')).demo(undefined, {});
    await loginAt(place, {}, talk);
    return await openModels(flags, config, place.home);
  }
}
