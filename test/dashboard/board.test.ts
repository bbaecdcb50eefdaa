// bull-board behind the guard: it shows, and nobody else's page makes it do anything.

import { expect, test } from '@jest/globals';
import { type Ask, ask, JSON_TYPE, logIn, openDashboard } from '../support/dashboard.ts';
import { withWorld } from '../support/odin-world.ts';

interface Queues {
  readonly queues: readonly {
    readonly name: string;
    readonly readOnlyMode: boolean;
    readonly counts: Record<string, number>;
  }[];
}

const WAYS: readonly (readonly [string, string])[] = [
  ['POST', 'add'],
  ['PUT', 'retry/failed'],
  ['PUT', 'retry/completed'],
  ['PUT', 'clean/completed'],
  ['PUT', 'pause'],
  ['PUT', 'empty'],
  ['PUT', 'obliterate'],
  ['PUT', 'promote'],
];

test('C5: bull-board shows the queues of who has logged in, and changes nothing, whoever asks and however', async () => {
  await withWorld({ script: () => ({ text: 'fine' }) }, async (world) => {
    const owner = await world.open();
    await world.ask(owner, owner.newSession(), { mode: 'ask', body: 'hello' });
    const dashboard = await openDashboard(world);
    const { origin } = dashboard;
    const visitor = await logIn(dashboard);
    const cookie = { cookie: visitor['cookie'] ?? '' };
    for (const path of ['/queues', '/queues/', '/queues/api/queues', '/queues/static/js/main.js']) {
      expect((await ask(origin, path)).status).toBe(401);
    }
    const page = await ask(origin, '/queues', { headers: cookie });
    expect(page).toMatchObject({ status: 200, headers: { 'content-type': expect.stringContaining('text/html') } });
    expect(String(page.headers['content-security-policy'])).not.toMatch(/script-src|unsafe-eval|https?:/);
    const list = async () => JSON.parse((await ask(origin, '/queues/api/queues', { headers: cookie })).text) as Queues;
    const { queues } = await list();
    expect(queues).toHaveLength(3);
    const turns = queues.find(({ name }) => name.startsWith('turns.'));
    expect(turns).toMatchObject({ readOnlyMode: true });
    for (const [method, what] of WAYS) {
      const path = `/queues/api/queues/${turns?.name}/${what}`;
      const body = JSON.stringify({ name: 'turn', data: { sid: 'x' }, options: {} });
      const send = (headers: Ask['headers']) => ask(origin, path, { method, headers: { ...cookie, ...headers }, body });
      // A form of another site, as the browser sends it without asking first; one that says nothing; our own page.
      expect((await send({ origin: 'http://evil.example', 'content-type': 'text/plain' })).status).toBe(403);
      expect((await send({ 'content-type': 'text/plain' })).status).toBe(403);
      expect((await send({ ...JSON_TYPE, origin, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
      expect((await send({ ...JSON_TYPE, origin, 'sec-fetch-site': 'same-origin' })).status).toBe(405);
    }
    expect((await list()).queues).toEqual(queues);
    expect(dashboard.errors).toEqual([]);
    await dashboard.close();
  });
});

test('C5: with --allow-queue-actions its own page may change the queues, other sites still may not', async () => {
  await withWorld({ script: () => ({ text: 'fine' }) }, async (world) => {
    const owner = await world.open();
    await world.ask(owner, owner.newSession(), { mode: 'ask', body: 'hello' });
    const dashboard = await openDashboard(world, { allowQueueActions: true });
    const { origin } = dashboard;
    const cookie = { cookie: (await logIn(dashboard))['cookie'] ?? '' };
    const list = async () => JSON.parse((await ask(origin, '/queues/api/queues', { headers: cookie })).text) as Queues;
    const { queues } = await list();
    const path = `/queues/api/queues/${queues.find(({ name }) => name.startsWith('turns.'))?.name}/pause`;
    const pause = (headers: Ask['headers']) =>
      ask(origin, path, { method: 'PUT', headers: { ...cookie, ...headers }, body: '{}' });
    expect((await pause({ ...JSON_TYPE, origin: 'http://evil.example' })).status).toBe(403);
    expect((await pause({ 'content-type': 'text/plain', origin })).status).toBe(415);
    expect((await pause({ ...JSON_TYPE, origin, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    await dashboard.close();
  });
});
