// What the commands of `odin batch` and `odin worker` share: Redis, the batches in it, their queues, and a runner for those that run tasks.

import type { ModelPair, PermissionPolicy } from '../orchestrator/api.ts';
import type { QueueOf } from '../orchestrator/batch/jobs.ts';
import type { BatchStore } from '../orchestrator/batch/store.ts';
import type { JobRunner } from '../orchestrator/jobs/job-host.ts';
import type { Access } from '../orchestrator/jobs/workers.ts';
import type { Log } from '../orchestrator/log.ts';
import type { RedisHandle } from '../orchestrator/redis.ts';
import { cleanLine } from '../shared/clean-text.ts';
import { createScrub } from '../shared/scrub.ts';
import { type Place, placeHere } from './place.ts';

export interface Batches {
  readonly place: Place;
  readonly handle: RedisHandle;
  readonly store: BatchStore;
  readonly queueOf: QueueOf;
  readonly log: Log;
  run(options: RunHere): Promise<JobRunner>;
  /** Takes subagents of other Odins. */
  runAgents(options: Omit<RunHere, 'roles'>): Promise<JobRunner>;
}

export interface RunHere {
  readonly projects: ReadonlyMap<string, string>;
  readonly access: Access;
  readonly permission: PermissionPolicy;
  readonly models: ModelPair;
  readonly concurrency: number;
  readonly roles: readonly string[];
  readonly version: string;
}

export const tell = (line: string): void => void process.stderr.write(`${cleanLine(line)}\n`);

/** Opens what is needed, lets `use` work with it, and leaves in every case. `keyFile`: another than the home's own. */
export async function withBatches<T>(use: (batches: Batches) => Promise<T>, keyFile?: string): Promise<T> {
  const place = placeHere();
  const [
    { connectRedis },
    { ensureJobKey, jobKeyFile, readJobKey },
    { openBatchQueues },
    { openBatchStore },
    { openLog },
  ] = await Promise.all([
    import('../orchestrator/redis.ts'),
    import('../orchestrator/jobs/job-key.ts'),
    import('../orchestrator/batch/jobs.ts'),
    import('../orchestrator/batch/store.ts'),
    import('../orchestrator/log.ts'),
  ]);
  const isNewKey = keyFile === undefined && readJobKey(jobKeyFile(place.home)) === null;
  const key = keyFile === undefined ? ensureJobKey(place.home) : readJobKey(keyFile);
  if (key === null) {
    const { UserError } = await import('../shared/outcome.ts');
    throw new UserError(`There is no key in ${keyFile}. Copy job-key of the state folder of the machine that submits.`);
  }
  if (isNewKey && place.redisUrl !== undefined) {
    tell(
      `A new key is in ${jobKeyFile(place.home)}. Machines that share this Redis need the same one: copy it (docs/workers.md).`,
    );
  }
  const handle = await connectRedis({ ...place, notice: tell });
  const logFile = openLog(place.home, Boolean(process.env['ODIN_LOG']), createScrub(process.env));
  const log: Log = (message, detail) => {
    // A refused job may be an attack: whoever runs the worker sees it.
    if (message === 'a job was refused')
      tell(`odin: job ${String(detail['id'])} was refused: ${String(detail['why'])}`);
    logFile.log(message, detail);
  };
  const queues = openBatchQueues(handle, { key, log });
  try {
    return await use({
      place,
      handle,
      store: openBatchStore(handle.client),
      queueOf: queues.queueOf,
      log,
      async run(options) {
        const { startBatchRunner } = await import('../orchestrator/batch/runner.ts');
        return startBatchRunner({ ...options, home: place.home, handle, key, log, notice: tell });
      },
      async runAgents(options) {
        const { startAgentRunner } = await import('../orchestrator/agents/remote/runner.ts');
        return startAgentRunner({ ...options, home: place.home, handle, key, log, notice: tell });
      },
    });
  } finally {
    await queues.close();
    await handle.close();
    await logFile.flushed();
  }
}
