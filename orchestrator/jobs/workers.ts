// Which workers there are (SPEC O25): each says every two seconds that it lives and what it does. Ages are by Redis' clock.

import * as z from 'zod';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

/** edit: it writes. What a process may do, and what a job needs; it decides the queue. */
export type Access = 'read' | 'edit';

const workerSchema = z.object({
  id: z.string(),
  host: z.string(),
  pid: z.number(),
  startTime: z.string(),
  version: z.string(),
  roles: z.array(z.string()),
  /** Projects it works for, as they are named in jobs. */
  roots: z.array(z.string()),
  /** read: it takes nothing that writes. Absent: edit, as of old. */
  access: z.enum(['read', 'edit']).optional(),
  concurrency: z.number(),
  running: z.number(),
  done: z.number(),
  draining: z.boolean(),
  since: z.number(),
});

export type WorkerInfo = z.infer<typeof workerSchema>;

export interface SeenWorker extends WorkerInfo {
  /** Milliseconds since its last sign of life. */
  readonly silentMs: number;
}

export const BEAT_MS = 2_000;
/** A worker that was silent for so long does not count as there. */
const GONE_MS = 15_000;

/** Whether it takes work of this kind in the project; `access` is what the work needs. */
export const serves = (
  { roles, roots, draining, access: most = 'edit' }: SeenWorker,
  role: 'agents' | 'batch',
  { root, access }: { readonly root: string; readonly access: Access },
): boolean => roles.includes(role) && roots.includes(root) && !draining && (most === 'edit' || access === 'read');

/** Those that are there; with `self`, that one gives a sign of life first. */
export async function beat(redis: OdinRedis, self: WorkerInfo | null): Promise<readonly SeenWorker[]> {
  const reply = await redis.obbeat(
    [keys.workers, keys.workerBeats],
    [self?.id ?? '', self === null ? '' : JSON.stringify(self), GONE_MS],
  );
  const seen: SeenWorker[] = [];
  for (let i = 0; i + 2 < reply.length; i += 3) {
    const parsed = workerSchema.safeParse(JSON.parse(reply[i + 1] ?? '{}'));
    if (parsed.success) seen.push({ ...parsed.data, silentMs: Number(reply[i + 2]) });
  }
  return seen.toSorted((a, b) => a.since - b.since);
}

/** The worker has left. */
export async function leave(redis: OdinRedis, id: string): Promise<void> {
  await redis.multi().hdel(keys.workers, id).hdel(keys.workerBeats, id).exec();
}
