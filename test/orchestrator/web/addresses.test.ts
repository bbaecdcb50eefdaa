import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { fetch } from 'undici';
import { isPublicAddress } from '../../../orchestrator/web/address-policy.ts';
import { FETCH_LIMITS, type FetchRules, fetchPage, judgeUrl } from '../../../orchestrator/web/fetch-page.ts';
import { PUBLIC_RULES } from '../../../orchestrator/web/public-rules.ts';
import { openSafeDispatcher } from '../../../orchestrator/web/safe-dispatcher.ts';
import { openWebSite, redirect, type WebSite } from '../../support/web-site.ts';

const never = new AbortController().signal;
let secret: WebSite;
beforeAll(async () => {
  secret = await openWebSite({ '*': (_request, response) => response.end('the secret') });
});
afterEach(() => {
  expect(secret.hits).toEqual([]);
});
afterAll(() => secret.close());

/** Production's rules on every port, so that a try fails for its address and for nothing else. */
const anyPort: FetchRules = { ...PUBLIC_RULES, allowsPort: () => true };

const codeOf = async (url: string, rules: FetchRules, mayGo = () => true): Promise<string> => {
  const outcome = await fetchPage({ url, host: 'whatever.example' }, mayGo, rules, never);
  return outcome.ok ? `got ${outcome.value.kind}` : outcome.failure.code;
};

/** SAFETY 5's list, and what was found since. */
const TRIES: readonly string[] = [
  ...['127.0.0.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.1', '１２７.０.０.１', '127.0.0.1.', '0'],
  ...['0.0.0.0', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]'],
  ...[
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[fe80::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[ff02::1]',
  ],
  ...['169.254.169.254', '[fd00:ec2::254]', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
  ...[
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '198.18.0.1',
    '192.0.2.1',
    '203.0.113.9',
  ],
  ...['224.0.0.1', '240.0.0.1', '255.255.255.255', 'localhost', 'LOCALHOST', 'localhost.'],
];

test('O20: none of the ways to write an address that is not public reaches anything', async () => {
  for (const host of TRIES) {
    expect({ host, code: await codeOf(`http://${host}:${secret.port}/`, anyPort) }).toEqual({
      host,
      code: 'address_refused',
    });
  }
  expect(secret.connections()).toBe(0);
});

test('O20: the connection itself refuses them too, for whoever comes past the judgement of the address', async () => {
  const dispatcher = openSafeDispatcher(anyPort, FETCH_LIMITS);
  for (const host of TRIES.filter((name) => name !== 'localhost.')) {
    const url = `http://${host}:${secret.port}/`;
    const error: unknown = await fetch(url, { dispatcher }).catch((thrown: unknown) => thrown);
    expect((error as Error).cause).toMatchObject({ code: 'ODIN_ADDRESS_REFUSED' });
  }
  await dispatcher.close();
  expect(secret.connections()).toBe(0);
});

test('O20: other schemes, credentials and other ports are refused before anything is asked', async () => {
  const port = secret.port;
  const refused = {
    'file:///etc/passwd': 'bad_scheme',
    'gopher://127.0.0.1/': 'bad_scheme',
    'data:text/plain,secret': 'bad_scheme',
    'javascript:1': 'bad_scheme',
    'ftp://example.com/': 'bad_scheme',
    'http://user:pass@example.com/': 'credentials',
    [`http://user@127.0.0.1:${port}/`]: 'credentials',
    [`http://127.0.0.1:${port}/`]: 'bad_port',
    'http://example.com:22/': 'bad_port',
    'http://exa%20mple.com/': 'bad_url',
    'example.com': 'bad_url',
    '': 'bad_url',
    'http://exam!ple.com/': 'bad_host',
    'http://-example.com/': 'bad_host',
    [`http://example.com/${'a'.repeat(2_000)}`]: 'url_too_long',
  };
  for (const [url, code] of Object.entries(refused)) {
    const judged = judgeUrl(url, PUBLIC_RULES);
    expect({ url, code: judged.ok ? 'ok' : judged.failure.code }).toEqual({ url, code });
    expect(await codeOf(url, PUBLIC_RULES)).toBe(code);
  }
  for (const port of ['', ':80', ':443', ':8080', ':8443'])
    expect(judgeUrl(`https://example.com${port}/`, PUBLIC_RULES).ok).toBe(true);
});

test('O20: a name that stands for one address that is not public is refused, whatever else it stands for', async () => {
  for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['2606:4700::1111', '::1'], []]) {
    const rules: FetchRules = {
      ...anyPort,
      resolve: (_host, done) =>
        done(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        ),
    };
    expect(await codeOf(`http://mixed.example:${secret.port}/`, rules)).toBe('address_refused');
  }
  expect(secret.connections()).toBe(0);
});

test('O20: a name that changes its address between two requests is judged at each', async () => {
  const front = await openWebSite({ '*': redirect('/next') }, '127.0.0.2');
  let asked = 0;
  const rules: FetchRules = {
    ...anyPort,
    policy: (address) => address === '127.0.0.2' || isPublicAddress(address),
    resolve: (_host, done) => done(null, [{ address: asked++ === 0 ? '127.0.0.2' : '127.0.0.1', family: 4 }]),
  };
  try {
    expect(await codeOf(`http://rebound.example:${front.port}/`, rules)).toBe('address_refused');
    expect(front.hits).toEqual(['rebound.example/']);
  } finally {
    await front.close();
  }
});

test('O20: the far end of a connection is judged once more before a request is sent on it', async () => {
  const quiet = await openWebSite({ '*': (_request, response) => response.end('reached') }, '127.0.0.1');
  let judged = 0;
  const rules: FetchRules = {
    ...anyPort,
    policy: () => judged++ < 1,
    resolve: (_host, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
  };
  try {
    expect(await codeOf(`http://turned.example:${quiet.port}/`, rules)).toBe('address_refused');
    expect(quiet.hits).toEqual([]);
  } finally {
    await quiet.close();
  }
});

test('O20: a redirect to an address that is not public is not followed, however it is written', async () => {
  const wanted = ['127.0.0.1', 'localhost', '[::1]', '2130706433', '[::ffff:127.0.0.1]', '0'].map(
    (host) => `http://${host}:${secret.port}/`,
  );
  const ways = [...wanted, `//127.0.0.1:${secret.port}/`, 'file:///etc/passwd', `http://a:b@127.0.0.1:${secret.port}/`];
  for (const to of ways) {
    const front = await openWebSite({ '*': redirect(to) }, '127.0.0.2');
    const rules: FetchRules = {
      ...anyPort,
      policy: (address) => address === '127.0.0.2' || isPublicAddress(address),
      resolve: (host, done) =>
        host === 'front.example' ? done(null, [{ address: '127.0.0.2', family: 4 }]) : anyPort.resolve(host, done),
    };
    const code = await codeOf(`http://front.example:${front.port}/`, rules);
    await front.close();
    expect({ to, code, hits: front.hits }).toMatchObject({
      to,
      code: expect.stringMatching(/^(?:address_refused|bad_scheme|credentials)$/),
    });
  }
});

test('O20: a proxy that the environment names is not used', async () => {
  const site = await openWebSite({ '*': (_request, response) => response.end('page') }, '127.0.0.2');
  const names = [
    'http_proxy',
    'HTTP_PROXY',
    'https_proxy',
    'HTTPS_PROXY',
    'all_proxy',
    'ALL_PROXY',
    'NODE_USE_ENV_PROXY',
  ];
  for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${secret.port}`;
  const rules: FetchRules = {
    ...anyPort,
    policy: (address) => address === '127.0.0.2',
    resolve: (_host, done) => done(null, [{ address: '127.0.0.2', family: 4 }]),
  };
  try {
    expect(await codeOf(`http://plain.example:${site.port}/`, rules)).toBe('got bytes');
  } finally {
    for (const name of names) delete process.env[name];
    await site.close();
  }
  expect(secret.connections()).toBe(0);
});

test('O20: public addresses are public', () => {
  for (const address of [
    '93.184.216.34',
    '1.1.1.1',
    '8.8.8.8',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '::ffff:8.8.8.8',
  ]) {
    expect({ address, isPublic: isPublicAddress(address) }).toEqual({ address, isPublic: true });
  }
  for (const address of ['', 'x', '999.1.1.1', 'fe80::1%eth0', '8.8.8'])
    expect({ address, isPublic: isPublicAddress(address) }).toEqual({ address, isPublic: false });
});
