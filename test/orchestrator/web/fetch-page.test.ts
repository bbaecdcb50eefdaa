import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { type FetchedBytes, type FetchLimits, fetchPage } from '../../../orchestrator/web/fetch-page.ts';
import { parseWebUrl } from '../../../orchestrator/web/web-url.ts';
import { coversHost } from '../../../shared/web-host.ts';
import { withEnoughTime } from '../../support/enough-time.ts';
import { html, openWebSite, type Page, redirect, siteRules, type WebSite } from '../../support/web-site.ts';

const never = new AbortController().signal;
const open: WebSite[] = [];
afterEach(async () => {
  for (const site of open.splice(0)) await site.close();
});

async function siteOf(pages: Readonly<Record<string, Page>>): Promise<WebSite> {
  const site = await openWebSite(pages);
  open.push(site);
  return site;
}

interface Asked {
  readonly limits?: Partial<FetchLimits>;
  readonly mayGo?: (host: string) => boolean;
  readonly signal?: AbortSignal;
}
const get = (url: string, { limits = {}, mayGo = () => false, signal = never }: Asked = {}) =>
  fetchPage({ url, host: new URL(url).hostname }, mayGo, siteRules(limits), signal);

const codeOf = async (url: string, asked: Asked = {}): Promise<string> => {
  const outcome = await get(url, asked);
  return outcome.ok ? `got ${outcome.value.kind}` : outcome.failure.code;
};

async function bytesOf(url: string, asked: Asked = {}): Promise<FetchedBytes> {
  const outcome = await get(url, asked);
  if (!outcome.ok || outcome.value.kind !== 'bytes') throw new Error(JSON.stringify(outcome));
  return outcome.value;
}

test('O20: a page comes with its bytes, its type and where it was found', async () => {
  const site = await siteOf({
    '/a': redirect('b/c?d=1#e'),
    '/b/c?d=1': html('<p>hello', 'Text/HTML; Charset="ISO-8859-1"'),
  });
  const page = await bytesOf(site.url('/a#frag'));
  expect(Buffer.from(page.bytes).toString()).toBe('<p>hello');
  expect(page).toMatchObject({
    contentType: 'text/html',
    charset: 'ISO-8859-1',
    target: { url: site.url('/b/c?d=1'), host: 'site.test' },
  });
});

test('O20: requests are GET alone, carry no cookie, no credential and no referrer, and say who asks', async () => {
  const seen: Record<string, unknown>[] = [];
  const site = await siteOf({
    '/a': (request, response) => {
      seen.push({ method: request.method, ...request.headers });
      response.writeHead(302, { location: '/b', 'set-cookie': 'id=secret; Path=/' });
      response.end();
    },
    '/b': (request, response) => {
      seen.push({ method: request.method, ...request.headers });
      html('done')(request, response);
    },
  });
  await bytesOf(site.url('/a'));
  expect(seen.length).toBe(2);
  for (const request of seen) {
    expect(request).toMatchObject({ method: 'GET', 'user-agent': expect.stringContaining('Odin') });
    for (const name of ['cookie', 'authorization', 'referer', 'origin', 'proxy-authorization'])
      expect(request[name]).toBeUndefined();
  }
});

test('O20: five redirects are followed, six are not, and a circle ends', async () => {
  const chain: Record<string, Page> = { '/0': html('end'), '/round': redirect('/round', 308) };
  for (let n = 1; n <= 6; n++) chain[`/${n}`] = redirect(`/${n - 1}`, [301, 302, 303, 307, 308][n % 5]);
  const site = await siteOf(chain);
  expect(await codeOf(site.url('/5'))).toBe('got bytes');
  expect(await codeOf(site.url('/6'))).toBe('too_many_redirects');
  expect(await codeOf(site.url('/round'))).toBe('too_many_redirects');
});

test('O20: a redirect to another host is told and not followed, unless that host is allowed', async () => {
  const site = await siteOf({ '/there': html('there') });
  const other = site.url('/there', 'other.test');
  open.push(await openWebSite({}));
  const from = await siteOf({ '/away': redirect(other) });
  expect(await get(from.url('/away'))).toEqual({
    ok: true,
    value: { kind: 'elsewhere', target: { url: other, host: 'other.test' } },
  });
  expect(site.hits).toEqual([]);
  const asked: string[] = [];
  const mayGo = (host: string) => asked.push(host) > 0;
  expect(await codeOf(from.url('/away'), { mayGo })).toBe('got bytes');
  expect(asked).toEqual(['other.test']);
  expect(site.hits).toEqual(['other.test/there']);
});

test('O20: what is no text is named with its size and what to do; the body is not read', async () => {
  const big: Page = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': 12_345_678 });
    response.write('%PDF-1.7');
  };
  const site = await siteOf({
    '/a.pdf': big,
    '/a.png': html('x', 'image/png'),
    '/a.bin': html('x', 'application/octet-stream'),
  });
  const pdf = await get(site.url('/a.pdf'));
  expect(pdf).toMatchObject({
    ok: false,
    failure: {
      kind: 'failed',
      code: 'pdf',
      message: expect.stringMatching(/a\.pdf is a PDF document, 12\.3 MB\..*web page/),
    },
  });
  expect(await codeOf(site.url('/a.png'))).toBe('not_text');
  expect(await codeOf(site.url('/a.bin'))).toBe('not_text');
});

test('O20: what is text by its type is read', async () => {
  const types = [
    'text/plain',
    'text/markdown',
    'text/css',
    'application/json',
    'application/vnd.api+json',
    'application/xml',
    'application/rss+xml',
  ];
  const more = [
    'application/xhtml+xml',
    'application/javascript',
    'application/yaml',
    'application/x-ndjson',
    'application/toml',
  ];
  for (const type of [...types, ...more]) {
    const site = await siteOf({ '/x': html('x', type) });
    expect({ type, code: await codeOf(site.url('/x')) }).toEqual({ type, code: 'got bytes' });
  }
});

test('O20: an answer that is no page says what to do', async () => {
  for (const status of [401, 403, 404, 410, 429, 500, 503]) {
    const site = await siteOf({ '*': (_request, response) => void response.writeHead(status).end('no') });
    expect(await get(site.url('/x'))).toMatchObject({
      ok: false,
      failure: { code: `http_${status}`, message: expect.stringMatching(/\. \w.+\.$/) },
    });
  }
});

test('O20: a body is cut at its limit as it is read, also when it is packed small, three times over', async () => {
  const member = gzipSync(Buffer.alloc(10_000_000));
  let cut = false;
  const bomb: Page = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
    // Without end: 10 MB more with every few packets.
    const more = () => {
      while (!response.destroyed && response.write(member));
    };
    response.on('drain', more).on('close', () => {
      cut = true;
    });
    more();
  };
  const packed = gzipSync(gzipSync(gzipSync(Buffer.alloc(50_000_000))));
  const triple: Page = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip, gzip, gzip' });
    response.end(packed);
  };
  const endless: Page = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  };
  const site = await siteOf({ '/bomb': bomb, '/triple': triple, '/endless': endless });
  for (const path of ['/bomb', '/triple', '/endless'])
    expect({ path, code: await codeOf(site.url(path)) }).toEqual({ path, code: 'too_long' });
  expect(packed.length).toBeLessThan(10_000);
  await site.close();
  open.pop();
  expect(cut).toBe(true);
});

test('O20: a page within the limit is whole, a byte more is too long', async () => {
  const site = await siteOf({ '/4': html('1234', 'text/plain'), '/5': html('12345', 'text/plain') });
  expect((await bytesOf(site.url('/4'), { limits: { maxBodyBytes: 4 } })).bytes.byteLength).toBe(4);
  expect(await codeOf(site.url('/5'), { limits: { maxBodyBytes: 4 } })).toBe('too_long');
});

test('O20: a server that drips, stays silent or hides behind long headers is given up, and its connection closed', async () => {
  const [heard, closed]: [string[], string[]] = [[], []];
  const drip: Page = (_request, response) => {
    heard.push('drip');
    response.writeHead(200, { 'content-type': 'text/plain' });
    const timer = setInterval(() => response.write('x'), 5);
    response.on('close', () => {
      clearInterval(timer);
      closed.push('drip');
    });
  };
  const silent: Page = (_request, response) => {
    heard.push('silent');
    response.on('close', () => closed.push('silent'));
  };
  const long: Page = (_request, response) => void response.writeHead(200, { 'x-long': 'x'.repeat(40_000) }).end();
  const site = await siteOf({ '/drip': drip, '/silent': silent, '/long': long });
  for (const name of ['drip', 'silent']) {
    // So long that the server has heard it by then.
    await withEnoughTime(400, async (totalMs) => {
      const already = heard.length;
      expect(await codeOf(site.url(`/${name}`), { limits: { totalMs } })).toBe('time_limit');
      return heard.length > already || undefined;
    });
  }
  expect(await codeOf(site.url('/long'))).toBe('bad_answer');
  await site.close();
  open.splice(open.indexOf(site), 1);
  expect(closed).toEqual(heard);
});

test('O20: a server that is not there, that cuts the line or talks nonsense gives a plain error', async () => {
  const nonsense = createServer((socket) =>
    socket.on('data', () => socket.end('SSH-2.0-OpenSSH\r\n')).on('error', () => {}),
  );
  const cutting = createServer((socket) => socket.on('data', () => socket.destroy()).on('error', () => {}));
  const ports = await Promise.all(
    [nonsense, cutting].map(async (server) => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return (server.address() as { port: number }).port;
    }),
  );
  const gone = await siteOf({});
  const { port } = gone;
  await gone.close();
  open.pop();
  expect(await codeOf(`http://site.test:${port}/`)).toBe('no_connection');
  expect(await codeOf('http://nowhere.invalid/')).toBe('no_such_host');
  expect(await codeOf(`http://site.test:${ports[1]}/`)).toBe('cut');
  expect((await get(`http://site.test:${ports[0]}/`)).ok).toBe(false);
  for (const server of [nonsense, cutting]) await new Promise((resolve) => server.close(resolve));
});

test('E11: a fetch that is cancelled ends as cancelled, and lets go of its connection', async () => {
  const abort = new AbortController();
  const left = Promise.withResolvers<void>();
  const site = await siteOf({
    '*': (_request, response) => {
      response.on('close', () => left.resolve());
      abort.abort();
    },
  });
  expect(await codeOf(site.url('/'), { signal: abort.signal })).toBe('cancelled');
  await left.promise;
});

test('O20: an address is read as a browser reads it, and a file on GitHub or GitLab as its raw text', () => {
  const cases: Readonly<Record<string, readonly [url: string, host: string]>> = {
    ' https://Example.COM./a b#c ': ['https://example.com/a%20b', 'example.com'],
    'https://例え.jp/': ['https://xn--r8jz45g.jp/', 'xn--r8jz45g.jp'],
    'https://github.com/nodejs/node/blob/main/doc/api/fs.md?plain=1': [
      'https://raw.githubusercontent.com/nodejs/node/main/doc/api/fs.md',
      'raw.githubusercontent.com',
    ],
    'https://github.com/nodejs/node': ['https://github.com/nodejs/node', 'github.com'],
    'https://github.com/nodejs/node/issues/1': ['https://github.com/nodejs/node/issues/1', 'github.com'],
    'https://gitlab.com/a/b/-/blob/main/x.md': ['https://gitlab.com/a/b/-/raw/main/x.md', 'gitlab.com'],
  };
  for (const [written, [url, host]] of Object.entries(cases))
    expect(parseWebUrl(written, () => true)).toEqual({ ok: true, value: { url, host } });
});

test('O20: a host covers itself and what lies below it, and nothing that only begins or ends alike', () => {
  expect(coversHost('example.com', 'example.com')).toBe(true);
  expect(coversHost('example.com', 'docs.example.com')).toBe(true);
  for (const other of ['example.com.evil.net', 'notexample.com', 'example.co', 'com', 'xexample.com'])
    expect(coversHost('example.com', other)).toBe(false);
  expect(coversHost('docs.example.com', 'example.com')).toBe(false);
  expect(coversHost('com', 'example.com')).toBe(false);
  expect(coversHost('1.2.3.4', '9.1.2.3.4')).toBe(false);
});
