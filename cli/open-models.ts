// The models of a run, from what the person said, the settings and the environment; the order is llm/choose-model.ts's. Loads no SDK.

import type { ModelPair } from '../orchestrator/api.ts';
import type { Config } from '../orchestrator/config.ts';
import { UserError } from '../shared/outcome.ts';
import { EXIT } from './exit-codes.ts';
import { modelGuide } from './model-guide.ts';

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

/** Throws UserError, with the guide when no model was found at all. */
export async function openModels(
  flags: ModelFlags,
  config: Pick<Config, 'project' | 'user' | 'providers'>,
  env: NodeJS.ProcessEnv = process.env,
): Promise<FoundModels> {
  const { chooseModel } = await import('../llm/choose-model.ts');
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
  });
  if (chosen.ok) {
    for (const line of chosen.value.skipped) process.stderr.write(`${line}\n`);
    return chosen.value;
  }
  const { code, message } = chosen.failure;
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY;
  throw new UserError(code === 'no_model' ? modelGuide(isTerminal) : message, EXIT.usage);
}
