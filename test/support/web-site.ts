// A web site on this machine for tests of WebFetch: it counts what reaches it, and gives the rules by which it may be reached. Names
// that end in `.test` lead to it.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FETCH_LIMITS, type FetchLimits, type FetchRules } from '../../orchestrator/web/fetch-page.ts';
import { PUBLIC_RULES } from '../../orchestrator/web/public-rules.ts';

export type Page = (request: IncomingMessage, response: ServerResponse) => void;

export interface WebSite {
  readonly port: number;
  /** Paths asked for, with the host they were asked of. */
  readonly hits: string[];
  /** Connections, also those without a request. */
  connections(): number;
  /** An address on it; the host is `site.test` unless another is named. */
  url(path: string, host?: string): string;
  close(): Promise<void>;
}

export const html =
  (body: string, type = 'text/html; charset=utf-8'): Page =>
  (_request, response) => {
    response.setHeader('content-type', type);
    response.end(body);
  };

export const redirect =
  (to: string, status = 302): Page =>
  (_request, response) => {
    response.writeHead(status, { location: to });
    response.end();
  };

export async function openWebSite(pages: Readonly<Record<string, Page>>, address = '::'): Promise<WebSite> {
  const hits: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    hits.push(`${request.headers.host?.replace(/:\d+$/, '')}${request.url}`);
    const page = pages[request.url ?? ''] ?? pages['*'];
    if (page) return page(request, response);
    response.statusCode = 404;
    response.end('no such page');
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    hits,
    connections: () => connections,
    url: (path, host = 'site.test') => `http://${host}:${port}${path}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Production's rules but for three things: any port, this machine's addresses, and names that end in `.test`. */
export function siteRules(limits: Partial<FetchLimits> = {}): FetchRules {
  return {
    policy: (address) => address === '127.0.0.1' || PUBLIC_RULES.policy(address),
    allowsPort: () => true,
    resolve(host, done) {
      if (host.endsWith('.test')) return done(null, [{ address: '127.0.0.1', family: 4 }]);
      done(Object.assign(new Error(`no ${host}`), { code: 'ENOTFOUND' }), []);
    },
    limits: { ...FETCH_LIMITS, ...limits },
  };
}
