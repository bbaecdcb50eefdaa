// The page in a real browser: batches, their tasks and the sessions of these, workers.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { chooseModel } from '../../llm/choose-model.ts';
import type { ScriptedAnswer } from '../../llm/scripted/script.ts';
import { archiveSession } from '../../orchestrator/archive-move.ts';
import { openBatchStore } from '../../orchestrator/batch/store.ts';
import { beat } from '../../orchestrator/jobs/workers.ts';
import { workspaceId } from '../../orchestrator/keys.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { ulid } from '../../shared/ids.ts';
import { ask, JSON_TYPE, logIn, openDashboard } from '../support/dashboard.ts';
import { EVIL, faults, inBrowser, openPage, shot, useBrowser } from '../support/dashboard-page.ts';
import { type World, withWorld } from '../support/odin-world.ts';

const browser = useBrowser();

inBrowser(
  'O25: a batch is watched live, a task’s session too and from the archive, failures are read, results downloaded; other projects’ are not',
  async () => {
    const hold = Promise.withResolvers<void>();
    const script = async (): Promise<ScriptedAnswer> => {
      await hold.promise;
      return { text: 'There are three files.' };
    };
    await withWorld({ script }, async (world: World) => {
      const owner = await world.open({ models: false });
      const { worker, sid } = await beginTask(world, 'Count the files');
      const redis = await connectRedis({ home: world.home, notice: () => {} });
      const store = openBatchStore(redis.client);
      const base = '0'.repeat(40);
      const tasks = [1, 2, 3, 4].map((line) => ({
        ...{ id: `t${line}`, line, prompt: 'x', mode: 'ask' as const, base, limits: {}, priority: 0, needs: [] },
        root: owner.root,
      }));
      const batch = { hash: 'h', caps: {}, tasks };
      await store.create({ ...batch, bid: 'ours', name: `Count the files of all packages ${EVIL}`, root: owner.root });
      await store.create({ ...batch, bid: 'theirs', name: 'of another project', root: '/elsewhere' });
      const info = {
        id: 'w1',
        host: 'box',
        pid: 7,
        startTime: '1',
        version: '0',
        roles: ['read'],
        roots: [owner.root],
      };
      const worksAs = { ...info, concurrency: 4, running: 1, done: 2, draining: false, since: Date.now() };
      // A worker that is silent for long is forgotten.
      const beats = setInterval(() => void beat(redis.client, worksAs), 500);
      const run = { worker: 'w1', host: 'box', pid: 7, startTime: '1', job: 'j', token: 't', at: Date.now() };
      const finish = async (id: string, status: 'completed' | 'failed', answer: string) => {
        const claim = await store.claim('ours', id, 0, run, { ws: 'w', fresh: ulid() });
        if (claim.status !== 'ok') throw new Error(claim.status);
        const end = {
          reason: status,
          files: [],
          base,
          costUsd: 0.5,
          tokens: 10,
          steps: 1,
          session: id === 't2' ? sid : null,
          worker: 'w1',
        };
        const times = { startedAt: 1, endedAt: Date.now() };
        const line = Number(id.slice(1));
        await store.finish('ours', { id, line, status, answer, ...end, ...times }, claim.epoch, '');
      };
      await finish('t1', 'completed', 'one');
      const dashboard = await openDashboard(world);
      const context = await browser().newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true });
      const { page, complaints } = await openPage(context, dashboard.link());
      const panel = page.locator('#batches');
      await panel.getByText('1 of 4', { exact: true }).waitFor();
      await store.claim('ours', 't2', 0, run, { ws: workspaceId(worker.root), fresh: sid });
      await panel.getByText('Tasks', { exact: true }).click();
      await panel.getByRole('link', { name: 't2' }).click();
      await page.locator('.timeline').getByText('Count the files').waitFor();
      expect(await page.getByLabel('Send to this session').count()).toBe(0);
      expect(await page.locator('a.session', { hasText: 'Count the files' }).count()).toBe(0);
      hold.resolve();
      await page.locator('.timeline').getByText('There are three files.').waitFor();
      await page.locator('.head .badge', { hasText: 'completed' }).waitFor();
      // As a worker does when the task is done, while somebody looks.
      await worker.close();
      await archiveSession({ redis: redis.client, home: world.home }, sid);
      await page.reload();
      await page.locator('.timeline').getByText('There are three files.').waitFor();
      await page.locator('.head .badge', { hasText: 'completed' }).waitFor();
      await finish('t3', 'failed', EVIL);
      await panel.getByText('2 of 4', { exact: true }).waitFor();
      await panel.getByText('1 not completed').waitFor();
      await panel.getByText(/a minute/).waitFor();
      await panel.getByText('Tasks', { exact: true }).click();
      expect(await faults(page)).toEqual([]);
      await panel.getByLabel('Which tasks').selectOption('not completed');
      await panel.getByText(/^failed\. <img/).waitFor();
      await panel.getByLabel('Which tasks').selectOption('completed');
      await panel
        .getByRole('link', { name: 't1' })
        .or(panel.getByText('t1', { exact: true }))
        .first()
        .waitFor();
      await shot(page, 'batch-1440');
      await page.emulateMedia({ colorScheme: 'dark' });
      await shot(page, 'batch-dark-1440');
      expect(await faults(page)).toEqual([]);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.locator('#workers').getByText('1 of 4 busy').waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        panel.getByRole('button', { name: 'Download results' }).click(),
      ]);
      const lines = readFileSync(await download.path(), 'utf8')
        .trimEnd()
        .split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['t1', 't3']);
      expect(await page.getByText('of another project').count()).toBe(0);
      const headers = await logIn(dashboard);
      for (const bid of ['theirs', 'none', '..%2f']) {
        expect((await ask(dashboard.origin, `/api/batches/${bid}/results`, { headers })).status).toBe(404);
        expect((await ask(dashboard.origin, `/api/batches/${bid}/tasks?kind=running`, { headers })).status).toBe(404);
        const path = `/api/sessions/${sid}/files?batch=${bid}&task=t2`;
        expect((await ask(dashboard.origin, path, { headers })).status).toBe(404);
      }
      const own = `/api/sessions/${sid}/files?batch=ours&task=t2`;
      expect((await ask(dashboard.origin, own, { headers })).status).toBe(200);
      expect((await ask(dashboard.origin, own.replace('t2', 't1'), { headers })).status).toBe(404);
      // It is nobody's session but the task's, and it is read and nothing else.
      expect((await ask(dashboard.origin, `/api/sessions/${sid}/files`, { headers })).status).toBe(404);
      const cancel = {
        method: 'POST',
        headers: { ...headers, ...JSON_TYPE, origin: dashboard.origin },
        body: '{}',
      };
      expect((await ask(dashboard.origin, own.replace('files', 'cancel'), cancel)).status).toBe(404);
      expect(await faults(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
      await dashboard.close();
      clearInterval(beats);
      await redis.close();
    });
  },
);

/** A session outside of the project, as a task's working copy has one. */
async function beginTask(world: World, body: string) {
  const cwd = `${world.home}-worktrees/copy`;
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'ODIN.md'), '# Copy\n');
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: world.server.url };
  const flags = { flagModel: 'anthropic/scripted', flagSmallModel: 'anthropic/small' };
  const chosen = await chooseModel({ ...flags, userConfig: {}, env });
  if (!chosen.ok) throw new Error(chosen.failure.message);
  const worker = await openOdin({ cwd, home: world.home, models: chosen.value, notice: () => {} });
  const sid = worker.newSession();
  await worker.submit(sid, { mode: 'ask', body });
  return { worker, sid };
}
