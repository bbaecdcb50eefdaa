// What stands before every request (SAFETY 6): the right name of this server, no other site's page behind it, somebody who has logged
// in, and not too many at once. It decides by the request's head alone; what a request does is for the routes.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Credentials, Visitor } from './credentials.ts';

/** What a route lets in. Absent: a page that has logged in, by cookie and key. */
export type Access =
  /** Anybody with the right Host: the page itself, which holds nothing, and the login. */
  | 'open'
  /** The cookie alone: for bull-board, whose pages send no key. Reading only. */
  | 'cookie'
  /** A bearer token: for a program that reads the metrics. */
  | 'metrics';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly access?: Access;
    /** A POST that changes nothing: it counts as reading does, and is let in as every POST is. */
    readonly isReading?: boolean;
  }
}

export interface GuardOptions {
  readonly credentials: Credentials;
  /** Values of `Host` by which it may be called. Told when it listens, since port 0 is any. */
  hosts(): ReadonlySet<string>;
  readonly isTls: boolean;
  cookieName(): string;
  now(): number;
}

export const KEY_HEADER = 'x-odin-key';

const HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};

const CSP =
  "default-src 'self'; img-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
/** bull-board sets style attributes and a base of its own, and makes no promise about trusted types. */
const BOARD_CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

/** Requests in a minute, by what they may do. */
const LIMITS = { login: 20, change: 120, read: 1_200 } as const;

const visitors = new WeakMap<FastifyRequest, Visitor>();

/** As `Host` has them: browsers leave a scheme's own port out. */
export function hostsOf(names: readonly string[], port: number, isTls: boolean): ReadonlySet<string> {
  const isOwnPort = port === (isTls ? 443 : 80);
  return new Set(
    names.map((name) => name.toLowerCase()).flatMap((name) => [`${name}:${port}`, ...(isOwnPort ? [name] : [])]),
  );
}

/** Who asks, in a route that only visitors reach. */
export function visitorOf(request: FastifyRequest): Visitor {
  const visitor = visitors.get(request);
  if (visitor === undefined) throw new Error('A route without a guard asked who its visitor is.');
  return visitor;
}

export function addGuard(app: FastifyInstance, options: GuardOptions): void {
  const limiter = createLimiter(options.now);
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers(HEADERS);
    void reply.header('content-security-policy', isBoard(request) ? BOARD_CSP : CSP);
    const verdict = judge(request, options);
    const isLogin = request.routeOptions.url === '/api/login';
    const reads = isReading(request) || request.routeOptions.config.isReading === true;
    const kind = isLogin ? 'login' : reads ? 'read' : 'change';
    if (verdict !== null) return refuse(reply, ...verdict);
    if (!limiter(`${kind} ${request.ip}`, LIMITS[kind])) {
      void reply.header('retry-after', '60');
      return refuse(reply, 429, 'Too many requests. Wait a minute.');
    }
  });
}

type Verdict = readonly [status: number, message: string] | null;

function judge(request: FastifyRequest, options: GuardOptions): Verdict {
  const { credentials } = options;
  const host = request.headers.host ?? '';
  if (!options.hosts().has(host.toLowerCase())) return [421, 'This server does not go by that name.'];
  const stranger = strangerOf(request, `${options.isTls ? 'https' : 'http'}://${host}`);
  if (stranger !== null) return stranger;
  const { access } = request.routeOptions.config;
  if (access === 'open') return null;
  if (access === 'metrics' && isBearer(request, credentials)) return null;
  const visitor = credentials.visitorOf(cookieOf(request, options.cookieName()), options.now());
  if (visitor === null) return LOGIN;
  visitors.set(request, visitor);
  if (access === 'cookie') return null;
  const key = request.headers[KEY_HEADER];
  return typeof key === 'string' && credentials.isKeyOf(visitor, key) ? null : LOGIN;
}

const LOGIN: Verdict = [401, 'Open the link that `odin dashboard` has printed.'];

/** Another site's page behind the request: it says where it comes from, and a change must come from here. */
function strangerOf(request: FastifyRequest, own: string): Verdict {
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const isPage = request.headers['sec-fetch-mode'] === 'navigate' && isReading(request);
  if (origin !== undefined && origin.toLowerCase() !== own.toLowerCase())
    return [403, 'Requests of other sites are refused.'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isPage) {
    return [403, 'Requests of other sites are refused.'];
  }
  if (!isReading(request) && origin === undefined) return [403, 'A change must say where it comes from.'];
  return null;
}

const isReading = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

const isBoard = ({ url }: FastifyRequest): boolean => url === '/queues' || url.startsWith('/queues/');

function isBearer(request: FastifyRequest, credentials: Credentials): boolean {
  const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  return given !== undefined && credentials.isMetricsToken(given);
}

function cookieOf(request: FastifyRequest, name: string): string {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key, ...value] = part.trim().split('=');
    if (key === name) return value.join('=');
  }
  return '';
}

const refuse = (reply: FastifyReply, status: number, message: string): FastifyReply =>
  reply.code(status).send({ error: message });

/** At most so many in a minute for each name. */
function createLimiter(now: () => number): (name: string, most: number) => boolean {
  let minute = 0;
  const counts = new Map<string, number>();
  return (name, most) => {
    const current = Math.floor(now() / 60_000);
    if (current !== minute) counts.clear();
    minute = current;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count <= most;
  };
}
