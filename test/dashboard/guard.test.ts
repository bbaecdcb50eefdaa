// Attacks on the dashboard, each with the head that a browser or a program would really send.

import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hostsOf } from '../../dashboard/guard.ts';
import { startDashboard } from '../../dashboard/server.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import { ask, JSON_TYPE, logIn, type OpenDashboard, openDashboard } from '../support/dashboard.ts';
import { type World, withWorld } from '../support/odin-world.ts';

let world: World;
let dashboard: OpenDashboard;
let visitor: Record<string, string>;
let sid: string;
let over: () => void;
let ended: Promise<void>;

beforeAll(async () => {
  const ready = Promise.withResolvers<void>();
  ended = withWorld({ script: () => ({ text: 'fine' }) }, async (opened) => {
    world = opened;
    const odin = await world.open();
    sid = odin.newSession();
    await world.ask(odin, sid, { mode: 'ask', body: 'hello' });
    dashboard = await openDashboard(world);
    visitor = await logIn(dashboard);
    const done = Promise.withResolvers<void>();
    over = done.resolve;
    ready.resolve();
    await done.promise;
    await dashboard.close();
  });
  ended.catch(ready.reject);
  await ready.promise;
});
afterAll(async () => {
  over();
  await ended;
});

const READS = () => ['/api/about', '/api/events', `/api/sessions/${sid}/events`, `/api/sessions/${sid}/files`];
const change = (headers: Readonly<Record<string, string | null>>) =>
  ask(dashboard.origin, '/api/sessions', {
    method: 'POST',
    headers: { ...JSON_TYPE, origin: dashboard.origin, ...headers },
    body: JSON.stringify({ mode: 'edit', body: 'delete all', mid: '0'.repeat(26) }),
  });
const sessionCount = async () => (await dashboard.odin.sessions()).length;

test('C5: without a login there is the page, which holds nothing, and no data', async () => {
  const page = await ask(dashboard.origin, '/');
  expect(page.status).toBe(200);
  expect(page.text).not.toContain(sid);
  expect(await ask(dashboard.origin, '/health')).toMatchObject({ status: 200, text: '{"ok":true}' });
  for (const path of READS()) {
    expect((await ask(dashboard.origin, path)).status).toBe(401);
    // Cookies know no ports: another server on this machine sees ours, and it is not enough.
    expect((await ask(dashboard.origin, path, { headers: { cookie: visitor['cookie'] ?? '' } })).status).toBe(401);
    expect((await ask(dashboard.origin, path, { headers: { 'x-odin-key': visitor['x-odin-key'] ?? '' } })).status).toBe(
      401,
    );
  }
  expect((await ask(dashboard.origin, '/api/about', { headers: visitor })).status).toBe(200);
  expect((await change({})).status).toBe(401);
  expect(await sessionCount()).toBe(1);
});

test('C5: the link works once, and what looks like a token, a cookie or a key is none', async () => {
  const used = new URL(dashboard.link()).hash.slice('#token='.length);
  const login = (token: string) =>
    ask(dashboard.origin, '/api/login', {
      method: 'POST',
      headers: { ...JSON_TYPE, origin: dashboard.origin },
      body: JSON.stringify({ token }),
    });
  expect((await login(`${used}x`)).status).toBe(401);
  const first = await login(used);
  expect(first.status).toBe(200);
  expect(String(first.headers['set-cookie'])).toMatch(
    /^odin_\d+=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  );
  expect((await login(used)).status).toBe(401);
  expect(dashboard.links.at(-1)).toBe(dashboard.link());
  const [name, value = ''] = (visitor['cookie'] ?? '').split('=');
  const later = value.replace(/\.\d+\./, `.${Date.now() * 2}.`);
  for (const cookie of [`${name}=${later}`, `${name}=`, `${name}=..`, `other=${value}`]) {
    expect((await ask(dashboard.origin, '/api/about', { headers: { ...visitor, cookie } })).status).toBe(401);
  }
  const other = await logIn(dashboard);
  const mixed = { ...visitor, 'x-odin-key': other['x-odin-key'] ?? '' };
  expect((await ask(dashboard.origin, '/api/about', { headers: mixed })).status).toBe(401);
});

test('C5: which rows are in sight is a page’s own word: without a login, of another site, or about anything else it is refused', async () => {
  const body = { view: 'A'.repeat(26), sids: [sid], away: false };
  const say = (said: unknown, headers: Readonly<Record<string, string>> = {}) =>
    ask(dashboard.origin, '/api/view', {
      method: 'POST',
      headers: { ...visitor, ...JSON_TYPE, origin: dashboard.origin, ...headers },
      body: JSON.stringify(said),
    });
  // A page that is not open is told nothing, and nothing of it is kept.
  expect(await say(body)).toMatchObject({ status: 200, text: '{}' });
  expect((await say(body, { 'x-odin-key': 'x' })).status).toBe(401);
  expect((await say(body, { origin: 'https://evil.example' })).status).toBe(403);
  expect((await say(body, { host: 'evil.example' })).status).toBe(421);
  const sids = Array.from({ length: 101 }, () => sid);
  for (const wrong of [
    { ...body, sids },
    { ...body, sids: ['../../x'] },
    { ...body, view: '__proto__' },
    { ...body, x: 1 },
    [],
  ]) {
    expect((await say(wrong)).status).toBe(400);
  }
  expect((await ask(dashboard.origin, '/api/view', { headers: visitor })).status).toBe(404);
});

test('C5: a name that is not this server’s is refused, whoever asks: DNS rebinding', async () => {
  const { port } = new URL(dashboard.origin);
  for (const host of [
    `evil.example:${port}`,
    'evil.example',
    `127.0.0.1.evil.example:${port}`,
    '127.0.0.1:1',
    `0.0.0.0:${port}`,
  ]) {
    for (const path of ['/', '/health', '/api/about', '/queues']) {
      expect((await ask(dashboard.origin, path, { headers: { ...visitor, host } })).status).toBe(421);
    }
    const rebound = await change({ ...visitor, host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' });
    expect(rebound.status).toBe(421);
  }
  expect((await ask(dashboard.origin, '/', { headers: { host: `localhost:${port}` } })).status).toBe(200);
  expect(await sessionCount()).toBe(1);
});

test('C5: requests of other sites are refused, with the cookie and without: wrong Origin, forms, other ports', async () => {
  const { port } = new URL(dashboard.origin);
  const strangers: Record<string, string | null>[] = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: null },
    { origin: `http://127.0.0.1:${Number(port) + 1}` },
    { origin: `https://127.0.0.1:${port}` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  ];
  for (const headers of strangers) expect((await change({ ...visitor, ...headers })).status).toBe(403);
  for (const site of ['cross-site', 'same-site']) {
    for (const path of READS()) {
      expect((await ask(dashboard.origin, path, { headers: { ...visitor, 'sec-fetch-site': site } })).status).toBe(403);
    }
  }
  // What a form can send without asking first.
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    expect((await change({ ...visitor, 'content-type': type })).status).toBe(415);
  }
  expect(await sessionCount()).toBe(1);
});

test('C5: bodies that are large, no JSON, poisoned or say more than they may are refused', async () => {
  const post = (body: string) =>
    ask(dashboard.origin, '/api/sessions', {
      method: 'POST',
      headers: { ...visitor, ...JSON_TYPE, origin: dashboard.origin },
      body,
    });
  const mid = '0'.repeat(26);
  expect((await post(JSON.stringify({ mode: 'ask', body: 'x'.repeat(300_000), mid }))).status).toBe(413);
  expect((await post('{"mode":')).status).toBe(400);
  expect((await post(`{"mode":"ask","body":"x","mid":"${mid}","__proto__":{"a":1}}`)).status).toBe(400);
  for (const more of [
    { command: { type: 'undo', count: 1 } },
    { model: 'a/b' },
    { mode: 'root' },
    { body: '  ' },
    { mid: '../x' },
  ]) {
    expect((await post(JSON.stringify({ mode: 'ask', body: 'x', mid, ...more }))).status).toBe(400);
  }
  expect(await sessionCount()).toBe(1);
});

test('C5: only sessions of this project can be named, and no answer says more than one line', async () => {
  const origin = dashboard.origin;
  for (const name of ['0'.repeat(26), '..%2f..%2fetc', '%00', '__proto__', 'x'.repeat(150)]) {
    for (const what of ['events', 'files', 'queue']) {
      expect((await ask(origin, `/api/sessions/${name}/${what}`, { headers: visitor })).status).toBe(404);
    }
    const headers = { ...visitor, ...JSON_TYPE, origin };
    expect((await ask(origin, `/api/sessions/${name}/cancel`, { method: 'POST', headers, body: '{}' })).status).toBe(
      404,
    );
  }
  for (const path of ['/../../etc/passwd', '/page/app.js', '/%2e%2e/server.ts', '/server.ts']) {
    expect((await ask(origin, path, { headers: visitor })).status).toBe(404);
  }
  expect(dashboard.errors).toEqual([]);
});

test('C5: every answer forbids scripts from elsewhere, frames, guessing of types and keeping', async () => {
  for (const path of ['/', '/app.js', '/api/about', '/nowhere']) {
    const { headers } = await ask(dashboard.origin, path, { headers: visitor });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|http|\*|data:/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
});

test('C5: it listens nowhere else without TLS, and its key is the user’s alone', async () => {
  expect(new URL(dashboard.origin).hostname).toBe('127.0.0.1');
  const elsewhere = (host: string) =>
    startDashboard({
      ...{ odin: {} as Odin, redis: {} as RedisHandle, home: world.home, port: 0, host },
      onLink: () => {},
    });
  await expect(elsewhere('odin.example.org')).rejects.toThrow('--tls-cert');
  for (const host of ['0.0.0.0', '::', '']) await expect(elsewhere(host)).rejects.toThrow('Say by which name');
  const file = join(world.home, 'dashboard.key');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file)).toHaveLength(32);
});

test('C5: a dashboard that cannot keep the token of its metrics says so, and leaves its port to the next one', async () => {
  const home = mkdtempSync(join(tmpdir(), 'odin-no-token-'));
  mkdirSync(join(home, 'metrics.token'));
  const free = createServer();
  await new Promise<void>((listening) => free.listen(0, '127.0.0.1', listening));
  const { port } = free.address() as AddressInfo;
  await new Promise((closed) => free.close(closed));
  const redis = await connectRedis({ home: world.home, notice: () => {} });
  const start = () => startDashboard({ ...{ odin: dashboard.odin, redis, home, port }, onLink: () => {} });
  await expect(start()).rejects.toThrow(/metrics\.token cannot be used/);
  rmdirSync(join(home, 'metrics.token'));
  const opened = await start();
  expect(statSync(opened.metricsTokenFile).mode & 0o777).toBe(0o600);
  await opened.close();
  await redis.close();
  rmSync(home, { recursive: true });
});

test('C5: it goes by its name and port, and by its name alone where the port is the one that browsers leave out', () => {
  const name = ['Odin.example.org'];
  expect([...hostsOf(name, 4646, true)]).toEqual(['odin.example.org:4646']);
  expect([...hostsOf(name, 443, true)]).toEqual(['odin.example.org:443', 'odin.example.org']);
  expect([...hostsOf(name, 80, true)]).toEqual(['odin.example.org:80']);
  expect([...hostsOf(['127.0.0.1'], 80, false)]).toEqual(['127.0.0.1:80', '127.0.0.1']);
});

test('C5: too many tries to log in have to wait, and nobody else with them', async () => {
  const tries: number[] = [];
  // A minute may end in between, and its count with it.
  while (tries.at(-1) !== 429) {
    const headers = { ...JSON_TYPE, origin: dashboard.origin };
    tries.push((await ask(dashboard.origin, '/api/login', { method: 'POST', headers, body: '{"token":"x"}' })).status);
  }
  expect(tries).toContain(401);
  expect((await ask(dashboard.origin, '/api/about', { headers: visitor })).status).toBe(200);
});
