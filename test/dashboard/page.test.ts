// The page in a real browser: what a person sees of sessions, and does with them.

import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { openDashboard } from '../support/dashboard.ts';
import { EVIL, faults, inBrowser, openPage, shot, useBrowser } from '../support/dashboard-page.ts';
import { type World, withWorld } from '../support/odin-world.ts';

const browser = useBrowser();

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
      const context = await browser().newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'light' });
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
);

inBrowser(
  'C5: a question is answered on the page, what runs is cancelled there, the queue is edited, and what came while nobody looked is not missed',
  async () => {
    await withWorld({ script: worker(Promise.resolve()), files }, async (world: World) => {
      const owner = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
      const sid = owner.newSession();
      await owner.submit(sid, { mode: 'edit', body: 'Make the retries wait a random time' });
      const dashboard = await openDashboard(world);
      const context = await browser().newContext({ viewport: { width: 1440, height: 900 } });
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

      // Nobody looks: the page follows no session, and goes on where it stopped.
      await setHidden(page, true);
      await owner.submit(sid, { mode: 'ask', body: 'unseen' });
      const stop = new AbortController();
      for await (const event of owner.follow(sid, { from: '0', signal: stop.signal }))
        if (event.type === 'AgentDone' && event.answer === 'Done: unseen') stop.abort();
      expect(await page.getByText('Done: unseen').count()).toBe(0);
      await setHidden(page, false);
      await page.getByText('Done: unseen').waitFor();
      expect(await page.locator('.timeline .said', { hasText: 'Done: third, better' }).count()).toBe(1);
      expect(complaints).toEqual([]);
      await context.close();
      await dashboard.close();
    });
  },
);

/** As when another tab is in front. Resolves when the page knows it. */
const setHidden = (page: Page, isHidden: boolean): Promise<unknown> =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);

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
      const context = await browser().newContext();
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
);

test('C5: the page’s own code makes no markup of text', async () => {
  const folder = new URL('../../dashboard/page/', import.meta.url);
  for (const name of [
    'app',
    'net',
    'dom',
    'overview',
    'session',
    'timeline',
    'chart',
    'format',
    'figures',
    'fleet',
    'sight',
  ]) {
    const code = readFileSync(new URL(`${name}.js`, folder), 'utf8');
    expect(code).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser/,
    );
    expect(code).not.toMatch(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  }
});
