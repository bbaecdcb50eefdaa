// The queues of remote subagents: one for each project and access, as for batches, so that a worker is given those of its own projects and
// of the modes that it may run.

import { type JobQueue, openJobQueue } from '../../jobs/job-queue.ts';
import type { Access } from '../../jobs/workers.ts';
import { agentsQueue } from '../../keys.ts';
import type { Log } from '../../log.ts';
import type { RedisHandle } from '../../redis.ts';
import { type AgentJob, agentJobSchema, type RemoteOrder } from './order.ts';
import { jobOfOrder } from './store.ts';

export const openAgentQueue = (
  handle: RedisHandle,
  {
    root,
    access,
    key,
    log,
  }: { readonly root: string; readonly access: Access; readonly key: Buffer; readonly log: Log },
): Promise<JobQueue<AgentJob>> =>
  openJobQueue(handle, {
    name: agentsQueue(root, access),
    key,
    schema: agentJobSchema,
    onError: (error) => log('the queue of agents reports', { error: error.message }),
    onRefused: (id, why) => log('a job was refused', { id, why }),
  });

/** Adds the job of an order, or one more when that has ended without the order being done. */
export async function addAgentJob(queue: JobQueue<AgentJob>, order: RemoteOrder): Promise<void> {
  for (let n = 0; n < MOST_JOBS; n++) {
    const id = `${order.rid}_${n}`;
    const [state] = await queue.statesOf([id]);
    if (state === 'ended') continue;
    if (state === 'absent') await queue.add([{ id, data: jobOfOrder(order), priority: 1 }]);
    return;
  }
}

const MOST_JOBS = 100;
