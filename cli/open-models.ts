// The models of a run, from what the person said, the settings, the environment and the stored keys; the order is llm/choose-model.ts's. Loads no SDK.

import type { ModelPair } from '../orchestrator/api.ts';
import type { Config } from '../orchestrator/config.ts';
import { UserError } from '../shared/outcome.ts';
import { EXIT } from './exit-codes.ts';
import { modelGuide } from './model-guide.ts';
import { placeHere } from './place.ts';

export interface ModelFlags {
  readonly model?: string;
  readonly smallModel?: string;
  readonly fallbackModel?: readonly string[];
}

export interface FoundModels extends ModelPair {
  /** What named it: `--model`, `odinconfig.json`, `ANTHROPIC_API_KEY`… */
  readonly source: string;
  readonly fallbackModels: readonly string[];
}

/** No model was found at all; its message is the guide. */
export class NoModel extends UserError {}

/** Throws UserError, NoModel with the guide when no model was found at all. */
export async function openModels(
  flags: ModelFlags,
  config: Pick<Config, 'project' | 'user' | 'providers'>,
  home: string = placeHere().home,
  env: NodeJS.ProcessEnv = process.env,
): Promise<FoundModels> {
  const { readStoredKeys } = await import('../orchestrator/stored-keys.ts');
  const [{ chooseModel }, { keys, problems }] = await Promise.all([
    import('../llm/choose-model.ts'),
    readStoredKeys(home),
  ]);
  for (const line of problems) process.stderr.write(`${line}\n`);
  const chosen = await chooseModel({
    flagModel: flags.model,
    flagSmallModel: flags.smallModel,
    flagFallbackModels: flags.fallbackModel,
    projectConfig: config.project,
    userConfig: {
      model: config.user.model,
      smallModel: config.user.smallModel,
      fallbackModels: config.user.fallbackModels,
      providers: config.providers,
    },
    env,
    keys,
  });
  if (chosen.ok) {
    for (const line of chosen.value.skipped) process.stderr.write(`${line}\n`);
    return chosen.value;
  }
  const { code, message } = chosen.failure;
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY;
  throw code === 'no_model' ? new NoModel(modelGuide(isTerminal), EXIT.usage) : new UserError(message, EXIT.usage);
}
