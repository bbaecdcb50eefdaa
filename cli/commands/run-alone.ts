// The process of one message that was in several crashes. No command for people: the owner of a workspace starts it and tells it on its
// stdin which message to run (orchestrator/quarantine.ts).

import { openModels } from '../open-models.ts';
import { placeHere } from '../place.ts';
import { settingsOf } from '../settings.ts';

export async function runAloneCommand(): Promise<number> {
  const { runAlone } = await import('../../orchestrator/run-alone.ts');
  const place = placeHere();
  return runAlone(process.stdin, async ({ models, permission }) => {
    const { model, smallModel, fallbackModels } = models;
    const found = await openModels({ model, smallModel, fallbackModel: fallbackModels }, await settingsOf(place));
    return { ...place, models: found, permission };
  });
}
