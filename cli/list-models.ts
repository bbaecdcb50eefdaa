// Which models each provider that can be used reports. A provider without its key, or that does not answer, says so in a line.

import type { Config } from '../orchestrator/config.ts';
import { cleanLine } from '../shared/clean-text.ts';
import { placeHere } from './place.ts';

export interface ProviderModels {
  readonly provider: string;
  readonly models: readonly string[];
  /** Why there are none, and what to do. */
  readonly problem?: string;
}

/** Asks all providers that have what they need, at the same time. */
export async function listModels(
  config: Pick<Config, 'providers'>,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  home: string = placeHere().home,
): Promise<readonly ProviderModels[]> {
  const { readStoredKeys } = await import('../orchestrator/stored-keys.ts');
  const { keys } = await readStoredKeys(home);
  const { openProvider, PROVIDER_NAMES, providerNamed } = await import('../llm/known-providers.ts');
  const names = [...new Set([...Object.keys(config.providers), ...PROVIDER_NAMES])];
  const known = names
    .map((name) => providerNamed(name, env, config.providers, keys))
    .filter((found) => found !== undefined);
  return await Promise.all(
    known.map(async (provider): Promise<ProviderModels> => {
      const none = (problem: string) => ({ provider: provider.name, models: [], problem: cleanLine(problem) });
      if (provider.missingKey !== undefined)
        return none(`to use it: odin login ${provider.name}, or set ${provider.missingKey}`);
      const listed = await (await openProvider(provider)).listModels(signal);
      if (!listed.ok) return none(listed.failure.message.replace(`${provider.name}: `, ''));
      return { provider: provider.name, models: listed.value.map((name) => cleanLine(`${provider.name}/${name}`)) };
    }),
  );
}
