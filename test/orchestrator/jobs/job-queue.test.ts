import { expect, test } from '@jest/globals';
import * as z from 'zod';
import { type JobProcessor, openJobQueue } from '../../../orchestrator/jobs/job-queue.ts';
import { startTestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

const schema = z.strictObject({ item: z.string() });

test('SPEC O25: a job whose lock is lost, or held but not renewed, goes on at once, and never twice at the same moment', async () => {
  const redis = await startTestRedis();
  const { handle } = redis;
  // What has a write under way hears nothing else until that is taken.
  const aside = handle.client.duplicate();
  const queue = await openJobQueue(handle, {
    ...{ name: 'jobs', key: Buffer.alloc(32, 7), schema, fenceMs: 50 },
    onError: () => {},
    onRefused: (id, why) => expect(`${id}: ${why}`).toBe('nothing is refused'),
  });
  const runs = new Map<string, number>();
  const now = new Set<string>();
  const together: string[] = [];
  /** The first run of each meets its mishap and is told; the next ends the job. */
  const first: Record<string, (token: string, signal: AbortSignal) => Promise<'done' | 'back'>> = {
    // Redis takes nothing for longer than a lock may go without a renewal, and takes it again before the lock has run out.
    async unheard(_, signal) {
      await until(async () => {
        await aside.client('PAUSE', 60_000, 'WRITE');
        return signal.aborted;
      });
      await aside.client('UNPAUSE');
      return 'back';
    },
    // Somebody who took this process for dead has put it back: it comes here again, while it still runs.
    async again(token, signal) {
      await queue.putBack('again', token);
      await until(() => signal.aborted);
      return 'done';
    },
  };
  const processor: JobProcessor<z.infer<typeof schema>> = async ({ id, token }, signal) => {
    if (now.has(id)) together.push(id);
    now.add(id);
    const run = (runs.get(id) ?? 0) + 1;
    runs.set(id, run);
    const end = run === 1 ? await first[id]?.(token, signal) : 'done';
    now.delete(id);
    return end ?? 'done';
  };
  queue.work(processor, 2);
  try {
    for (const id of ['unheard', 'again']) {
      await queue.add([{ id, data: { item: id }, priority: 5 }]);
      await until(async () => (runs.get(id) ?? 0) > 1 && (await queue.statesOf([id]))[0] === 'ended');
    }
    expect(together).toEqual([]);
  } finally {
    await queue.close();
    aside.disconnect();
    await redis.close();
  }
});
