// The queues of a workspace, for a board that shows what is in them: opened beside those that work, with a connection of their own.

import type { Queue } from 'bullmq';
import { batchQueue, turnsQueue } from '../keys.ts';
import { openQueue } from '../queue.ts';
import type { RedisHandle } from '../redis.ts';

export interface ShownQueue {
  readonly label: string;
  readonly queue: Queue;
}

export interface ShownQueues {
  readonly all: readonly ShownQueue[];
  close(): Promise<void>;
}

export async function openQueues(handle: RedisHandle, ws: string, root: string): Promise<ShownQueues> {
  const names = [
    ['turns', turnsQueue(ws)],
    ['batches that read', batchQueue(root, 'read')],
    ['batches that edit', batchQueue(root, 'edit')],
  ] as const;
  const all = await Promise.all(names.map(async ([label, name]) => ({ label, queue: await openQueue(handle, name) })));
  return {
    all,
    async close() {
      await Promise.all(all.map(({ queue }) => queue.close()));
    },
  };
}
