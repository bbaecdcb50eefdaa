// Who may use the dashboard (SAFETY 6). A start prints a link with a token that works once; it is exchanged for a cookie, which scripts
// cannot read, and a key, which the page sends as a header. Requests for data need both: other servers on this machine see the cookie,
// since cookies know no ports, and other pages cannot read the key. Both are signed with a key of the user's own, so that a page that is
// open outlives a restart of the server.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Question } from '../shared/events.ts';
import { UserError } from '../shared/outcome.ts';

/** Somebody whose cookie holds. */
export interface Visitor {
  readonly id: string;
}

export interface Credentials {
  /** The token that is good for one login; another one after each. */
  token(): string;
  /** Null: it is not the token. */
  login(token: string, nowMs: number): { readonly cookie: string; readonly key: string } | null;
  /** Null: not ours, or its time is over. */
  visitorOf(cookie: string, nowMs: number): Visitor | null;
  isKeyOf(visitor: Visitor, key: string): boolean;
  /** Binds an answer to the question as it was shown to this visitor. */
  nonceFor(visitor: Visitor, question: Pick<Question, 'id' | 'argsHash'>): string;
  isNonceFor(visitor: Visitor, question: Pick<Question, 'id' | 'argsHash'>, nonce: string): boolean;
  /** What a program that reads /metrics sends as its bearer token. */
  metricsToken(): string;
  isMetricsToken(given: string): boolean;
}

export const LOGIN_MS = 12 * 60 * 60 * 1000;

const BYTES = 32;

export function createCredentials(secret: Buffer): Credentials {
  const sign = (...parts: readonly string[]): string =>
    createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url');
  let token = randomBytes(BYTES).toString('base64url');
  return {
    token: () => token,
    login(given, nowMs) {
      if (!isSame(given, token)) return null;
      token = randomBytes(BYTES).toString('base64url');
      const id = `${randomBytes(12).toString('base64url')}.${nowMs + LOGIN_MS}`;
      return { cookie: `${id}.${sign('cookie', id)}`, key: sign('key', id) };
    },
    visitorOf(cookie, nowMs) {
      const end = cookie.lastIndexOf('.');
      const id = cookie.slice(0, Math.max(0, end));
      if (!isSame(cookie.slice(end + 1), sign('cookie', id))) return null;
      return Number(id.split('.')[1]) > nowMs ? { id } : null;
    },
    isKeyOf: ({ id }, key) => isSame(key, sign('key', id)),
    nonceFor: ({ id }, question) => sign('nonce', id, question.id, question.argsHash),
    isNonceFor: ({ id }, question, nonce) => isSame(nonce, sign('nonce', id, question.id, question.argsHash)),
    metricsToken: () => sign('metrics'),
    isMetricsToken: (given) => isSame(given, sign('metrics')),
  };
}

/** In a time that does not tell how much of it is right. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The user's own signing key, made when there is none. Throws UserError when it cannot be kept. */
export function dashboardSecret(home: string): Buffer {
  const path = join(home, 'dashboard.key');
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const file = openSync(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    writeSync(file, randomBytes(BYTES));
    closeSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(path, error);
  }
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const secret = readFileSync(file);
    closeSync(file);
    if (secret.length === BYTES) return secret;
  } catch (error) {
    throw unusable(path, error);
  }
  throw new UserError(
    `${path} is not a key. Remove it: the dashboard makes another, and open pages have to log in again.`,
  );
}

/** Written where a program that reads the metrics finds it; returns the file. */
export function keepMetricsToken(home: string, token: string): string {
  const path = join(home, 'metrics.token');
  try {
    rmSync(path, { force: true });
    writeFileSync(path, `${token}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw unusable(path, error);
  }
  return path;
}

const unusable = (path: string, error: unknown): UserError =>
  new UserError(`${path} cannot be used (${(error as NodeJS.ErrnoException).code}). Make it yours, or remove it.`, 1);
