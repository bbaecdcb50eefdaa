import { afterAll, afterEach, expect, test } from '@jest/globals';
import { type HeavyPool, openPagePool } from '../../../orchestrator/pool.ts';
import { openWeb, type Web, type WebSession } from '../../../orchestrator/web/web.ts';
import type { Outcome } from '../../../shared/outcome.ts';
import type { WebAnswer, WebPage, WebPort } from '../../../shared/web-port.ts';
import { html, openWebSite, type Page, redirect, siteRules, type WebSite } from '../../support/web-site.ts';

const never = new AbortController().signal;
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** One for all tests: starting its thread is most of what they cost. */
const pool = openPagePool();
const openPool = (): HeavyPool => ({ run: (...task) => pool.run(...task), close: () => Promise.resolve() });
afterAll(() => pool.close());

async function siteOf(pages: Readonly<Record<string, Page>>): Promise<WebSite> {
  const site = await openWebSite(pages);
  open.push(site);
  return site;
}

function webOf(now: () => number = Date.now): Web {
  const web = openWeb({ openPool, rules: siteRules(), now });
  open.push(web);
  return web;
}

const sessionOf = (more: Partial<WebSession> = {}): WebSession => ({
  sid: 's1',
  allowedHosts: () => [],
  userTexts: () => [],
  ...more,
});

async function fetched(port: WebPort, url: string, signal = never): Promise<Outcome<WebAnswer>> {
  const target = await port.target(url);
  return target.ok ? port.fetch(target.value, signal, () => {}) : target;
}

async function pageOf(port: WebPort, url: string): Promise<WebPage> {
  const answer = await fetched(port, url);
  if (!answer.ok || answer.value.kind !== 'page') throw new Error(JSON.stringify(answer));
  return answer.value.page;
}

const tick = (n: number) => html(`<main><h1>Page ${n}</h1><p>Read the <a href="/next#part">next part</a>.</p></main>`);

test('O20: a page is fetched once within a quarter of an hour, by all sessions together', async () => {
  let now = 0;
  const site = await siteOf({ '/a': tick(1), '/b': tick(2) });
  const web = webOf(() => now);
  const [one, other] = [web.portFor(sessionOf()), web.portFor(sessionOf({ sid: 's2' }))];
  const first = await pageOf(one, site.url('/a'));
  expect(first).toMatchObject({
    format: 'markdown',
    title: 'Page 1',
    url: site.url('/a'),
    text: expect.stringContaining('[next part]('),
  });
  expect(await pageOf(one, site.url('/a#later'))).toEqual(first);
  expect(await pageOf(other, site.url('/a'))).toEqual(first);
  await pageOf(one, site.url('/b'));
  now = 14 * 60_000;
  await pageOf(one, site.url('/a'));
  expect(site.hits).toEqual(['site.test/a', 'site.test/b']);
  now = 16 * 60_000;
  await pageOf(one, site.url('/a'));
  expect(site.hits).toEqual(['site.test/a', 'site.test/b', 'site.test/a']);
});

test('O20: old pages make room for new ones', async () => {
  const big = html('words '.repeat(160_000), 'text/plain');
  const names = Array.from({ length: 9 }, (_, n) => `/${n}`);
  const site = await siteOf(Object.fromEntries(names.map((name) => [name, big])));
  const port = webOf().portFor(sessionOf());
  for (const name of names) await pageOf(port, site.url(name));
  await pageOf(port, site.url('/8'));
  expect(site.hits.length).toBe(9);
  await pageOf(port, site.url('/0'));
  expect(site.hits.length).toBe(10);
});

test('O20: a session knows the addresses of its user and of the pages it has read, and no other session does', async () => {
  const site = await siteOf({ '/a': tick(1) });
  const web = webOf();
  const said = 'look at (https://docs.example.com/x?y=1#z), and https://github.com/o/r/blob/main/a.md please';
  const port = web.portFor(sessionOf({ userTexts: () => ['hello', said] }));
  expect(port.knows('https://docs.example.com/x?y=1')).toBe(true);
  expect(port.knows('https://raw.githubusercontent.com/o/r/main/a.md')).toBe(true);
  expect(port.knows('https://docs.example.com/x?y=12')).toBe(false);
  expect(port.knows('https://docs.example.com/')).toBe(false);
  expect(port.knows(site.url('/next'))).toBe(false);
  await pageOf(port, site.url('/a'));
  expect(port.knows(site.url('/next'))).toBe(true);
  expect(port.knows(site.url('/a'))).toBe(true);
  expect(web.portFor(sessionOf({ sid: 's2' })).knows(site.url('/next'))).toBe(false);
});

test('O20: a redirect leads to hosts that the session may read, to hosts below this one, and nowhere else', async () => {
  const site = await siteOf({ '/there': tick(1) });
  const other = site.url('/there', 'other.test');
  const below = site.url('/there', 'www.site.test');
  const from = await siteOf({ '/other': redirect(other), '/below': redirect(below) });
  const port = (allowed: readonly string[] | null) => webOf().portFor(sessionOf({ allowedHosts: () => allowed }));
  expect(await fetched(port([]), from.url('/other'))).toMatchObject({
    ok: true,
    value: { kind: 'elsewhere', target: { host: 'other.test' } },
  });
  expect(site.hits).toEqual([]);
  expect((await pageOf(port([]), from.url('/below'))).url).toBe(below);
  expect((await pageOf(port(['other.test']), from.url('/other'))).url).toBe(other);
  expect((await pageOf(port(null), from.url('/other'))).url).toBe(other);
});

test('O20: what a redirect led one session to is not shown to another that may not go there', async () => {
  const site = await siteOf({ '/there': tick(1) });
  const from = await siteOf({ '/other': redirect(site.url('/there', 'other.test')) });
  const web = webOf();
  await pageOf(web.portFor(sessionOf({ allowedHosts: () => ['other.test'] })), from.url('/other'));
  expect(await fetched(web.portFor(sessionOf({ sid: 's2' })), from.url('/other'))).toMatchObject({
    value: { kind: 'elsewhere' },
  });
});

test('O20: pages that are made to choke a reader are cut off, the process goes on meanwhile, and so does the next page', async () => {
  const slow = `<table><tr>${'<td>x</td>'.repeat(20_000)}</tr><tr>${'<td>x</td>'.repeat(20_000)}</tr></table>`;
  const nested = (count: number) => html(`${'<div>'.repeat(count)}deep${'</div>'.repeat(count)}`);
  const site = await siteOf({
    '/500': nested(500),
    '/3000': nested(3_000),
    '/tables': html('<table><tr><td>'.repeat(3_000)),
    '/attributes': html(`<p ${Array.from({ length: 100_000 }, (_, n) => `a${n}=1`).join(' ')}>x`),
    '/elements': html('<i></i>'.repeat(600_000)),
    '/slow': html(slow),
    '/fine': tick(7),
  });
  const port = webOf().portFor(sessionOf());
  for (const path of ['/500', '/3000', '/tables', '/attributes', '/elements']) {
    expect({ path, outcome: await fetched(port, site.url(path)) }).toMatchObject({
      path,
      outcome: { ok: false, failure: { code: 'too_heavy' } },
    });
  }
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  expect(await fetched(port, site.url('/slow'))).toMatchObject({
    ok: false,
    failure: { code: 'too_heavy', message: expect.stringContaining('time') },
  });
  clearInterval(timer);
  // Its thread had five seconds; a process that stands still counts one or two, and a slow machine some dozens.
  expect(ticks).toBeGreaterThan(10);
  expect((await pageOf(port, site.url('/fine'))).title).toBe('Page 7');
});

test('E11: a page that is being read is given up when the call is cancelled', async () => {
  const site = await siteOf({
    '/slow': html(`<table><tr>${'<td>x</td>'.repeat(40_000)}</tr></table>`),
    '/fine': tick(1),
  });
  const port = webOf().portFor(sessionOf());
  await pageOf(port, site.url('/fine'));
  const abort = new AbortController();
  const target = await port.target(site.url('/slow'));
  if (!target.ok) throw new Error(target.failure.message);
  const report = (line: string) => line.startsWith('Reading') && abort.abort();
  expect(await port.fetch(target.value, abort.signal, report)).toMatchObject({
    ok: false,
    failure: { kind: 'cancelled' },
  });
  expect((await pageOf(port, site.url('/fine'))).title).toBe('Page 1');
});

test('O20: without rules of a test this machine cannot be read', async () => {
  const site = await siteOf({ '*': html('secret') });
  const web = openWeb({ openPool });
  open.push(web);
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    expect(
      await fetched(web.portFor(sessionOf({ allowedHosts: () => null })), `http://${host}:${site.port}/`),
    ).toMatchObject({ ok: false, failure: { kind: 'refused' } });
  }
  expect(await fetched(web.portFor(sessionOf()), 'http://127.0.0.1/')).toMatchObject({
    ok: false,
    failure: { code: 'address_refused' },
  });
  expect(site.connections()).toBe(0);
});
