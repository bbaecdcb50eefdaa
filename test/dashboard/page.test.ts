// The page in a real browser: what a person sees and does. ODIN_SCREENSHOTS names a folder that the pictures of docs/ are written to.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chooseModel } from '../../llm/choose-model.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { archiveSession } from '../../orchestrator/archive-move.ts';
import { openBatchStore } from '../../orchestrator/batch/store.ts';
import { beat } from '../../orchestrator/jobs/workers.ts';
import { workspaceId } from '../../orchestrator/keys.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { ulid } from '../../shared/ids.ts';
import { hasBrowser, openBrowser } from '../support/browser.ts';
import { ask, JSON_TYPE, logIn, openDashboard } from '../support/dashboard.ts';
import { type World, withWorld } from '../support/odin-world.ts';

const inBrowser = hasBrowser ? test : test.skip;
/** A browser on a busy machine. */
const LONG_MS = 60_000;
const SHOTS = process.env['ODIN_SCREENSHOTS'];

let browser: Browser;
beforeAll(async () => {
  if (hasBrowser) browser = await openBrowser();
}, LONG_MS);
afterAll(async () => {
  await browser?.close();
}, LONG_MS);

/** A page whose every complaint is kept: a script that the policy stops, an error, a request that goes elsewhere. */
async function openPage(context: BrowserContext, link: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|Refused/.test(message.text())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(link).origin)) complaints.push(request.url());
  });
  await page.goto(link);
  return { page, complaints };
}

const shot = async (page: Page, name: string): Promise<void> => {
  if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `dashboard-${name}.png`) });
};

async function faults(page: Page): Promise<readonly string[]> {
  const { default: axe } = await import('axe-core');
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
    };
    return (await checker.run()).violations;
  });
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

const userConfig = { models: { 'anthropic/scripted': { price: [3, 15, 0.3, 3.75] } } };

const files = {
  'src/retry.ts':
    'export const delays = [100, 200, 400];\n\nexport function delayFor(attempt: number): number {\n  return delays[attempt] ?? 400;\n}\n',
  'README.md': '# Shop\n\nA small shop.\n',
};

/** Looks, plans, edits, and waits where the test says so. */
function worker(hold: Promise<void>) {
  return async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    if (turn.userText.startsWith('stall')) return { text: 'I go on and on', fault: 'stall' };
    if (!turn.userText.startsWith('Make the retries')) return { text: `Done: ${turn.userText.split('\n')[0]}` };
    switch (turn.stepOfMessage) {
      case 0:
        return {
          text: 'I look where the delays are decided.',
          toolCalls: [
            { name: 'ReadFile', args: { file_path: 'src/retry.ts' } },
            {
              name: 'TodoWrite',
              args: {
                todos: [
                  { id: '1', content: 'Find where delays are decided', status: 'completed' },
                  { id: '2', content: 'Add jitter to the delay', status: 'in_progress' },
                  { id: '3', content: 'Run the tests', status: 'pending' },
                ],
              },
            },
          ],
        };
      case 1:
        return {
          text: 'The delay is a table. I add the jitter there.',
          toolCalls: [
            {
              name: 'EditTool',
              args: {
                file_path: 'src/retry.ts',
                old_string: '  return delays[attempt] ?? 400;',
                new_string: '  const base = delays[attempt] ?? 400;\n  return base * (0.5 + Math.random());',
              },
            },
          ],
        };
      case 2:
        return {
          text: 'Now I note it outside of the project.',
          toolCalls: [
            { name: 'WriteFile', args: { file_path: '/tmp/odin-dashboard-test/note.txt', content: 'jitter: on\n' } },
          ],
        };
      default:
        await hold;
        return { text: 'Every delay now varies by half. The tests pass.' };
    }
  };
}

inBrowser(
  'C5: a session is watched live, its question is answered, the page outlives a restart of its server and misses nothing',
  async () => {
    const hold = Promise.withResolvers<void>();
    await withWorld({ script: worker(hold.promise), files, userConfig }, async (world: World) => {
      const owner = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
      const other = owner.newSession();
      await world.ask(owner, other, { mode: 'ask', body: 'Where is the retry policy decided?' });
      let dashboard = await openDashboard(world);
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'light' });
      const { page, complaints } = await openPage(context, dashboard.link());
      await page.getByText('live', { exact: true }).waitFor();
      expect(page.url()).not.toContain('token');

      // A session that begins on the page.
      await page.getByText('New session').click();
      await page.getByLabel('What to do').fill('Make the retries wait a random time');
      await page.getByLabel('Mode').first().selectOption('edit');
      await page.getByRole('button', { name: 'Send' }).first().click();
      const question = page.getByRole('article');
      await question.getByRole('heading', { name: /note\.txt/ }).waitFor();
      await page.getByText('I add the jitter there.').waitFor();
      await page.locator('.panel', { hasText: 'Todos' }).getByText('Add jitter to the delay').waitFor();
      await page.locator('.chart .here', { hasText: 'acting' }).waitFor();
      await page.getByText('New session').click();
      await page.getByText('Files changed').click();
      await page.getByText('+2 −1').click();
      await page.locator('.diff .add', { hasText: 'Math.random' }).first().waitFor();
      expect(await faults(page)).toEqual([]);
      await page.evaluate('scrollTo(0, 0)');
      await shot(page, 'question-1440');
      await page.setViewportSize({ width: 390, height: 844 });
      await shot(page, 'question-390');
      await page.setViewportSize({ width: 1440, height: 900 });

      // The server restarts on its port while the work goes on.
      await dashboard.close();
      await page.getByText('connecting', { exact: true }).waitFor();
      const [asked] = await owner.questions();
      await owner.answer(asked?.id ?? '', 'deny', { by: 'another terminal', word: 'keep to the project' });
      hold.resolve();
      const sid = new URL(page.url()).hash.slice('#/s/'.length);
      const stop = new AbortController();
      for await (const event of owner.follow(sid, { from: '0', signal: stop.signal }))
        if (event.type === 'AgentDone') stop.abort();
      dashboard = await openDashboard(world, { port: Number(new URL(dashboard.origin).port) });
      await page.getByText('Every delay now varies by half.').waitFor();
      await page.getByText('answer: deny, by another terminal').waitFor();
      await page.locator('.chart .here', { hasText: 'done' }).waitFor();
      expect(await question.count()).toBe(0);
      for (const text of [
        'I look where the delays',
        'I add the jitter there',
        'Now I note it outside',
        'Every delay now varies',
      ]) {
        expect(await page.locator('.timeline .said', { hasText: text }).count()).toBe(1);
      }
      expect(await page.locator('.timeline .tool').count()).toBe(4);
      expect(await faults(page)).toEqual([]);
      await page.evaluate('scrollTo(0, 0)');
      await shot(page, 'session-1440');
      await page.evaluate("document.querySelector('.timeline').scrollIntoView()");
      await page.evaluate('scrollBy(0, -60)');
      await shot(page, 'timeline-1440');
      await page.evaluate('scrollTo(0, 0)');
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await faults(page)).toEqual([]);
      await shot(page, 'session-dark-1440');
      await page.setViewportSize({ width: 390, height: 844 });
      await shot(page, 'session-dark-390');
      await page.emulateMedia({ colorScheme: 'light' });
      await page.getByRole('link', { name: 'All sessions' }).click();
      await page.getByText('2 sessions').waitFor();
      expect(await faults(page)).toEqual([]);
      await shot(page, 'sessions-390');
      expect(complaints).toEqual([]);
      await context.close();
      await dashboard.close();
    });
  },
  LONG_MS,
);

inBrowser(
  'C5: a question is answered on the page, what runs is cancelled there, and the queue is edited',
  async () => {
    await withWorld({ script: worker(Promise.resolve()), files }, async (world: World) => {
      const owner = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
      const sid = owner.newSession();
      await owner.submit(sid, { mode: 'edit', body: 'Make the retries wait a random time' });
      const dashboard = await openDashboard(world);
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      const { page, complaints } = await openPage(context, dashboard.link());
      await page.getByLabel('What it should know').fill('keep to the project');
      await page.getByRole('button', { name: 'Deny' }).click();
      await page.locator('a.session', { hasText: 'Make the retries' }).click();
      await page.getByText('answer: deny, by odin dashboard').waitFor();
      await page.getByText('Every delay now varies by half.').waitFor();

      const send = async (text: string) => {
        await page.getByLabel('Send to this session').fill(text);
        await page.locator('.main').getByRole('button', { name: 'Send' }).click();
      };
      await send('stall');
      await page.getByText('I go on').first().waitFor();
      await send('second');
      await page.getByText('It waits behind 1.').waitFor();
      await send('third');
      await page.getByRole('button', { name: 'Edit message 4' }).click();
      await page.getByLabel('Text of message 4').fill('third, better');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('button', { name: 'Remove message 3' }).click();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByText('asked to stop, by odin dashboard').waitFor();
      await page.getByText('Done: third, better').waitFor();
      expect((await owner.state(sid)).messages.map(({ body, status }) => [body, status])).toEqual([
        ['Make the retries wait a random time', 'completed'],
        ['stall', 'cancelled'],
        ['third, better', 'completed'],
      ]);
      expect(world.server.requests.some(({ body }) => body.includes('keep to the project'))).toBe(true);
      expect(complaints).toEqual([]);
      await context.close();
      await dashboard.close();
    });
  },
  LONG_MS,
);

const EVIL = '<img src=x onerror=alert(1)><script>alert(2)</script>"\'`\u202egnp.exe\u001b[31m';

inBrowser(
  'C5: script in whatever a model, a tool, a file or a user says is text on the page and nothing else',
  async () => {
    const script = (turn: ScriptedTurn): ScriptedAnswer => {
      switch (turn.stepOfMessage) {
        case 0:
          return {
            text: EVIL,
            thinking: EVIL,
            toolCalls: [
              { name: EVIL.slice(0, 40), args: { [EVIL]: EVIL } },
              { name: 'ReadFile', args: { file_path: 'evil.txt' } },
              { name: 'TodoWrite', args: { todos: [{ id: EVIL, content: EVIL, status: 'pending' }] } },
              { name: 'WriteFile', args: { file_path: `${EVIL.slice(0, 20)}.txt`, content: EVIL } },
            ],
          };
        case 1:
          return {
            toolCalls: [{ name: 'WriteFile', args: { file_path: `/tmp/${EVIL.slice(0, 20)}`, content: EVIL } }],
          };
        default:
          return { text: EVIL, fault: 'http_400' };
      }
    };
    await withWorld({ script, files: { 'evil.txt': EVIL, 'ODIN.md': EVIL } }, async (world: World) => {
      const owner = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
      const sid = owner.newSession();
      await owner.submit(sid, { mode: 'edit', body: EVIL });
      await owner.submit(sid, { mode: 'edit', body: EVIL });
      const dashboard = await openDashboard(world);
      const context = await browser.newContext();
      const { page, complaints } = await openPage(context, dashboard.link());
      await page
        .getByRole('article')
        .getByText(/outside the project: \/tmp\//)
        .waitFor();
      await page
        .getByRole('link', { name: /onerror/ })
        .first()
        .click();
      await page.getByText('Files changed').click();
      await page.locator('.main .panel', { hasText: 'Files changed' }).locator('.badge').first().waitFor();
      await page.locator('.timeline .tool').nth(3).waitFor();
      await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      const [question] = await owner.questions();
      await owner.answer(question?.id ?? '', 'deny', { by: EVIL, word: EVIL });
      await page.locator('.note.bad', { hasText: 'bad_request' }).first().waitFor();
      expect(await page.locator('img, script:not([src="/app.js"]), [onerror]').count()).toBe(0);
      const text = await page.locator('body').innerText();
      expect(text).toContain('<U+202E>');
      expect(text).not.toMatch(/[\u202e\u001b]/);
      expect(complaints).toEqual([]);
      await context.close();
      await dashboard.close();
    });
  },
  LONG_MS,
);

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
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true });
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
  LONG_MS,
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

test('C5: the page’s own code makes no markup of text', async () => {
  const folder = new URL('../../dashboard/page/', import.meta.url);
  for (const name of ['app', 'net', 'dom', 'overview', 'session', 'timeline', 'chart', 'format', 'figures', 'fleet']) {
    const code = readFileSync(new URL(`${name}.js`, folder), 'utf8');
    expect(code).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser/,
    );
    expect(code).not.toMatch(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  }
});
