// `odin models`: what the providers report, with the pair that a run would use marked.

import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { listModels } from '../list-models.ts';
import { openModels } from '../open-models.ts';
import { placeHere } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { settingsOf } from '../settings.ts';

export async function models({ json }: { readonly json?: boolean }): Promise<number> {
  const config = await settingsOf(placeHere());
  const none = (error: unknown) => {
    if (error instanceof UserError) return error;
    throw error;
  };
  const [chosen, listed] = await Promise.all([
    openModels({}, config).catch(none),
    listModels(config, process.env, new AbortController().signal),
  ]);
  if (json === true) {
    const { model = null, smallModel = null } = chosen instanceof UserError ? {} : chosen;
    process.stdout.write(jsonLine({ model, smallModel, providers: listed }));
    return chosen instanceof UserError ? EXIT.usage : EXIT.completed;
  }
  for (const { provider, models, problem } of listed) {
    process.stdout.write(`${provider}${problem === undefined ? '' : `: ${problem}`}\n`);
    for (const model of models.toSorted()) process.stdout.write(`  ${model}${markOf(model, chosen)}\n`);
  }
  if (chosen instanceof UserError) throw chosen;
  process.stderr.write(`A run uses ${chosen.model} (from ${chosen.source}) and ${chosen.smallModel} for small jobs.\n`);
  return EXIT.completed;
}

function markOf(model: string, chosen: UserError | { readonly model: string; readonly smallModel: string }): string {
  if (chosen instanceof UserError) return '';
  const marks = [...(model === chosen.model ? ['model'] : []), ...(model === chosen.smallModel ? ['small model'] : [])];
  return marks.length === 0 ? '' : `  ← ${marks.join(', ')}`;
}
