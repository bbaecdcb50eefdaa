// REDIS_URL: what it says, and what Odin refuses before it connects (SAFETY 6). Who can write to this Redis can run an
// agent as the user, so across a network it takes TLS and a password. Nothing here ever shows the URL's secrets.

import type { RedisOptions } from 'ioredis';
import { UserError } from '../shared/outcome.ts';

export interface RedisTarget {
  /** How it may be shown: scheme, host, port, database. */
  readonly where: string;
  readonly options: RedisOptions;
}

export function parseRedisUrl(text: string): RedisTarget {
  if (text.startsWith('/')) return { where: text, options: { path: text } };
  const url = URL.parse(text);
  if (url === null || !['redis:', 'rediss:', 'unix:'].includes(url.protocol)) {
    throw new UserError(
      'REDIS_URL is not an address of a Redis. Write redis://127.0.0.1:6379, rediss://user:password@host:6379/0 or unix:///path/to/redis.sock.',
    );
  }
  const secrets = credentials(url);
  if (url.protocol === 'unix:') return { where: `unix:${url.pathname}`, options: { ...secrets, path: url.pathname } };
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1';
  const port = Number(url.port || 6379);
  const db = Number(url.pathname.slice(1) || 0);
  if (!Number.isSafeInteger(db)) throw new UserError('REDIS_URL: the database, after the last slash, is a number.');
  const tls = url.protocol === 'rediss:';
  const where = `${url.protocol}//${url.host || host}${db === 0 ? '' : `/${db}`}`;
  if (!isLoopback(host) && !(tls && secrets.password)) {
    throw new UserError(
      `REDIS_URL: ${where} is on the network, and who can write there can act as you through Odin. Use rediss:// and a password, or a Redis on this machine.`,
    );
  }
  return { where, options: { ...secrets, host, port, db, ...(tls ? { tls: { servername: host } } : {}) } };
}

function credentials(url: URL): { username?: string; password?: string } {
  try {
    return {
      ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
      ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    };
  } catch {
    throw new UserError('REDIS_URL: the user or the password has a % that starts no escape. Write it as %25.');
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
