// The settings that hold where Odin was started; a mistake in them ends the command with its place.

import { type Config, loadConfig } from '../orchestrator/config.ts';
import { findRoot } from '../orchestrator/workspace.ts';
import { UserError } from '../shared/outcome.ts';
import type { Place } from './place.ts';

export async function settingsOf({ cwd, home }: Place): Promise<Config> {
  const config = await loadConfig({ projectRoot: findRoot(cwd), home });
  if (!config.ok) throw new UserError(config.failure.message);
  return config.value;
}
