// Where Odin was started and where it keeps its state, and an orchestrator opened there for as long as a command needs it.

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ModelPair, Odin, OpenOptions } from '../orchestrator/api.ts';
import { cleanLine } from '../shared/clean-text.ts';

export interface Place {
  readonly cwd: string;
  readonly home: string;
  readonly redisUrl?: string;
}

/** From the environment: ODIN_HOME, REDIS_URL. */
export function placeHere(env: NodeJS.ProcessEnv = process.env, cwd: string = process.cwd()): Place {
  const home = env.ODIN_HOME ? resolve(cwd, env.ODIN_HOME) : join(homedir(), '.odin');
  return { cwd, home, ...(env.REDIS_URL ? { redisUrl: env.REDIS_URL } : {}) };
}

type More = Pick<OpenOptions, 'commandsOnly' | 'permission' | 'onQuestion' | 'titles'>;

/** Opens Odin. Without models it submits and follows only. */
export async function openHere(
  place: Place,
  models: ModelPair | null,
  more: More & Pick<OpenOptions, 'notice'>,
): Promise<Odin> {
  const { openOdin } = await import('../orchestrator/odin.ts');
  // For messages that were in several crashes.
  const alone = [process.execPath, process.argv[1] ?? '', 'run-alone'];
  return await openOdin({ ...place, ...(models === null ? {} : { models, alone }), ...more });
}

/** The same; lets `use` work with it, and leaves in every case. */
export async function withOdin<T>(
  place: Place,
  models: ModelPair | null,
  use: (odin: Odin) => Promise<T>,
  more: More = {},
): Promise<T> {
  const notice = (line: string) => void process.stderr.write(`${cleanLine(line)}\n`);
  const odin = await openHere(place, models, { ...more, notice });
  try {
    return await use(odin);
  } finally {
    await odin.close();
  }
}
