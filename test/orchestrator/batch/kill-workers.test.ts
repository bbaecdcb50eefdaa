import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { keys } from '../../../orchestrator/keys.ts';
import { withBatchWorld } from '../../support/batch-world.ts';
import { killWorkers, startWorker } from '../../support/kill-workers.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';
import { until } from '../../support/until.ts';

test('SPEC O19, C5: workers killed in the middle of their tasks neither lose one nor do one twice', async () => {
  const random = randomFrom(printedSeed('kill-workers'));
  const result = await killWorkers({ tasks: 20, kills: 3, workers: 2, concurrency: 4, random });
  expect(result).toMatchObject({ kills: 3, lost: 0, doubled: 0, unknown: 0, stray: 0 });
  // A call that was under way when its worker died is made again; nothing else is.
  expect(result.extraRequests).toBeLessThanOrEqual(3 * 4);
});

test('SPEC O25: a worker that is told to stop twice puts its task back, and the next one goes on with its session', async () => {
  let isSlow = true;
  await withBatchWorld(
    () => (isSlow ? { text: 'late', delayMs: 600_000 } : { text: 'Done.' }),
    async (world) => {
      const { bid } = await world.submit([{ id: 'one', prompt: 'question' }]);
      const first = startWorker(world, 2);
      await until(() => world.server.requests.length > 0);
      expect((await world.store.status(bid))?.running).toBe(1);
      if (process.platform === 'linux') {
        expect(readFileSync(`/proc/${first.pid}/cmdline`, 'utf8')).toContain('--max-semi-space-size=4');
        expect(readFileSync(`/proc/${first.pid}/environ`, 'utf8').split('\0')).toContain('MALLOC_ARENA_MAX=1');
      }
      const exited = once(first, 'exit');
      first.kill('SIGTERM');
      const workers = async () => Object.values(await world.handle.client.hgetall(keys.workers)).join();
      await until(async () => (await workers()).includes('"draining":true'));
      first.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
      const status = await world.store.status(bid);
      expect([status?.running, status?.endedAt, await workers()]).toEqual([0, null, '']);
      isSlow = false;
      await world.run();
      expect((await world.ended(bid)).counts.completed).toBe(1);
      const [result] = await world.store.results(bid, ['one']);
      const sessions = await world.store.sessions(bid);
      expect([result?.answer, [...sessions]]).toEqual(['Done.', [['one', [result?.session]]]]);
    },
  );
});
